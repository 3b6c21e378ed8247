"""The stateful operator that Spark runs: the state of a bucket of keys around `streams.step.advance`.

A bucket is called once in each micro-batch that has rows (`streams.wire.pack` sees to that), and by a timer whenever
the watermark moves without rows. Between the calls its state lies in two state variables: `header`, and `chunks` by
number.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql.streaming import StatefulProcessor

from sqlext.engine.stream import late_rows, state_log
from sqlext.engine.stream.key_buckets import SETTING, state_partitions
from sqlext.engine.stream.parcels import stream_of, table_of
from sqlext.engine.stream.processing_time import stamped
from sqlext.engine.stream.state_log import Header, Log, Stored
from sqlext.engine.stream.stream_plan import State, StreamPlan
from sqlext.errors import DataError

if TYPE_CHECKING:
    from sqlext.engine.stream.step import Step

# What the operator gives out: rows of the result (`kind` RESULT: parcels as for `streams.wire.opened`, or where times
# are asked for the time at which each row was decided and parcels as for `streams.wire.unpack`), and for each call what
# there is to tell of a bucket (REPORT).
OUTPUT_DDL = "kind INT, at TIMESTAMP, rows BINARY, kept BIGINT, bytes BIGINT, oldest TIMESTAMP, late BIGINT"
RESULT, REPORT = 0, 1
ROWS, KEYS = "rows", "keys"
PARCEL_ROWS = 1 << 16  # of the result


@dataclass(frozen=True)
class OperatorPlan:
    """`fingerprint`: of all that state depends on; `buckets`: how many there are, None: as many as the state has
    partitions; `late_folder`: where late rows go (see `streams.late`); `shows_times`: must Spark see the time of each
    row of the result?"""

    stream: StreamPlan
    fingerprint: str
    buckets: int | None = None
    late_folder: str | None = None
    shows_times: bool = True


class MatchProcessor(StatefulProcessor):
    """MATCH_RECOGNIZE for one bucket of keys."""

    def __init__(self, plan: OperatorPlan):
        self.plan = plan
        self.seen: dict[int, int] = {}  # bucket → watermark, of the calls in this micro-batch

    def init(self, handle) -> None:
        self.handle = handle
        self.header = handle.getValueState("header", "value BINARY")
        self.chunks = handle.getMapState("chunks", "number BIGINT", "value BINARY")

    def handleInputRows(self, key, rows, timerValues) -> Iterator[Any]:
        parcels = [bytes(parcel) for frame in rows for parcel in frame["rows"] if parcel is not None]
        yield from self._advance(key[0], parcels, self._now_ms(timerValues))

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo) -> Iterator[Any]:
        watermark_ms = self._now_ms(timerValues)
        if self.seen.get(key[0]) != watermark_ms:
            yield from self._advance(key[0], [], watermark_ms)

    def close(self) -> None:
        pass

    def _now_ms(self, timerValues) -> int:
        if self.plan.stream.is_processing_time:
            return int(1000 * time.time())
        return timerValues.getCurrentWatermarkInMs()

    def _advance(self, bucket: int, parcels: list[bytes], watermark_ms: int) -> Iterator[Any]:
        from sqlext.engine.stream.step import advance  # with Numba, which the driver does not need

        plan = self.plan.stream
        stored, sizes = self._stored()
        state = state_of(stored, plan)
        arrived, watermark = table_of(parcels, plan.schema), 1000 * watermark_ms
        if plan.is_processing_time:
            watermark = max(watermark, state.watermark + 1)
            arrived = stamped(arrived, watermark, plan)
        step = advance(state, arrived, watermark, plan)
        after = stored_after(stored, step, self.plan.fingerprint, self._buckets())
        kept = self._store(stored, after, sizes)
        self._set_timer(stored, watermark_ms)
        self.seen[bucket] = watermark_ms
        for times, batch in step.results:
            yield from _frames(times, batch, self.plan.shows_times)
        if self.plan.late_folder and step.late.num_rows:
            number = stored.header.next_number if stored else 0
            late_rows.write(step.late, plan.time, state.watermark, self.plan.late_folder, f"{bucket}-{number}")
        yield _report(after, kept, plan, 1000 * watermark_ms)

    def _buckets(self) -> int:
        return self.plan.buckets or state_partitions()

    def _stored(self) -> tuple[Stored | None, dict[int, int]]:
        """What is stored of a bucket, and the bytes of each chunk."""
        sizes: dict[int, int] = {}
        header = self.header.get()
        if header is None:
            return None, sizes

        def chunk(number: int) -> bytes:
            value = bytes(self.chunks.getValue((number,))[0])
            sizes[number] = len(value)
            return value

        stored = state_log.read(bytes(header[0]), chunk)
        if stored.header.plan != self.plan.fingerprint:
            raise changed_query()
        if stored.header.buckets != self._buckets():
            raise changed_buckets(stored.header.buckets, self._buckets())
        return stored, sizes

    def _store(self, before: Stored | None, after: Stored, sizes: dict[int, int]) -> int:
        """The bytes that are stored behind it; `sizes`: of the chunks before."""
        new, gone = state_log.changes(before, after)
        for chunk in new:
            value = state_log.chunk_bytes(chunk)
            self.chunks.updateValue((chunk.number,), (value,))
            sizes[chunk.number] = len(value)
        for number in gone:
            self.chunks.removeKey((number,))
            del sizes[number]
        header = after.header_bytes()
        self.header.update((header,))
        return len(header) + sum(sizes.values())

    def _set_timer(self, before: Stored | None, watermark_ms: int) -> None:
        """The bucket is called as soon as the watermark moves, or the clock if matches end by it."""
        stream = self.plan.stream
        if stream.is_processing_time and not stream.worker.bounds:
            return
        if before is not None and before.header.watermark == 1000 * watermark_ms:
            return
        if before is not None:
            self.handle.deleteTimer(before.header.watermark // 1000 + 1)
        self.handle.registerTimer(watermark_ms + 1)


def changed_query() -> DataError:
    """The error for a query that resumes from the checkpoint of another one."""
    return DataError(
        "CHANGED_QUERY",
        "the checkpoint was written by another MATCH_RECOGNIZE: it may lack rows that this one needs",
        hint="start the changed query with a new checkpoint, or run the old text again.",
    )


def changed_buckets(before: int, now: int) -> DataError:
    """The error for a query that resumes with another number of buckets."""
    return DataError(
        "CHANGED_BUCKETS",
        f"the checkpoint was written with {before} buckets of keys, now there are {now}",
        hint=f"SET {SETTING} = {before}, or start the query with a new checkpoint.",
    )


def state_of(stored: Stored | None, plan: StreamPlan) -> State:
    """What `advance` reads of what is stored."""
    if stored is None:
        return State(plan.schema.empty_table(), plan.key_schema.empty_table())
    logs = stored.logs
    return State(logs[ROWS].table(plan.schema), logs[KEYS].table(plan.key_schema), stored.header.watermark)


def stored_after(stored: Stored | None, step: Step, fingerprint: str, buckets: int = 1) -> Stored:
    """What is to be stored behind a step."""
    before = stored or Stored(Header(fingerprint, step.watermark, buckets=buckets), {ROWS: Log(), KEYS: Log()})
    number = before.header.next_number
    logs = {
        ROWS: before.logs[ROWS].changed(step.keeps_row, step.new_rows, number),
        KEYS: before.logs[KEYS].changed(step.keeps_key, step.new_keys, number + 1),
    }
    late = before.header.late + step.late.num_rows
    header = replace(before.header, watermark=step.watermark, next_number=number + 2, late=late)
    return Stored(header, logs)


def _frames(times: np.ndarray, rows: pa.RecordBatch, shows_times: bool) -> Iterator[Any]:
    """Rows of the result as parcels; a parcel is one row, or with times the first of as many rows as it has."""
    for first in range(0, rows.num_rows, PARCEL_ROWS):
        part = rows.slice(first, PARCEL_ROWS)
        shown = times[first : first + PARCEL_ROWS] if shows_times else np.full(1, np.datetime64("NaT", "us"))
        yield _frame(RESULT, shown, stream_of(part))


def _frame(kind: int, times: np.ndarray, parcel: bytes | None, kept: tuple[int, int, int] | None = None, oldest=None):
    """As many rows as times; the parcel is in the first."""
    import pandas as pd

    n = len(times)
    rows = np.empty(n, object)
    rows[0] = parcel
    counts = [pd.arrays.IntegerArray(np.full(n, x), np.full(n, kept is None)) for x in kept or (0, 0, 0)]
    return pd.DataFrame(
        {
            "kind": np.full(n, kind, np.int32),
            "at": _timestamps(times),
            "rows": rows,
            "kept": counts[0],
            "bytes": counts[1],
            "oldest": _timestamps(np.full(n, np.datetime64("NaT", "us") if oldest is None else oldest)),
            "late": counts[2],
        }
    )


def _timestamps(times: np.ndarray):
    import pandas as pd

    return pd.Series(times.astype("datetime64[us]")).dt.tz_localize("UTC")


def _report(after: Stored, size: int, plan: StreamPlan, watermark: int):
    """How many rows the bucket keeps, in how many bytes, the time of the oldest, and how many came too late so far."""
    times = [chunk.alive().column(plan.time).cast(pa.int64()).to_numpy() for chunk in after.logs[ROWS].chunks]
    rows = sum(map(len, times))
    oldest = min((int(t.min()) for t in times if len(t)), default=None)
    return _frame(REPORT, np.array([watermark + 1000]), None, (rows, size, after.header.late), oldest)
