"""Hands a command over to a running server, whose fork runs it on the terminal of this process."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType

from sqlext.server.messages import RUN, receive, send
from sqlext.server.places import REFUSED_BY, Place, places_here

COMMANDS = ("run", "explain", "compile", "rules", "shell")  # that a server runs
NO_SERVER = "--no-server"
_FORWARDED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGWINCH", "SIGUSR1", "SIGUSR2")
_BY_SIGNAL = 128  # the exit status of a process that a signal has ended is this and its number
_BY_SPARK_SUBMIT = "PYSPARK_GATEWAY_PORT"
_ENDED = "sqlext: the server ended before the command did; sqlext server status says which ones run"


def hand_over(arguments: Sequence[str]) -> int | None:
    """The exit status of a command that a server has run; None if this process must run it."""
    if not arguments or arguments[0] not in COMMANDS or NO_SERVER in arguments or is_refused():
        return None
    for place in places_here():
        status = _run_at(place, arguments)
        if status is not None:
            return status
    return None


def is_refused() -> bool:
    """Return True if no server is to be used: the user refuses them, Spark is started or is elsewhere, or this system
    is not Linux, where alone a forked process may use what its parent has loaded."""
    is_off = os.environ.get(REFUSED_BY, "").lower() == "off"
    return is_off or _BY_SPARK_SUBMIT in os.environ or "SPARK_REMOTE" in os.environ or sys.platform != "linux"


def connected(place: Place) -> socket.socket | None:
    """A connection to the server; None if it does not run."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(os.fspath(place.socket))
    except OSError:
        connection.close()
        return None
    return connection


def _run_at(place: Place, arguments: Sequence[str]) -> int | None:
    connection = connected(place)
    if connection is None:
        return None
    sys.stdout.flush()
    with connection:
        try:
            send(connection, _standard_files(), want=RUN, arguments=list(arguments), environment=dict(os.environ))
            answer, _ = receive(connection)
            if "process" not in answer:  # refused, because it has other settings
                return None
            forwarded = _forward_signals(int(answer["process"]))
            answer, _ = receive(connection)
        except OSError:
            answer, forwarded = {}, []
    if "status" in answer:
        return int(answer["status"])
    if forwarded:  # a signal has ended the command
        return _BY_SIGNAL + forwarded[-1]
    print(_ENDED, file=sys.stderr)
    return 1


def _standard_files() -> tuple[int, ...]:
    """The three standard files of this process; a closed one becomes an empty one."""
    return tuple(number if _is_open(number) else os.open(os.devnull, os.O_RDWR) for number in range(3))


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _forward_signals(process: int) -> list[int]:
    """Send the signals of this process to the process that runs the command. Returns the list of those that were
    sent, which grows."""
    forwarded: list[int] = []

    def forward(number: int, _: FrameType | None) -> None:
        forwarded.extend([number] * (number != signal.SIGWINCH))
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(process, number)

    for name in _FORWARDED:
        signal.signal(getattr(signal, name), forward)
    return forwarded
