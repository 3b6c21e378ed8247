"""INTERVAL JOIN of streams: Spark's own stream-stream join, whose state the range and the watermarks bound."""

from __future__ import annotations

from pyspark.sql import DataFrame

from sqlext.errors import UnsupportedError
from sqlext.rewriter.interval_join import RewrittenJoin
from sqlext.rewriter.join_clauses import JoinClause
from sqlext.rewriter.time_range import TimeRange


def rewrite(clause: JoinClause, range_: TimeRange | None, frame: DataFrame) -> RewrittenJoin:
    """Raises UnsupportedError."""
    raise UnsupportedError("STREAM", "INTERVAL JOIN on a stream is not built yet", place=clause.keyword.place)
