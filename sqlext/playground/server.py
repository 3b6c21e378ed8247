"""The server of the page: for one browser on this machine, with a token in its address.

It answers `GET /TOKEN/` with the page, `GET /TOKEN/page/NAME` with its files, `POST /TOKEN/ask/QUESTION` with JSON, and
`POST /TOKEN/rows/NAME`, whose body is the content of a file of rows.
What does not come from the page itself is refused before it is read: another host, origin or token, a body that is
longer than a statement, or a file of rows, can be. A client that is slow, or sends what is no HTTP, loses its
connection and nothing else.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import BoundedSemaphore
from time import monotonic
from typing import Any
from urllib.parse import unquote

from sqlext.errors import SqlExtError
from sqlext.playground.answer import error_of
from sqlext.playground.questions import Playground

LOOPBACK = "127.0.0.1"
MOST_BYTES = 1 << 17  # of a question
MOST_BYTES_OF_ROWS = 1 << 26
MOST_SECONDS = 10.0  # for a request to arrive
MOST_CONNECTIONS = 32
_ROWS = "rows/"
_PAGE = Path(__file__).parent / "page"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class PlaygroundServer(ThreadingHTTPServer):
    """Serves a playground on a free port of loopback, or on `port`."""

    daemon_threads = True
    request_queue_size = MOST_CONNECTIONS

    def __init__(
        self, playground: Playground, port: int = 0, seconds: float = MOST_SECONDS, now: Callable[[], float] = monotonic
    ):
        super().__init__((LOOPBACK, port), _Handler)
        self.playground, self.seconds, self.now = playground, seconds, now
        self.token = secrets.token_urlsafe(24)
        self.places = BoundedSemaphore(MOST_CONNECTIONS)
        names = (f"{LOOPBACK}:{self.server_port}", f"localhost:{self.server_port}")
        self.hosts, self.origins = frozenset(names), frozenset(f"http://{name}" for name in names)

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}/{self.token}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give the connection a thread, if fewer than MOST_CONNECTIONS are open."""
        if not self.places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that has gone, or that sends what is no HTTP, is no fault of this server."""


class _Refused(Exception):
    """A request that is refused with a status, and a sentence about it."""

    def __init__(self, status: HTTPStatus, sentence: str):
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class _Handler(BaseHTTPRequestHandler):
    server: PlaygroundServer
    server_version, sys_version = "sqlext", ""
    protocol_version = "HTTP/1.1"
    # An answer leaves at once, and whole: its second part would wait for the receipt of the first.
    wbufsize, disable_nagle_algorithm = 1 << 16, True

    def setup(self) -> None:
        super().setup()
        self.rfile = _Patient(self.connection, self.server.seconds, self.server.now)  # type: ignore[assignment]

    def handle_one_request(self) -> None:
        self.rfile.begin()  # type: ignore[attr-defined]
        super().handle_one_request()

    def do_GET(self) -> None:
        self._answer(self._file)

    def do_POST(self) -> None:
        self._answer(self._post)

    def _answer(self, respond: Callable[[str], tuple[str, bytes]]) -> None:
        try:
            kind, content = respond(self._path())
            self._send(HTTPStatus.OK, kind, content)
        except _Refused as refused:
            self.close_connection = True  # what follows may be the body that was not read
            self._send(refused.status, "text/plain", refused.sentence.encode())

    def _path(self) -> str:
        """The path after the token. Raises _Refused for what this page has not sent."""
        if self.headers.get("Host") not in self.server.hosts:
            raise _Refused(HTTPStatus.FORBIDDEN, "This server answers on loopback only.")
        origin = self.headers.get("Origin")
        if origin is not None and origin not in self.server.origins:
            raise _Refused(HTTPStatus.FORBIDDEN, "A page of another origin may not ask this server.")
        _, token, *path = self.path.partition("?")[0].split("/", 2) if self.path.startswith("/") else ("", "", "")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise _Refused(
                HTTPStatus.FORBIDDEN, "The address has no valid token. Open the address that sqlext printed."
            )
        return "".join(path)

    def _file(self, path: str) -> tuple[str, bytes]:
        name = path.removeprefix("page/") or "index.html"
        files = {file.name: file for file in _PAGE.iterdir()}
        if name not in files or files[name].suffix not in _TYPES:
            raise _Refused(HTTPStatus.NOT_FOUND, "There is no such file.")
        return f"{_TYPES[files[name].suffix]}; charset=utf-8", files[name].read_bytes()

    def _post(self, path: str) -> tuple[str, bytes]:
        answered = self._take(path.removeprefix(_ROWS)) if path.startswith(_ROWS) else self._ask(path)
        return "application/json", json.dumps(answered, allow_nan=False, separators=(",", ":")).encode()

    def _take(self, name: str) -> dict[str, Any]:
        if self.headers.get_content_type() != "application/octet-stream":
            raise _Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Rows are bytes.")
        content = self._body(MOST_BYTES_OF_ROWS)
        return _without_fault(lambda: self.server.playground.take(content, unquote(name)), "these rows")

    def _ask(self, path: str) -> dict[str, Any]:
        if self.headers.get_content_type() != "application/json":
            raise _Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Questions are JSON.")
        try:
            asked = json.loads(self._body(MOST_BYTES))
        except (ValueError, RecursionError):
            raise _Refused(HTTPStatus.BAD_REQUEST, "The question is not JSON.") from None
        if not isinstance(asked, dict):
            raise _Refused(HTTPStatus.BAD_REQUEST, "The question is no object.")
        try:
            return _without_fault(
                lambda: self.server.playground.ask(path.removeprefix("ask/"), asked), "this statement"
            )
        except SqlExtError as error:
            raise _Refused(HTTPStatus.BAD_REQUEST, error.message) from None

    def _body(self, most: int) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or self.headers.get("Transfer-Encoding") is not None:
            raise _Refused(HTTPStatus.LENGTH_REQUIRED, "A question has a length.")
        if int(length) > most:
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The question is too long.")
        return self.rfile.read(int(length))

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.connection.settimeout(self.server.seconds)  # for the answer; less was left for the request
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the address has the token."""


