"""Cells of Python: the progress of their Spark jobs, and the stop button, which cancels these.

Cells with our magics show the progress of each statement themselves.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from contextlib import ExitStack, suppress
from types import FrameType
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from sqlext.notebooks.cell_progress import Canceled
from sqlext.sessions.start import running_session
from sqlext.sessions.watched import Display, Progress, Watch, handler, is_in, new_watch
from sqlext.spark.running_jobs import abandon_request

_MAGIC = re.compile(r"%(sql|run|stop)\b")


class OfJobs(Display):
    """Passes progress on to another display as soon as there are tasks: a cell may take long without any."""

    def __init__(self, display: Display):
        self.display = display

    def show(self, progress: Progress) -> None:
        if progress.tasks:
            self.display.show(progress)

    def erase(self) -> None:
        self.display.erase()

    def end(self, progress: Progress, *, is_canceled: bool) -> None:
        self.display.end(progress, is_canceled=is_canceled)


class PythonCells:
    """Watches each cell of Python of a shell."""

    def __init__(self, new_display: Callable[[], Display]):
        self.new_display = new_display
        self.watch: Watch | None = None
        self.handler = ExitStack()

    def begin(self, info: Any) -> None:
        """Called before a cell runs. `info`: its text, as IPython describes it."""
        spark = running_session()
        if spark is None or self.watch is not None or _MAGIC.search(info.raw_cell or ""):
            return
        with suppress(Exception):  # Spark has ended: what the cell asks of it fails with a better message
            watch = new_watch(spark, OfJobs(self.new_display()))
            watch.begin()
            self.watch = watch
            self.handler.enter_context(handler(self._interrupt))

    def end(self, result: Any) -> None:
        """Called after a cell has run. `result`: its error, as IPython describes it."""
        self.handler.close()
        watch, self.watch = self.watch, None
        if watch is None:
            return
        if isinstance(result.error_in_exec, KeyboardInterrupt):
            with suppress(Exception):
                watch.jobs.cancel()
        watch.end()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """A handler of SIGINT. The job of Spark for which a cell waits is canceled; a stream that it awaits goes on."""
        if is_in("py4j.", frame):
            abandon_request()  # its answer would be read as that of the next request
            root = logging.getLogger()
            root.addFilter(_is_no_interrupt)
            self.handler.callback(root.removeFilter, _is_no_interrupt)
            if self.watch is not None and not is_in("pyspark.sql.streaming.", frame):
                self.watch.is_canceled = True
                raise Canceled
        raise KeyboardInterrupt


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    """False for what Py4J logs of an interrupt that the user has asked for."""
    return "KeyboardInterrupt" not in record.getMessage()


def watch_python_cells(shell: InteractiveShell, new_display: Callable[[], Display]) -> None:
    """Watch the cells of Python of a shell from the next one on, once also after `%reload_ext`."""
    watching = (getattr(callback, "__self__", None) for callback in shell.events.callbacks["pre_run_cell"])
    if any(isinstance(each, PythonCells) for each in watching):
        return
    cells = PythonCells(new_display)
    shell.events.register("pre_run_cell", cells.begin)
    shell.events.register("post_run_cell", cells.end)
