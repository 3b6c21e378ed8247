"""A stream has no end, so what shows or collects all of its rows is refused with the way to look at it."""

from __future__ import annotations

from typing import Any, NoReturn

from pyspark.sql import DataFrame

from sqlext.errors import UnsupportedError

_ACTIONS = (
    "show", "collect", "count", "first", "head", "take", "tail", "isEmpty", "toPandas", "toArrow", "toLocalIterator",
)  # fmt: skip


def check_ends(frame: DataFrame) -> None:
    """Raise UnsupportedError for a stream."""
    if frame.isStreaming:
        refuse()


def refuse(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise the error of an action over a stream; takes the arguments of any action."""
    raise UnsupportedError(
        "STREAM_WITHOUT_TABLE",
        "the result is a stream, which has no end and cannot be shown",
        hint="write CREATE STREAMING TABLE name AS … and SELECT from the table.",
    )


def with_end_required(frame: DataFrame) -> DataFrame:
    """The frame; the actions of a stream raise our error, because Spark's own names no remedy in SQL."""
    if frame.isStreaming:
        for action in _ACTIONS:
            setattr(frame, action, refuse)
    return frame
