"""What a running stream keeps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery

# Light by design: `import sqlext` loads this, in workers too, and must not wait for pyspark or numba.

METRICS = "sqlext"  # the name of the observed metrics of a query


@dataclass(frozen=True)
class StreamState:
    """`rows` in `bytes` are kept, the oldest of `oldest`; `late_rows` came too late since the query began."""

    rows: int
    bytes: int
    oldest: datetime | None
    late_rows: int


def state(query: StreamingQuery) -> StreamState | None:
    """What MATCH_RECOGNIZE keeps in a streaming query, as of its last micro-batch; None before the first one.

    >>> state(spark.streams.active[0])                          # doctest: +SKIP
    StreamState(rows=1042, bytes=66688, oldest=datetime.datetime(2026, 1, 1, 0, 0, 3), late_rows=0)
    """
    for progress in reversed(query.recentProgress):
        told = progress["observedMetrics"].get(METRICS)
        if told is not None:
            return StreamState(told["rows"], told["bytes"], told["oldest"], told["late_rows"])
    return None
