"""A button below the progress of streams, which stops them. It needs a front end with ipywidgets."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from IPython.core.getipython import get_ipython
from pyspark.sql.streaming import StreamingQuery


def stop_button(queries: Sequence[StreamingQuery]) -> Any | None:
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
        with ExitStack() as all_queries:  # if one query cannot be stopped, the others are stopped nevertheless
            for query in queries:
                all_queries.callback(query.stop)

    button.on_click(stop)
    return button
