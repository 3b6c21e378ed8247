"""The progress of streaming queries, which a notebook shows and keeps up to date while they run."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from IPython.core.getipython import get_ipython
from IPython.display import display
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from sqlext.notebooks.html_table import html_table
from sqlext.sessions.failures import reason
from sqlext.sessions.watched import Display, watched
from sqlext.spark.progress import kept_state, recent_progress

_HEAD = ("stream", "state", "batch", "rows", "rows/s", "watermark", "kept rows", "kept bytes", "late rows")
_TEXTS = ("stream", "state", "watermark")
_SECONDS = 1  # between two updates
_HOW_TO_STOP = "%stop ends all streams, %stop NAME one of them"


@dataclass(frozen=True)
class LiveProgress:
    """One line for each query, with its progress at the time when this is created."""

    lines: tuple[tuple[str, ...], ...]

    def _repr_html_(self) -> str:
        note = _HOW_TO_STOP if self.is_running else ""
        return html_table([(name, name not in _TEXTS) for name in _HEAD], self.lines, note)

    def __repr__(self) -> str:
        lines = [", ".join(f"{name} {cell}" for name, cell in zip(_HEAD, line)) for line in self.lines]
        return "\n".join([*lines, _HOW_TO_STOP] if self.is_running else lines)

    @property
    def is_running(self) -> bool:
        """Return True if one of the queries is still running."""
        return any(line[1] == "running" for line in self.lines)


def progress_of(queries: Sequence[StreamingQuery]) -> LiveProgress:
    """The progress of streaming queries."""
    return LiveProgress(
        tuple(_line(query.name or query.id, _status(query), recent_progress(query)) for query in queries)
    )


def _status(query: StreamingQuery) -> str:
    if query.isActive:
        return "running"
    error = query.exception()
    return "ended" if error is None else f"failed: {reason(error)}"


def _line(name: str, status: str, recent: Sequence[Any]) -> tuple[str, ...]:
    """The cells of one query; the rows are counted over the micro-batches that Spark remembers, a hundred.

    >>> _line("alerts", "running", [{"batchId": 3, "numInputRows": 1200, "processedRowsPerSecond": 480.2,
    ...       "eventTime": {"watermark": "2026-01-01T00:00:00.000Z"}, "observedMetrics": {}}])
    ('alerts', 'running', '3', '1,200', '480', '2026-01-01T00:00:00.000Z', '', '', '')
    """
    if not recent:
        return (name, status, *[""] * (len(_HEAD) - 2))
    last = recent[-1]
    busy = next((progress for progress in reversed(recent) if progress["numInputRows"]), last)
    state = kept_state(last["observedMetrics"])
    counts = (state.rows, state.bytes, state.late_rows) if state is not None else ()
    return (
        name,
        status,
        str(last["batchId"]),
        f"{sum(progress['numInputRows'] for progress in recent):,}",
        f"{busy['processedRowsPerSecond'] or 0:,.0f}",
        last["eventTime"].get("watermark", ""),
        *(f"{count:,}" for count in counts),
        *[""] * (3 - len(counts)),
    )


def show_progress(spark: SparkSession, queries: Sequence[StreamingQuery], *, waits: bool) -> None:
    """Show the progress of queries below the cell until all of them have ended.

    `waits`: return only then, and raise the error of a query that failed; an interrupt stops the queries. Otherwise the
    cell ends at once, a thread continues to show the progress, and below it is a button that stops the queries.
    """
    handle = display(progress_of(queries), display_id=True)
    if waits:
        try:
            with watched(spark, Display()) as watch:
                for query in queries:
                    while not watch.is_canceled and not query.awaitTermination(_SECONDS):
                        handle.update(progress_of(queries))
        except KeyboardInterrupt:
            _stop_all(queries)
            raise
        finally:
            handle.update(progress_of(queries))
        return
    button = _stop_button(queries)
    if button is not None:
        display(button)
    threading.Thread(target=_follow, args=(handle, queries, button), name="sqlext-progress", daemon=True).start()


def _follow(handle: Any, queries: Sequence[StreamingQuery], button: Any | None) -> None:
    tick = threading.Event()
    try:
        last = progress_of(queries)
        while last.is_running:
            tick.wait(_SECONDS)
            now = progress_of(queries)
            if now != last:
                handle.update(now)
            last = now
    finally:  # also if the session was stopped, and the state of the queries is unknown
        if button is not None:
            button.close()


def _stop_button(queries: Sequence[StreamingQuery]) -> Any | None:
    """A button that stops queries; None if nobody could press it, outside a kernel or without ipywidgets."""
    if not hasattr(get_ipython(), "kernel"):
        return None
    try:
        from ipywidgets import Button
    except ImportError:
        return None
    names = ", ".join(query.name or query.id for query in queries)
    button = Button(description="Stop", icon="stop", tooltip=f"stop {names}")

    def stop(_: Any) -> None:
        button.disabled = True  # until the queries have ended, when `show_progress` removes it
        _stop_all(queries)

    button.on_click(stop)
    return button


def _stop_all(queries: Sequence[StreamingQuery]) -> None:
    with ExitStack() as all_queries:  # if one query cannot be stopped, the others are stopped nevertheless
        for query in queries:
            all_queries.callback(query.stop)
