"""The state of a running stream, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery
    from pyspark.sql.streaming.listener import StreamingQueryProgress

# This is light by design: `import sqlext` loads it, in workers too, and must not wait for pyspark or numba.

Progress = Mapping[str, Any]
METRICS, RESULT_METRICS = "sqlext", "sqlextresults"  # the prefixes of the names of a clause's observed metrics
VALUE_METRICS = "sqlextvalues"  # the prefix of those of tables of Kafka
WRITTEN = "sqlextwritten"  # the name of the metric of a query that has how many rows it writes


@dataclass(frozen=True, kw_only=True)
class StreamState:
    """The state of a stream: `rows` are kept, in `bytes` of state; the oldest has the time `oldest_us`, in microseconds
    since 1970.

    Since the query began, `late_rows` came too late, and on `failed_rows` an expression could not be computed. In the
    last micro-batch, `failed_results` result rows had a measure that could not be computed from its parts. `windows` of
    EMIT are open, one for each key; `emitted` rows left the clauses in the last micro-batch: matches and firings.
    """

    rows: int
    bytes: int
    oldest_us: int | None
    late_rows: int
    failed_rows: int = 0
    failed_results: int = 0
    windows: int = 0
    emitted: int = 0

    @property
    def oldest(self) -> datetime | None:
        """The time of the oldest row in UTC; if it is too late for `datetime`, the last time that `datetime` can
        represent.

        >>> state = StreamState(rows=1, bytes=70, oldest_us=1_500_000, late_rows=0)
        >>> str(state.oldest)
        '1970-01-01 00:00:01.500000+00:00'
        """
        if self.oldest_us is None:
            return None
        try:
            return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=self.oldest_us)
        except OverflowError:
            return datetime.max.replace(tzinfo=timezone.utc)


def state(query: StreamingQuery | StreamingQueryProgress) -> StreamState | None:
    """The state after the last micro-batch of a query, or after the one of a progress; None before the first one."""
    recent: list[Any] = getattr(query, "recentProgress", [query])
    for progress in reversed(recent):
        stream_state = kept_state(whole(progress)["observedMetrics"])
        if stream_state is not None:
            return stream_state
    return None


def kept_state(metrics: Mapping[str, Any]) -> StreamState | None:
    """The state of all clauses of a query together, from the observed metrics of a micro-batch; None if there is no
    clause.

    >>> counts = {"rows": 2, "bytes": 70, "late_rows": 0, "failed_rows": 1, "windows": 3, "emitted": 4}
    >>> kept_state({"sqlext_1": {**counts, "oldest": None}})
    StreamState(rows=2, bytes=70, oldest_us=None, late_rows=0, failed_rows=1, failed_results=0, windows=3, emitted=4)
    """
    reports = [row for name, row in metrics.items() if name.startswith(f"{METRICS}_")]
    if not reports:
        return None
    names = ("rows", "bytes", "late_rows", "failed_rows", "windows", "emitted")
    counts = {name: sum(row[name] for row in reports) for name in names}
    oldest = min((row["oldest"] for row in reports if row["oldest"] is not None), default=None)
    results = sum(row["failed_results"] for name, row in metrics.items() if name.startswith(f"{RESULT_METRICS}_"))
    return StreamState(**counts, oldest_us=oldest, failed_results=results)


def written_rows(metrics: Mapping[str, Any]) -> int:
    """The rows that a micro-batch wrote, from its observed metrics.

    >>> written_rows({WRITTEN: {"rows": 2}}), written_rows({})
    (2, 0)
    """
    return metrics[WRITTEN]["rows"] if WRITTEN in metrics else 0


def recent_progress(query: StreamingQuery) -> list[Progress]:
    """The last micro-batches of a query, oldest first."""
    return [whole(progress) for progress in query.recentProgress]


def whole(progress: Progress) -> Progress:
    """The progress of a micro-batch with all that a classic session has. A Connect client lacks the sums over the
    sources, and Spark 4.2 sends it the values of observed metrics apart from their names.

    >>> row = {"values": [2, 70], "schema": {"fields": [{"name": "rows"}, {"name": "bytes"}]}}
    >>> sent = {"batchId": 3, "sources": [{"numInputRows": 5}, {"numInputRows": 1}], "observedMetrics": {"m": row}}
    >>> whole({**sent, "numInputRows": None})["observedMetrics"], whole(sent)["numInputRows"]
    ({'m': {'rows': 2, 'bytes': 70}}, 6)
    """
    sums = {name: _sum(progress, name) for name in ("numInputRows", "processedRowsPerSecond")}
    metrics = {name: _named(row) for name, row in progress["observedMetrics"].items()}
    return {**progress, **sums, "observedMetrics": metrics}


def _sum(progress: Progress, name: str) -> float:
    value = progress.get(name)
    return sum(source.get(name) or 0 for source in progress.get("sources") or ()) if value is None else value


def _named(row: Any) -> Any:
    """The row of an observed metric, whose values have names."""
    values = row if isinstance(row, dict) else row.asDict()
    if values.keys() != {"values", "schema"}:
        return row
    return dict(zip((field["name"] for field in values["schema"]["fields"]), values["values"]))
