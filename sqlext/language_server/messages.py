"""Messages of the Language Server Protocol: JSON-RPC 2.0 with a header that has its length."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

Message = dict[str, Any]
_LENGTH = b"content-length:"


def read_message(source: BinaryIO) -> Message | None:
    """The next message; None at the end. Raises ValueError for what is no message.

    >>> import io
    >>> read_message(io.BytesIO(b'Content-Length: 2\\r\\n\\r\\n{}'))
    {}
    """
    length = 0
    while line := source.readline():
        if not line.strip():
            return dict(json.loads(source.read(length)))
        if line.lower().startswith(_LENGTH):
            length = int(line[len(_LENGTH) :])
    return None


def write_message(target: BinaryIO, **content: Any) -> None:
    """Write a message. Raises OSError."""
    body = json.dumps({"jsonrpc": "2.0", **content}).encode()
    target.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    target.flush()
