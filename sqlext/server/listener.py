"""The process of a server that clients find: it has all modules loaded, and forks for each client."""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from sqlext.server.messages import ATTACH, RUN, STATUS, receive, send
from sqlext.server.places import Place, Settings

_PATIENCE = 5  # seconds in which a client must have written what it wants
_FAILED, _INTERRUPTED = 1, 130  # exit statuses


class CommandLine(Protocol):
    """What the server needs of the command line, which lies above it."""

    def load(self) -> None:
        """Load the modules of the commands that a server runs."""

    def settings(self, arguments: list[str]) -> Settings:
        """The settings that a command wants. Raises SystemExit, and writes nothing, if its arguments are wrong."""

    def run(self, arguments: list[str]) -> int:
        """Run a command, and return the exit status."""


@dataclass
class Listener:
    """One server. `idle`: the seconds without a client after which it ends."""

    place: Place
    settings: Settings
    commands: CommandLine
    idle: float
    clients: dict[int, int] = field(default_factory=dict)  # process of each fork → number of its session
    is_ending: bool = False

    def serve(self, lock: int, tell: Callable[[str], None]) -> int:
        """Start Spark, and serve clients until the end. `tell` gets one sentence when that begins. Returns the exit
        status."""
        self.lock = lock
        self.spark = subprocess.Popen(
            [sys.executable, "-m", "sqlext.server.spark_process"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", start_new_session=True,
        )  # fmt: skip
        self._write(asdict(self.settings))
        self.commands.load()  # while Spark starts
        answer = self._read()
        if "spark" not in answer:
            print(answer.get("failure", "sqlext: Spark did not start"), file=sys.stderr, flush=True)
            return _FAILED
        self.listening = self._listen()
        record = asdict(self.settings) | {"folder": os.getcwd(), "process": os.getpid(), "since": time.time()}
        self.place.write(**record, idle=self.idle)
        tell(f"Spark {answer['spark']} has started")
        try:
            self._loop()
        finally:
            self._end()
        return 0

    def _listen(self) -> socket.socket:
        self.place.socket.unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX)
        before = os.umask(0o177)
        try:
            listening.bind(os.fspath(self.place.socket))
        finally:
            os.umask(before)
        listening.listen(16)
        return listening

    def _loop(self) -> None:
        """Wait for clients, for forks that end, for Spark's end, and for the end of the idle time."""
        woken, waker = socket.socketpair()
        for end in (woken, waker):
            end.settimeout(0)
        signal.set_wakeup_fd(waker.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask_to_end)
        with selectors.DefaultSelector() as ready:
            ready.register(self.listening, selectors.EVENT_READ)
            ready.register(woken, selectors.EVENT_READ)
            while not self.is_ending:
                events = [key.fileobj for key, _ in ready.select(None if self.clients else self.idle)]
                if self.listening in events:
                    self._accept()
                if woken in events:
                    woken.recv(4096)
                    self._reap()
                self.is_ending |= not events and not self.clients
        signal.set_wakeup_fd(-1)

    def _ask_to_end(self, *_: Any) -> None:
        self.is_ending = True

    def _reap(self) -> None:
        """Close the sessions of forks that have ended. If Spark's process has ended, the server ends, too."""
        if self.spark.poll() is not None:
            self.is_ending = True
            return
        for process in list(self.clients):
            if os.waitpid(process, os.WNOHANG)[0]:
                self._write({"close": self.clients.pop(process)})

    def _accept(self) -> None:
        connection, _ = self.listening.accept()
        connection.settimeout(_PATIENCE)
        files: list[int] = []
        try:
            message, files = receive(connection, files=3)
            if message.get("want") == STATUS:
                send(connection, clients=len(self.clients))
            elif message.get("want") in (RUN, ATTACH):
                self._fork(connection, message, files)
        except (OSError, ValueError) as error:  # a client that was interrupted, or is no client
            print(f"sqlext: a client was not served: {error}", file=sys.stderr, flush=True)
        finally:
            connection.close()
            for file in files:
                os.close(file)

    def _fork(self, connection: socket.socket, message: dict[str, Any], files: list[int]) -> None:
        self._write({"open": True})
        session = self._read()
        if "port" not in session:  # Spark has ended, and the client starts its own
            send(connection, refused="Spark has ended")
            return
        sys.stdout.flush()
        sys.stderr.flush()
        process = os.fork()
        if process:
            self.clients[process] = session["number"]
            return
        status = _FAILED
        try:
            os.close(self.lock)
            self.listening.close()
            assert self.spark.stdin is not None and self.spark.stdout is not None
            for end in (self.spark.stdin, self.spark.stdout):
                end.close()
            connection.settimeout(None)
            status = _serve(connection, message, files, session, self)
        except Exception as error:
            print(f"sqlext: a client was not served: {error!r}", file=sys.stderr, flush=True)
        finally:
            os._exit(status)

    def _write(self, message: dict[str, Any]) -> None:
        assert self.spark.stdin is not None
        with suppress(BrokenPipeError):  # its end is noticed by the signal
            print(json.dumps(message), file=self.spark.stdin, flush=True)

    def _read(self) -> dict[str, Any]:
        assert self.spark.stdout is not None
        line = self.spark.stdout.readline()
        if not line:
            self.is_ending = True
            return {}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _end(self) -> None:
        self.place.remove()
        self.listening.close()
        for process in self.clients:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)
        assert self.spark.stdin is not None
        with suppress(BrokenPipeError):
            self.spark.stdin.close()
        self.spark.wait()


def _serve(
    connection: socket.socket, message: dict[str, Any], files: list[int], session: dict[str, Any], server: Listener
) -> int:
    """Serve one client in a fork. Returns the exit status of the fork."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if message["want"] == ATTACH:
        send(connection, **session)
        connection.recv(1)  # until the client ends
        return 0
    return _run(connection, message, files, session, server)


def _run(
    connection: socket.socket, message: dict[str, Any], files: list[int], session: dict[str, Any], server: Listener
) -> int:
    """Run a command on the standard files of the client, in its environment."""
    from sqlext.server.attach import attach  # needs pyspark, which the server loads while Spark starts

    os.environ.clear()
    os.environ.update(message["environment"])
    for number, file in enumerate(files):
        os.dup2(file, number)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1)
    arguments = message["arguments"]
    try:
        is_refused = server.commands.settings(arguments) != server.settings
    except SystemExit:  # the arguments are wrong, which the client itself reports
        is_refused = True
    if is_refused:
        send(connection, refused=str(server.settings))
        return 0
    try:
        spark = attach(session["port"], session["secret"])
    except Exception as error:  # Spark may have ended
        send(connection, refused=str(error))
        return _FAILED
    send(connection, process=os.getpid())
    threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
    try:
        status = server.commands.run(arguments)
    except KeyboardInterrupt:
        status = _INTERRUPTED
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    with suppress(OSError):
        send(connection, status=status)
    spark.stop()
    return 0


def _end_with(connection: socket.socket) -> None:
    """End this process when its client has ended."""
    connection.recv(1)
    os.kill(os.getpid(), signal.SIGTERM)
