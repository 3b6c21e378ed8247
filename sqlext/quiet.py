"""Chatter of the platform, kept back until it is known whether anybody needs it."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field

_CONTEXT_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


@dataclass
class HeldRecords:
    """Log records that were kept back; `release()` writes them after all."""

    records: list[logging.LogRecord] = field(default_factory=list)

    def release(self) -> None:
        held, self.records = self.records, []
        for record in held:
            logging.getLogger(record.name).handle(record)


_HELD: ContextVar[HeldRecords | None] = ContextVar("sqlext_held_records", default=None)


def _keep_back(record: logging.LogRecord) -> bool:
    held = _HELD.get()
    if held is not None:
        held.records.append(record)
    return held is None


@contextmanager
def quiet_probes() -> Iterator[HeldRecords]:
    """Keep PySpark from writing 13 KB of JSON to stderr for every AnalysisException that is raised inside.

    Only the calling thread is silenced; may be nested. `release()` on the yielded value, outside of the block, writes
    what was kept back.

    >>> with quiet_probes() as held:
    ...     logging.getLogger("SQLQueryContextLogger").error("seen")
    >>> [record.getMessage() for record in held.records]
    ['seen']
    """
    # A plain logging.getLogger would create a plain Logger, whose methods refuse PySpark's keyword arguments.
    from pyspark.logger import PySparkLogger

    for name in _CONTEXT_LOGGERS:
        PySparkLogger.getLogger(name).addFilter(_keep_back)
    held = HeldRecords()
    token = _HELD.set(held)
    try:
        yield held
    finally:
        _HELD.reset(token)


class StderrRelay:
    """What a child process writes to stderr: kept back while it starts, passed on to the terminal from then on.

    A JVM keeps the stderr that it was started with, so the file descriptor cannot simply be put back afterwards: later
    errors of Spark and the prints of Python workers would be lost. The child gets a pipe instead, read by a thread.
    """

    _READY = b"\0sqlext: ready\0\n"  # written into the pipe behind the chatter, so that no line of it is passed on late

    def __init__(self) -> None:
        self._terminal = os.dup(2)
        self._source, self._sink = os.pipe()
        self._kept: bytearray | None = bytearray()  # None: no longer kept back
        self._thread = threading.Thread(target=self._pump, name="sqlext-stderr", daemon=True)

    @contextmanager
    def capture(self) -> Iterator[None]:
        """Processes that are started inside write into the relay for as long as they live.

        So does this process, all threads of it, while inside. What is written inside is forgotten at the end, or kept
        for `last_words()` if the block raises.
        """
        sys.stderr.flush()
        os.dup2(self._sink, 2)
        os.close(self._sink)  # the children hold the only writing ends: the last of them to stop ends the thread
        self._thread.start()
        try:
            yield
            os.write(2, self._READY)
        finally:
            sys.stderr.flush()
            os.dup2(self._terminal, 2)

    def last_words(self) -> str:
        """What was kept back; waits up to a second for the children to stop."""
        self._thread.join(timeout=1)
        return bytes(self._kept or b"").decode(errors="replace")

    def _pump(self) -> None:
        while chunk := os.read(self._source, 1 << 16):
            self._take(chunk)
        os.close(self._source)
        os.close(self._terminal)

    def _take(self, chunk: bytes) -> None:
        if self._kept is not None:
            self._kept += chunk
            _, marker, chunk = bytes(self._kept).partition(self._READY)
            if marker:
                self._kept = None
        if self._kept is None and chunk:
            with suppress(OSError):  # the terminal may be gone; reading on matters, a full pipe would block the JVM
                os.write(self._terminal, chunk)
