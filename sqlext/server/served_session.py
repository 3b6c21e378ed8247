"""The session of a running server, for programs that the server does not run: kernels of notebooks, and dbt."""

from __future__ import annotations

import socket

from sqlext.server.attach import AttachedSession, attach
from sqlext.server.client import connected, is_refused
from sqlext.server.messages import ATTACH, receive, send
from sqlext.server.places import Settings, place_of, settings

_CONNECTIONS: list[socket.socket] = []  # until this process ends, or stops its session


def use_server(wanted: Settings | None = None) -> AttachedSession | None:
    """A session on the server with these settings, by default those of `sqlext.session()`, which becomes the running
    session of this process; None if there is no such server. This process must have no Spark."""
    connection = None if is_refused() else connected(place_of(wanted or settings(None, None, {})))
    if connection is None:
        return None
    try:
        send(connection, want=ATTACH)
        answer, _ = receive(connection)
    except OSError:
        answer = {}
    if "port" not in answer:
        connection.close()
        return None
    session = attach(answer["port"], answer["secret"])
    _CONNECTIONS.append(connection)
    session.leave = connection.close
    return session
