"""The stateful operator that Spark runs for a bucket of keys.

It reads and writes the state of the bucket around the step of an `Operator`, writes the rows that the step could not
use, and reports to the driver.

A bucket is called once in each micro-batch that has rows (`parcels.pack` ensures that), and by a timer whenever the
watermark moves without rows. Between calls its state is in two state variables: `header`, and `chunks` by number.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from sqlext.errors import DataError
from sqlext.operators.stateful import side_rows, state_log
from sqlext.operators.stateful.operator import ROWS, Clock, Operator, Step, TimesBy
from sqlext.operators.stateful.parcels import BUCKETS_SETTING, state_partitions, stream_of, tables_of
from sqlext.operators.stateful.state_log import Stored

# The rows that the operator returns. Rows of kind RESULT hold result rows, as `parcels.unpack` reads them or, with the
# time at which each was decided, as `parcels.unpack_by_row` does. One row of kind REPORT for each call describes the
# state of the bucket.
OUTPUT_DDL = (
    "kind INT, at TIMESTAMP_LTZ, rows BINARY, kept BIGINT, bytes BIGINT, oldest TIMESTAMP_LTZ, late BIGINT, "
    "failed BIGINT, windows BIGINT, emitted BIGINT"
)
RESULT, REPORT = 0, 1
PARCEL_ROWS = 1 << 16  # the rows of the result in a parcel
_LAST_TIME = 2**63 - 1
_NO_TIME = np.datetime64("NaT", "us")


@dataclass(kw_only=True)
class Bucket:
    """An operator, which Spark calls for one bucket of keys at a time, as a processor of `engine.streams.shipped`.

    `fingerprint`: the digest of what decides rows and state; `former`: other digests that the state may have, from
    earlier versions; `buckets`: how many buckets there are, None: as many as the state has partitions; `folders`: where
    late rows and failures are written, by the settings of `side_rows`; `shows_times`: whether Spark must see the time
    of each result row.
    """

    operator: Operator
    fingerprint: str
    former: tuple[str, ...] = ()
    buckets: int | None = None
    folders: Mapping[str, str] = field(default_factory=dict)
    shows_times: bool = True
    called: dict[int, int] = field(default_factory=dict, init=False)  # number → watermark of the last call

    def open(self, handle, header, chunks) -> None:
        """Begin with Spark's handle, which sets timers, and the two state variables."""
        self.handle, self.header, self.chunks = handle, header, chunks

    def handleInputRows(self, key, rows, timerValues) -> Iterator[Any]:
        parcels = [bytes(parcel) for frame in rows for parcel in frame["rows"] if parcel is not None]
        yield from self._respond(key[0], parcels, self._now_ms(timerValues))

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo) -> Iterator[Any]:
        watermark_ms = self._now_ms(timerValues)
        if self.called.get(key[0]) != watermark_ms:
            yield from self._respond(key[0], [], watermark_ms)

    def _now_ms(self, timerValues) -> int:
        if self.operator.times_by is TimesBy.EVENTS:
            return timerValues.getCurrentWatermarkInMs()
        return int(1000 * time.time())

    def _respond(self, number: int, parcels: list[bytes], watermark_ms: int) -> Iterator[Any]:
        before, sizes = self._stored()
        clock = Clock(watermark=1000 * watermark_ms, now=int(1e6 * time.time()))
        step, after = self.answer(number, before, parcels, clock)
        size = self._store(before, after, sizes)
        self._set_timer(before, watermark_ms)
        self.called[number] = watermark_ms
        for times, batch in step.results:
            yield from _result_frames(times, batch, shows_times=self.shows_times)
        yield self.report_frame(number, step, after, size, clock.watermark)

    def answer(self, number: int, before: Stored | None, parcels: list[bytes], clock: Clock) -> tuple[Step, Stored]:
        """The step of the bucket of this number, from the state `before` and the rows that arrived, and the state after
        it."""
        operator = self.operator
        stored = before or state_log.empty(operator.tables, self._count())
        stored = stored.fitted(operator.tables)
        state = stored.state(operator.tables)
        step = operator.advance(state, tables_of(parcels, operator.inputs), clock)
        # The name is the same if the call is repeated after a failure, and no other call of the query has it.
        self._write_side_rows(step, state.watermark, f"{number}-{stored.header.next_number}")
        return step, stored.after(step, self.fingerprint)

    def _write_side_rows(self, step: Step, watermark: int, name: str) -> None:
        """Write the late rows and the failures of a step. `watermark`: the watermark that had passed the late rows."""
        if folder := self.folders.get(side_rows.LATE):
            side_rows.write(side_rows.late_table(step.late, self.operator.time, watermark), folder, name)
        if folder := self.folders.get(side_rows.FAILED):
            side_rows.write(step.failures, folder, name)

    def _count(self) -> int:
        return self.buckets or state_partitions()

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
        if stored.header.plan not in (self.fingerprint, *self.former):
            raise changed_query()
        if stored.header.buckets != self._count():
            raise changed_buckets(stored.header.buckets, self._count())
        return stored, sizes

    def _store(self, before: Stored | None, after: Stored, sizes: dict[int, int]) -> int:
        """Store the state `after`, and return its size in bytes; `sizes`: the bytes of the chunks in `before`."""
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
        """Set a timer that calls the bucket as soon as the watermark moves, or when the clock does if matches end by
        the clock."""
        if self.operator.times_by is TimesBy.ARRIVAL:
            return
        if before is not None and before.header.watermark == 1000 * watermark_ms:
            return
        if before is not None:
            self.handle.deleteTimer(before.header.watermark // 1000 + 1)
        self.handle.registerTimer(watermark_ms + 1)

    def report_frame(self, number: int, step: Step, after: Stored, size: int, watermark: int):
        """The report of a bucket: how many rows it keeps, their bytes, the time of the oldest; how many rows were late
        or failed; the open windows, the number of result rows, and the text for the driver."""
        header, name = after.header, self.operator.time
        times = [chunk.alive().column(name).cast(pa.int64()).to_numpy() for chunk in after.logs[ROWS].chunks]
        oldest = min((int(t.min()) for t in times if len(t)), default=None)
        emitted = sum(rows.num_rows for _, rows in step.results)
        counts = (sum(map(len, times)), size, header.late, header.failed, step.open_windows, emitted)
        text = step.report.text(number) if step.report is not None else None
        return _frame(REPORT, np.array([min(watermark + 1000, _LAST_TIME)]), text, counts, oldest)


def changed_query() -> DataError:
    """The error for a query that resumes from the checkpoint of another query."""
    return DataError(
        "CHANGED_QUERY",
        "the checkpoint was written by another clause: it may lack rows that this one needs",
        hint="start the changed query with a new checkpoint, or run the old text again.",
    )


def changed_buckets(before: int, now: int) -> DataError:
    """The error for a query that resumes with another number of buckets."""
    return DataError(
        "CHANGED_BUCKETS",
        f"the checkpoint was written with {before} buckets of keys, now there are {now}",
        hint=f"SET {BUCKETS_SETTING} = {before}, or start the query with a new checkpoint.",
    )


# the rows of OUTPUT_DDL


def _result_frames(times: np.ndarray, rows: pa.RecordBatch, *, shows_times: bool) -> Iterator[Any]:
    """Result rows as parcels: each in one row or, with times, in the first of as many rows as it holds."""
    for first in range(0, rows.num_rows, PARCEL_ROWS):
        part = rows.slice(first, PARCEL_ROWS)
        shown = times[first : first + PARCEL_ROWS] if shows_times else np.full(1, _NO_TIME)
        yield _frame(RESULT, shown, stream_of(part).to_pybytes())


def _frame(kind: int, times: np.ndarray, parcel: bytes | None, counts: tuple[int, ...] | None = None, oldest=None):
    """A pandas DataFrame with a row for each time; the parcel is in the first row.

    `counts`: rows kept, their bytes, late rows, failed rows, open windows, emitted rows.
    """
    import pandas as pd  # takes a quarter of a second, so only workers of streams import it

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
