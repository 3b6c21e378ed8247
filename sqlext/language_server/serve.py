"""The language server: it keeps the documents that an editor has open, and answers what the editor asks."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from sqlext.language_server import answers
from sqlext.language_server.documents import Document
from sqlext.language_server.messages import Message, read_message, write_message
from sqlext.version import __version__

_WHOLE = 1  # a change brings the whole text
_FAILED = -32603
_UNKNOWN = {"code": -32601, "message": "this server has no such method"}
CAPABILITIES = {
    "textDocumentSync": {"openClose": True, "change": _WHOLE},
    "completionProvider": {"triggerCharacters": ["."]},
    "hoverProvider": True,
    "documentFormattingProvider": True,
}


def serve(source: BinaryIO, target: BinaryIO) -> int:
    """Answer until the editor ends the server. Returns the exit status."""
    server = LanguageServer(target)
    while (message := read_message(source)) is not None:
        if message.get("method") == "exit":
            return 0 if server.is_shut_down else 1
        server.receive(message)
    return 1  # the protocol asks for `exit`


@dataclass
class LanguageServer:
    """The documents of an editor, by their addresses."""

    target: BinaryIO
    documents: dict[str, Document] = field(default_factory=dict)
    is_shut_down: bool = False

    def receive(self, message: Message) -> None:
        """Handle a request, which is answered, or a notification. What fails does not end the server."""
        try:
            self._handle(message)
        except OSError:  # the editor has gone
            raise
        except Exception as error:
            print(f"sqlext: {message.get('method')} failed: {error!r}", file=sys.stderr, flush=True)
            if "id" in message:
                write_message(self.target, id=message["id"], error={"code": _FAILED, "message": repr(error)})

    def _handle(self, message: Message) -> None:
        method, parameters = message.get("method", ""), message.get("params") or {}
        if "id" not in message:
            self._note(method, parameters)
        elif method in self._requests:
            write_message(self.target, id=message["id"], result=self._requests[method](self, parameters))
        elif method:
            write_message(self.target, id=message["id"], error=_UNKNOWN)

    def _note(self, method: str, parameters: Any) -> None:
        about = parameters.get("textDocument", {})
        if method == "textDocument/didOpen":
            self._publish(about["uri"], Document(about["text"], about["languageId"]))
        elif method == "textDocument/didChange":
            before = self.documents[about["uri"]]
            self._publish(about["uri"], Document(parameters["contentChanges"][-1]["text"], before.language))
        elif method == "textDocument/didClose":
            del self.documents[about["uri"]]
            self._write_findings(about["uri"], [])

    def _publish(self, uri: str, document: Document) -> None:
        self.documents[uri] = document
        self._write_findings(uri, answers.diagnostics(document))

    def _write_findings(self, uri: str, findings: list[Any]) -> None:
        parameters = {"uri": uri, "diagnostics": findings}
        write_message(self.target, method="textDocument/publishDiagnostics", params=parameters)

    def _initialize(self, parameters: Any) -> Any:
        return {"capabilities": CAPABILITIES, "serverInfo": {"name": "sqlext", "version": __version__}}

    def _shut_down(self, parameters: Any) -> None:
        self.is_shut_down = True

    def _completion(self, parameters: Any) -> Any:
        document, offset, others = self._place(parameters)
        return answers.completion(document, offset, others)

    def _hover(self, parameters: Any) -> Any:
        document, offset, others = self._place(parameters)
        return answers.hover(document, offset, others)

    def _formatting(self, parameters: Any) -> Any:
        return answers.formatting(self.documents[parameters["textDocument"]["uri"]])

    def _place(self, parameters: Any) -> tuple[Document, int, list[Document]]:
        """The document, the offset in it, and the other documents."""
        uri, position = parameters["textDocument"]["uri"], parameters["position"]
        document = self.documents[uri]
        others = [other for name, other in self.documents.items() if name != uri]
        return document, document.offset(position["line"], position["character"]), others

    _requests = {  # noqa: RUF012
        "initialize": _initialize,
        "shutdown": _shut_down,
        "textDocument/completion": _completion,
        "textDocument/hover": _hover,
        "textDocument/formatting": _formatting,
    }
