"""What a running stream keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery

# Light by design: `import sqlext` loads this, in workers too, and must not wait for pyspark or numba.

METRICS = "sqlext"  # the observed metrics of a clause have a name that begins so


@dataclass(frozen=True)
class StreamState:
    """`rows` are kept, in `bytes` as they are stored, the oldest of `oldest`; `late_rows` came too late since the query
    began."""

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
        found = kept(progress["observedMetrics"])
        if found is not None:
            return found
    return None


def kept(metrics: Mapping[str, Any]) -> StreamState | None:
    """What all clauses of a query keep, of the observed metrics of a micro-batch.

    >>> kept({"sqlext_1": {"rows": 2, "bytes": 70, "oldest": None, "late_rows": 0}, "theirs": {}})
    StreamState(rows=2, bytes=70, oldest=None, late_rows=0)
    """
    told = [row for name, row in metrics.items() if name.startswith(f"{METRICS}_")]
    if not told:
        return None
    rows, size, late = (sum(row[column] for row in told) for column in ("rows", "bytes", "late_rows"))
    return StreamState(rows, size, min((row["oldest"] for row in told if row["oldest"]), default=None), late)
