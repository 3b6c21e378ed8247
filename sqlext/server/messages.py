"""The messages between a client and the server, lines of JSON over a Unix socket, the first with file descriptors."""

from __future__ import annotations

import json
import socket
from typing import Any

_MARK = b"\n"
RUN, ATTACH, STATUS = "run", "attach", "status"  # what a client wants


def send(connection: socket.socket, files: tuple[int, ...] = (), **message: Any) -> None:
    """Send a message. Raises OSError."""
    line = json.dumps(message).encode() + _MARK
    if files:
        sent = socket.send_fds(connection, [line], files)
        line = line[sent:]
    connection.sendall(line)


def receive(connection: socket.socket, files: int = 0) -> tuple[dict[str, Any], list[int]]:
    """The next message, {} if the other side has closed the connection, and its file descriptors. Raises OSError."""
    received: list[int] = []
    line = b""
    while not line.endswith(_MARK):
        if files and not received:
            part, received, _, _ = socket.recv_fds(connection, 1 << 16, files)
        else:
            part = connection.recv(1 << 16 if files else 1)  # the reader of answers leaves the next one in the socket
        if not part:
            return {}, received
        line += part
    return json.loads(line), received
