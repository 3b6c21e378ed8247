"""The stateful operator that Spark runs: it reads and writes the state of a bucket of keys around a pure step.

There are two steps: that of MATCH_RECOGNIZE (`step.advance`), and that of EMIT (`engine.emit.window_step.advance`).

A bucket is called once in each micro-batch that has rows (`parcels.pack` ensures that), and by a timer whenever the
watermark moves without rows. Between calls its state lies in two state variables: `header`, and `chunks` by number.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
import pyarrow as pa

from sqlext.engine.stream import side_tables, state_log
from sqlext.engine.stream.parcels import BUCKETS_SETTING, state_partitions, stream_of, table_of
from sqlext.engine.stream.state_log import Header, Log, Stored
from sqlext.engine.stream.stream_plan import State, StreamPlan, first_state
from sqlext.errors import DataError
from sqlext.rewriter.match.match_plan import WITHIN_END

if TYPE_CHECKING:
    from sqlext.engine.stream.step import Step

# The rows that the operator returns. Those of kind RESULT hold result rows, as `parcels.unpack` reads them, or with the
# time at which each was decided as `parcels.unpack_by_row` does. One row of kind REPORT for each call describes the
# state of the bucket.
OUTPUT_DDL = (
    "kind INT, at TIMESTAMP, rows BINARY, kept BIGINT, bytes BIGINT, oldest TIMESTAMP, late BIGINT, failed BIGINT, "
    "windows BIGINT, emitted BIGINT"
)
RESULT, REPORT = 0, 1
ROWS, KEYS = "rows", "keys"  # the tables of the state
PARCEL_ROWS = 1 << 16  # of the result
_LAST_TIME = 2**63 - 1
_NO_TIME = np.datetime64("NaT", "us")


class BucketPlan(Protocol):
    """What the operator reads of the plan of either step.

    `arriving`: the columns of the rows that arrive; `schema`, `key_schema`: those of the tables of the state; `time`:
    the one with the event time. `is_processing_time`: the time of a row is that of its arrival; `ends_by_clock`: the
    clock alone may then decide something.
    """

    @property
    def arriving(self) -> pa.Schema: ...

    @property
    def schema(self) -> pa.Schema: ...

    @property
    def key_schema(self) -> pa.Schema: ...

    @property
    def time(self) -> str: ...

    @property
    def is_processing_time(self) -> bool: ...

    @property
    def ends_by_clock(self) -> bool: ...


@dataclass(frozen=True, kw_only=True)
class OperatorPlan:
    """What the operator needs to know beside `stream`.

    `fingerprint`: the digest of what decides rows and state; `former`: others that the state may have, of earlier
    versions; `buckets`: how many there are, None: as many as the state has partitions; `late_folder`, `failed_folder`:
    where late rows and failures are written (see `side_tables`); `shows_times`: whether Spark must see the time of each
    result row.
    """

    stream: BucketPlan
    fingerprint: str
    former: tuple[str, ...] = ()
    buckets: int | None = None
    late_folder: str | None = None
    failed_folder: str | None = None
    shows_times: bool = True


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of a bucket: its number, the state before the call, and what came."""

    bucket: int
    before: Stored | None
    parcels: list[bytes]
    watermark: int  # int64 microseconds

    @property
    def name(self) -> str:
        """The same if the call is made again after a failure, and that of no other call of the query."""
        return f"{self.bucket}-{self.before.header.next_number if self.before else 0}"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a call gives: (times, rows) of the result, the state after it, how many windows that holds, and a text for
    the driver."""

    results: Sequence[tuple[np.ndarray, pa.RecordBatch]]
    after: Stored
    windows: int = 0
    text: bytes | None = None


class BucketProcessor(ABC):
    """One bucket of keys: reads its state, has a subclass answer the call, and stores the state after it.

    Spark calls it through a `shipped_processor`.
    """

    @abstractmethod
    def answer(self, call: Call) -> Answer: ...

    def __init__(self, plan: OperatorPlan):
        self.plan = plan
        self.called: dict[int, int] = {}  # bucket → watermark of its last call

    def open(self, handle, header, chunks) -> None:
        """Begin with Spark's handle of timers, and the two state variables."""
        self.handle, self.header, self.chunks = handle, header, chunks

    def handleInputRows(self, key, rows, timerValues) -> Iterator[Any]:
        parcels = [bytes(parcel) for frame in rows for parcel in frame["rows"] if parcel is not None]
        yield from self._respond(key[0], parcels, self._now_ms(timerValues))

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo) -> Iterator[Any]:
        watermark_ms = self._now_ms(timerValues)
        if self.called.get(key[0]) != watermark_ms:
            yield from self._respond(key[0], [], watermark_ms)

    def _now_ms(self, timerValues) -> int:
        if self.plan.stream.is_processing_time:
            return int(1000 * time.time())
        return timerValues.getCurrentWatermarkInMs()

    def _respond(self, bucket: int, parcels: list[bytes], watermark_ms: int) -> Iterator[Any]:
        before, sizes = self._stored()
        answer = self.answer(Call(bucket=bucket, before=before, parcels=parcels, watermark=1000 * watermark_ms))
        size = self._store(before, answer.after, sizes)
        self._set_timer(before, watermark_ms)
        self.called[bucket] = watermark_ms
        for times, batch in answer.results:
            yield from _result_frames(times, batch, self.plan.shows_times)
        yield _report_frame(answer, size, self.plan.stream, 1000 * watermark_ms)

    def buckets(self) -> int:
        return self.plan.buckets or state_partitions()

    def _stored(self) -> tuple[Stored | None, dict[int, int]]:
        """The stored state of the bucket, and the bytes of each of its chunks by number."""
        sizes: dict[int, int] = {}
        header = self.header.get()
        if header is None:
            return None, sizes

        def chunk(number: int) -> bytes:
            value = bytes(self.chunks.getValue((number,))[0])
            sizes[number] = len(value)
            return value

        stored = state_log.read(bytes(header[0]), chunk)
        if stored.header.plan not in (self.plan.fingerprint, *self.plan.former):
            raise changed_query()
        if stored.header.buckets != self.buckets():
            raise changed_buckets(stored.header.buckets, self.buckets())
        return stored, sizes

    def _store(self, before: Stored | None, after: Stored, sizes: dict[int, int]) -> int:
        """Store the state `after`, and return its size in bytes; `sizes`: of the chunks in `before`."""
        new, removed = state_log.changes(before, after)
        for chunk in new:
            value = state_log.chunk_bytes(chunk)
            self.chunks.updateValue((chunk.number,), (value,))
            sizes[chunk.number] = len(value)
        for number in removed:
            self.chunks.removeKey((number,))
            del sizes[number]
        header = after.header_bytes()
        self.header.update((header,))
        return len(header) + sum(sizes.values())

    def _set_timer(self, before: Stored | None, watermark_ms: int) -> None:
        """Have the bucket called as soon as the watermark moves, or the clock where matches end by it."""
        stream = self.plan.stream
        if stream.is_processing_time and not stream.ends_by_clock:
            return
        if before is not None and before.header.watermark == 1000 * watermark_ms:
            return
        if before is not None:
            self.handle.deleteTimer(before.header.watermark // 1000 + 1)
        self.handle.registerTimer(watermark_ms + 1)


class StepProcessor(BucketProcessor):
    """A bucket with the tables ROWS and KEYS. A subclass has the step, and the state before the first one."""

    @abstractmethod
    def first_state(self) -> State: ...

    @abstractmethod
    def advance(self, state: State, arrived: pa.Table, watermark: int) -> Step: ...

    def open_windows(self, state: Stored) -> int:
        """How many windows of keys the state holds."""
        return 0

    def answer(self, call: Call) -> Answer:
        plan, watermark = self.plan.stream, call.watermark
        before = None if call.before is None else with_marks(call.before, plan)
        state = self.first_state() if before is None else state_of(before, plan)
        arrived = table_of(call.parcels, plan.arriving)
        if plan.is_processing_time:
            watermark = max(watermark, state.watermark + 1)
            arrived = stamped(arrived, watermark, plan)
        step = self.advance(state, arrived, watermark)
        self._write_tables(step, state.watermark, call.name)
        after = stored_after(before, step, self.plan.fingerprint, self.buckets())
        return Answer(results=step.results, after=after, windows=self.open_windows(after))

    def _write_tables(self, step: Step, watermark: int, name: str) -> None:
        """Write the late rows and the failures of a step."""
        if self.plan.late_folder:
            late = side_tables.late_table(step.late, self.plan.stream.time, watermark)
            side_tables.write(late, self.plan.late_folder, name)
        if self.plan.failed_folder:
            side_tables.write(step.failures, self.plan.failed_folder, name)


class MatchProcessor(StepProcessor):
    """MATCH_RECOGNIZE for one bucket of keys."""

    def first_state(self) -> State:
        return first_state(self._stream)

    def advance(self, state: State, arrived: pa.Table, watermark: int) -> Step:
        from sqlext.engine.stream.step import advance  # loads Numba, which the driver does not need

        return advance(state, arrived, watermark, self._stream)

    @property
    def _stream(self) -> StreamPlan:
        return cast(StreamPlan, self.plan.stream)


def changed_query() -> DataError:
    """The error for a query that resumes from the checkpoint of another query."""
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
        hint=f"SET {BUCKETS_SETTING} = {before}, or start the query with a new checkpoint.",
    )


