"""What the micro-batches of a streaming table reported, also the ones of queries that have ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from pyspark.errors import PySparkException

from sqlext.catalog import streams
from sqlext.catalog.checkpoint import Checkpoint
from sqlext.engine.streams.stored_state import stored_operators
from sqlext.errors import DataError
from sqlext.expressions.time_texts import read_timestamp
from sqlext.operators.stateful.state_log import StateCounts, counts
from sqlext.spark import progress
from sqlext.spark.progress import Progress, StreamState, kept_state


class LastKnown(NamedTuple):
    """What is known of the last micro-batch of a table that has run, and the last state that the clauses reported.

    `batch`: its number; `at_us`: when it began. A run without new rows has no micro-batch, so these may be of an
    earlier query of the table. What only the checkpoint tells has no rate, and of the state only counts.
    """

    batch: int | None = None
    at_us: int | None = None
    watermark_us: int | None = None
    rows_per_second: float | None = None
    sources: tuple[str, ...] = ()
    state: StreamState | StateCounts | None = None

    @property
    def at(self) -> datetime | None:
        return None if self.at_us is None else datetime.fromtimestamp(0, timezone.utc) + timedelta(0, 0, self.at_us)

    @property
    def lag(self) -> timedelta | None:
        """How far the watermark was behind the clock when the micro-batch began."""
        if self.at_us is None or self.watermark_us is None:
            return None
        return timedelta(microseconds=self.at_us - self.watermark_us)


def last_known(name: str, query: Any | None, checkpoint: Checkpoint | None = None) -> LastKnown:
    """What is known of the last micro-batch of a table.

    `query`: the last query of that name that this process started; `checkpoint`: the table's, if another process may
    have run the table since.
    """
    recent = recent_progress(query)
    batches = [progress for progress in recent if "addBatch" in progress["durationMs"]]
    states = (kept_state(progress["observedMetrics"]) for progress in reversed(recent))
    before: LastKnown = streams.last_report(name) or LastKnown()
    known = _of_progress(batches[-1]) if batches else before
    known = known._replace(state=next((s for s in states if s is not None), before.state))
    if checkpoint is not None:
        known = _or_stored(known, checkpoint)
    streams.keep_report(name, known)
    return known


def _of_progress(progress: Progress) -> LastKnown:
    return LastKnown(
        batch=progress["batchId"],
        at_us=time_us(progress["timestamp"]),
        watermark_us=time_us((progress.get("eventTime") or {}).get("watermark")),
        rows_per_second=progress["processedRowsPerSecond"],
        sources=tuple(sources(progress)),
    )


def _or_stored(known: LastKnown, checkpoint: Checkpoint) -> LastKnown:
    """What the checkpoint tells of its last micro-batch, if that is later than the one that is known."""
    batch = checkpoint.last_batch
    if batch is None or batch.number == known.batch or batch.at_us <= (known.at_us or 0):
        return known
    return LastKnown(
        batch=batch.number,
        at_us=batch.at_us,
        watermark_us=batch.watermark_us or None,  # 0: before the first row, or a query without a watermark
        sources=tuple(f"up to {offset}" for offset in batch.offsets),
        state=_stored_counts(checkpoint),
    )


def _stored_counts(checkpoint: Checkpoint) -> StateCounts | None:
    """The counts in the state of all clauses; None without a clause, or if its state cannot be read."""
    with suppress(PySparkException, DataError):
        operators = stored_operators(checkpoint.spark, checkpoint.location)
        headers = [header for operator in operators for header in operator.headers.values()]
        return counts(headers) if headers else None
    return None


def recent_progress(query: Any | None) -> Sequence[Progress]:
    """The last micro-batches of a query, oldest first; none if its session has ended."""
    if query is not None:
        with suppress(PySparkException):
            return progress.recent_progress(query)
    return []


def rows_per_second(recent: Sequence[Progress]) -> float | None:
    """The input rows per second over the last hour of these micro-batches; None if there are none.

    >>> batch = {"timestamp": "2026-01-01T00:00:00.000Z", "numInputRows": 10, "durationMs": {"triggerExecution": 4000}}
    >>> rows_per_second([batch, {**batch, "timestamp": "2026-01-01T00:00:06.000Z"}]), rows_per_second([])
    (2.0, None)
    """
    if not recent:
        return None
    times = [(time_us(progress["timestamp"]) or 0) / 1e6 for progress in recent]
    first = next(i for i, time in enumerate(times) if time >= times[-1] - 3600)
    seconds = times[-1] - times[first] + recent[-1]["durationMs"].get("triggerExecution", 0) / 1e3
    rows = sum(progress["numInputRows"] for progress in recent[first:])
    return round(rows / seconds, 3) if seconds > 0 else None


def sources(progress: Progress) -> Iterator[str]:
    """Each source of a query, and how far it has been read: of a Delta table its version, for example.

    >>> offset = '{"sourceVersion":1,"reservoirVersion":7,"index":3}'
    >>> list(sources({"sources": [{"description": "DeltaSource[file:/t]", "endOffset": offset}]}))
    ['DeltaSource[file:/t] up to {"sourceVersion":1,"reservoirVersion":7,"index":3}']
    """
    for source in progress.get("sources", ()):
        yield f"{source['description']} up to {source['endOffset']}"


def time_us(text: str | None) -> int | None:
    """The microseconds of a time in a progress; Spark writes years after 9999 as `+57971-02-26T03:46:40.000Z`."""
    return None if text is None else read_timestamp(text, "UTC")
