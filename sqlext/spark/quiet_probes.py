"""Keeps back the output of the platform to its log and to stderr until it is known whether anybody needs it."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field

from pyspark.logger import PySparkLogger

from sqlext.spark.shown_output import shown_output

_CONTEXT_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


@dataclass
class KeptRecords:
    """Log records that were kept back; `release()` writes them."""

    records: list[logging.LogRecord] = field(default_factory=list)

    def release(self) -> None:
        records, self.records = self.records, []
        for record in records:
            logging.getLogger(record.name).handle(record)


_KEPT: ContextVar[KeptRecords | None] = ContextVar("sqlext_kept_records", default=None)


def _keep_back(record: logging.LogRecord) -> bool:
    kept = _KEPT.get()
    if kept is not None:
        kept.records.append(record)
    return kept is None


@contextmanager
def quiet_probes() -> Iterator[KeptRecords]:
    """Keep PySpark from writing 13 KB of JSON to stderr for every AnalysisException that is raised in the block.

    Only the calling thread is silenced, and blocks may be nested. `release()` of the yielded records, called outside
    the block, writes them.

    >>> with quiet_probes() as kept:
    ...     logging.getLogger("SQLQueryContextLogger").error("seen")
    >>> [record.getMessage() for record in kept.records]
    ['seen']
    """
    for name in _CONTEXT_LOGGERS:
        # A plain logging.getLogger would create a plain Logger, whose methods refuse PySpark's keyword arguments.
        PySparkLogger.getLogger(name).addFilter(_keep_back)
    kept = KeptRecords()
    token = _KEPT.set(kept)
    try:
        yield kept
    finally:
        _KEPT.reset(token)


_STARTED = b"\0sqlext: started\0\n"  # written into the pipe after the output that is kept back


@contextmanager
def kept_stderr(*, shows_failed_tasks: bool) -> Iterator[Callable[[], str]]:
    """Keep back what this process and its new children write to stderr in the block; show what the children write
    later.

    A JVM keeps the stderr with which it was started. Restoring the file descriptor afterwards would lose later errors
    of Spark and the prints of Python workers. So the children get a pipe, which a thread reads until the last child
    ends. Yields a function that returns the text that was kept back, to be called if the block fails; it waits up to a
    second for the children to end.
    """
    terminal = os.dup(2)
    source, sink = os.pipe()
    kept = bytearray()

    def relay() -> None:
        with open(source, "rb") as pipe:
            for line in pipe:
                if line.endswith(_STARTED):
                    break
                kept.extend(line)
            output = shown_output(iter(lambda: pipe.read1(1 << 16), b""), shows_failed_tasks=shows_failed_tasks)
            for line in output:
                # the terminal may be closed; reading must continue, since a full pipe would block the JVM
                with suppress(OSError):
                    os.write(terminal, line)
        os.close(terminal)

    def text() -> str:
        thread.join(timeout=1)
        return kept.decode(errors="replace")

    thread = threading.Thread(target=relay, name="sqlext-stderr", daemon=True)
    sys.stderr.flush()
    os.dup2(sink, 2)
    os.close(sink)  # the children hold the only writing ends: the last of them to end also ends the thread
    thread.start()
    try:
        yield text
        os.write(2, _STARTED)
    finally:
        sys.stderr.flush()
        os.dup2(terminal, 2)