def stamped(arrived: pa.Table, now: int, plan: BucketPlan) -> pa.Table:
    """The rows with the time of arrival `now` (int64 microseconds), which is later than those of all earlier rows.

    >>> kind = pa.timestamp("us", "UTC")
    >>> rows = pa.table({"__key": pa.array([5], kind), "__end": pa.array([8], kind)})
    >>> plan = StreamPlan(worker=None, schema=rows.schema, time="__key")
    >>> [c.cast(pa.int64()).to_pylist() for c in stamped(rows, 100, plan).columns]
    [[100], [103]]
    """
    before = arrived.column(plan.time).cast(pa.int64()).to_numpy()
    for name in (plan.time, WITHIN_END):
        if name in arrived.column_names:
            at = arrived.schema.get_field_index(name)
            field = arrived.schema.field(at)
            times = arrived.column(name).cast(pa.int64()).to_numpy() - before + np.int64(now)
            arrived = arrived.set_column(at, field, pa.array(times).cast(field.type))
    return arrived


def state_of(stored: Stored, plan: BucketPlan) -> State:
    """The state as a step reads it."""
    logs = stored.logs
    return State(logs[ROWS].table(plan.schema), logs[KEYS].table(plan.key_schema), stored.header.watermark)


def with_marks(stored: Stored, plan: BucketPlan) -> Stored:
    """The state with all columns NOT_COMPUTED of the plan, which earlier versions of sqlext did not have."""
    schemas = {ROWS: plan.schema, KEYS: plan.key_schema}
    return replace(stored, logs={name: log.with_marks(schemas[name]) for name, log in stored.logs.items()})