def _without_fault(answer: Callable[[], dict[str, Any]], about: str) -> dict[str, Any]:
    """The answer; a fault of ours ends this answer only, and is shown to the user."""
    try:
        return answer()
    except SqlExtError:
        raise
    except Exception as error:
        message = f"the playground failed on {about} ({type(error).__name__}: {str(error)[:200]})"
        return {"errors": [error_of("", message)]}


class _Patient:
    """Reads a connection; each request has to arrive within some seconds, however many bytes come at a time."""

    def __init__(self, connection: socket.socket, seconds: float, now: Callable[[], float]):
        self.connection, self.seconds, self.now = connection, seconds, now
        self.read_ahead = bytearray()
        self.closed = False
        self.begin()

    def begin(self) -> None:
        self.end = self.now() + self.seconds

    def read(self, size: int) -> bytes:
        while len(self.read_ahead) < size and self._receive():
            pass
        return self._take(size)

    def readline(self, limit: int = -1) -> bytes:
        while b"\n" not in self.read_ahead and not 0 <= limit <= len(self.read_ahead) and self._receive():
            pass
        line = self.read_ahead.find(b"\n") + 1 or len(self.read_ahead)
        return self._take(line if limit < 0 else min(line, limit))

    def _receive(self) -> bool:
        left = self.end - self.now()
        if left <= 0:
            raise TimeoutError
        self.connection.settimeout(left)
        received = self.connection.recv(1 << 16)
        self.read_ahead += received
        return bool(received)

    def _take(self, size: int) -> bytes:
        taken = bytes(self.read_ahead[:size])
        del self.read_ahead[:size]
        return taken

    def close(self) -> None:
        self.closed = True
