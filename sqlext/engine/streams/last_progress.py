"""What the micro-batches of a streaming table reported, also those of queries that have ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any, NamedTuple

from pyspark.errors import PySparkException

from sqlext.catalog import streams
from sqlext.expressions.time_texts import read_timestamp
from sqlext.spark.progress import StreamState, kept_state

Progress = Mapping[str, Any]


class LastKnown(NamedTuple):
    """The progress of the last micro-batch that has run, and the last state that the clauses reported.

    A run without new rows has no micro-batch, so these may be those of an earlier query of the table.
    """

    progress: Progress = MappingProxyType({})
    state: StreamState | None = None

    @property
    def at(self) -> datetime | None:
        """When the micro-batch began."""
        now = time_us(self.progress.get("timestamp"))
        return None if now is None else datetime.fromtimestamp(0, timezone.utc) + timedelta(microseconds=now)

    @property
    def watermark_us(self) -> int | None:
        return time_us((self.progress.get("eventTime") or {}).get("watermark"))

    @property
    def lag(self) -> timedelta | None:
        """How far the watermark was behind the clock when the micro-batch began."""
        now, watermark = time_us(self.progress.get("timestamp")), self.watermark_us
        return None if now is None or watermark is None else timedelta(microseconds=now - watermark)


def last_known(name: str, query: Any | None) -> LastKnown:
    """What is known of the last micro-batch of a table; `query`: the last query of that name, if there is one."""
    recent = recent_progress(query)
    batches = [progress for progress in recent if "addBatch" in progress["durationMs"]]
    states = (kept_state(progress["observedMetrics"]) for progress in reversed(recent))
    before: LastKnown = streams.last_report(name) or LastKnown()
    known = LastKnown(
        batches[-1] if batches else before.progress, next((s for s in states if s is not None), before.state)
    )
    streams.keep_report(name, known)
    return known


def recent_progress(query: Any | None) -> Sequence[Progress]:
    """The last micro-batches of a query, oldest first; none if its session has ended."""
    if query is not None:
        with suppress(PySparkException):
            return list(query.recentProgress)
    return []


def rows_per_second(recent: Sequence[Progress], hours: float = 1) -> float | None:
    """The input rows per second over the last hours of these micro-batches; None if there are none.

    >>> batch = {"timestamp": "2026-01-01T00:00:00.000Z", "numInputRows": 10, "durationMs": {"triggerExecution": 4000}}
    >>> rows_per_second([batch, {**batch, "timestamp": "2026-01-01T00:00:06.000Z"}]), rows_per_second([])
    (2.0, None)
    """
    if not recent:
        return None
    times = [(time_us(progress["timestamp"]) or 0) / 1e6 for progress in recent]
    first = next(i for i, time in enumerate(times) if time >= times[-1] - 3600 * hours)
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