def stored_after(stored: Stored | None, step: Step, fingerprint: str, buckets: int = 1) -> Stored:
    """The state to store after a step."""
    header = Header(plan=fingerprint, watermark=step.watermark, buckets=buckets)
    before = stored or Stored(header, {ROWS: Log(), KEYS: Log()})
    number = before.header.next_number
    logs = {
        ROWS: before.logs[ROWS].changed(step.keeps_row, step.new_rows, number),
        KEYS: before.logs[KEYS].changed(step.keeps_key, step.new_keys, number + 1),
    }
    late, failed = before.header.late + step.late.num_rows, before.header.failed + step.failures.num_rows
    header = replace(
        before.header, plan=fingerprint, watermark=step.watermark, next_number=number + 2, late=late, failed=failed
    )
    return Stored(header, logs)


# the rows of OUTPUT_DDL


def _result_frames(times: np.ndarray, rows: pa.RecordBatch, shows_times: bool) -> Iterator[Any]:
    """Result rows as parcels, each in one row, or with times in the first of as many rows as it holds."""
    for first in range(0, rows.num_rows, PARCEL_ROWS):
        part = rows.slice(first, PARCEL_ROWS)
        shown = times[first : first + PARCEL_ROWS] if shows_times else np.full(1, _NO_TIME)
        yield _frame(RESULT, shown, stream_of(part).to_pybytes())


def _report_frame(answer: Answer, size: int, plan: BucketPlan, watermark: int):
    """How many rows the bucket keeps, in how many bytes, the time of the oldest; how many rows were late or failed; the
    open windows, the rows of the result, and the text for the driver."""
    header, log = answer.after.header, answer.after.logs[ROWS]
    times = [chunk.alive().column(plan.time).cast(pa.int64()).to_numpy() for chunk in log.chunks]
    oldest = min((int(t.min()) for t in times if len(t)), default=None)
    emitted = sum(rows.num_rows for _, rows in answer.results)
    counts = (sum(map(len, times)), size, header.late, header.failed, answer.windows, emitted)
    return _frame(REPORT, np.array([min(watermark + 1000, _LAST_TIME)]), answer.text, counts, oldest)


def _frame(kind: int, times: np.ndarray, parcel: bytes | None, counts: tuple[int, ...] | None = None, oldest=None):
    """A pandas DataFrame with a row for each time; the parcel is in the first row.

    `counts`: rows kept, their bytes, late rows, failed rows, open windows, emitted rows.
    """
    import pandas as pd  # takes a quarter of a second, which only workers of streams need to spend

    n = len(times)
    rows = np.empty(n, object)
    rows[0] = parcel

    def integers(value: int):
        return pd.arrays.IntegerArray(np.full(n, value), np.full(n, counts is None))

    def timestamps(values: np.ndarray):
        return pd.Series(values.astype("datetime64[us]")).dt.tz_localize("UTC")

    kept, size, late, failed, windows, emitted = map(integers, counts or (0,) * 6)
    return pd.DataFrame(
        {
            "kind": np.full(n, kind, np.int32),
            "at": timestamps(times),
            "rows": rows,
            "kept": kept,
            "bytes": size,
            "oldest": timestamps(np.full(n, _NO_TIME if oldest is None else oldest)),
            "late": late,
            "failed": failed,
            "windows": windows,
            "emitted": emitted,
        }
    )
