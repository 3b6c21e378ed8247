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

from sqlext.engine.streams import late, log
from sqlext.engine.streams.clock import stamped
from sqlext.engine.streams.log import Header, Log, Stored
from sqlext.engine.streams.plan import State, StreamPlan
from sqlext.engine.streams.wire import stream_of, table_of
from sqlext.errors import DataError

if TYPE_CHECKING:
    from sqlext.engine.streams.step import Step

# What the operator gives out: rows of the result (`kind` RESULT: the time at which they were decided, parcels as for
# `streams.wire.unpack`), and for each call what there is to tell of a bucket (REPORT).
OUTPUT_DDL = "kind INT, at TIMESTAMP, rows BINARY, kept BIGINT, bytes BIGINT, oldest TIMESTAMP, late BIGINT"
RESULT, REPORT = 0, 1
ROWS, KEYS = "rows", "keys"


@dataclass(frozen=True)
class OperatorPlan:
    """`fingerprint`: of all that state depends on; `late_folder`: where late rows go (see `streams.late`)."""

    stream: StreamPlan
    fingerprint: str
    late_folder: str | None = None


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
        from sqlext.engine.streams.step import advance  # with Numba, which the driver does not need

        plan = self.plan.stream
        stored = self._stored()
        state = state_of(stored, plan)
        arrived, watermark = table_of(parcels, plan.schema), 1000 * watermark_ms
        if plan.is_processing_time:
            watermark = max(watermark, state.watermark + 1)
            arrived = stamped(arrived, watermark, plan)
        step = advance(state, arrived, watermark, plan)
        after = stored_after(stored, step, self.plan.fingerprint)
        self._store(stored, after)
        self._set_timer(stored, watermark_ms)
        self.seen[bucket] = watermark_ms
        for times, batch in step.results:
            yield _frame(RESULT, times, stream_of(batch))
        if self.plan.late_folder and step.late.num_rows:
            number = stored.header.next_number if stored else 0
            late.write(step.late, plan.time, state.watermark, self.plan.late_folder, f"{bucket}-{number}")
        yield _report(after, step, plan, 1000 * watermark_ms)

    def _stored(self) -> Stored | None:
        header = self.header.get()
        if header is None:
            return None
        stored = log.read(bytes(header[0]), lambda number: bytes(self.chunks.getValue((number,))[0]))
        if stored.header.plan != self.plan.fingerprint:
            raise changed_query()
        return stored

    def _store(self, before: Stored | None, after: Stored) -> None:
        new, gone = log.changes(before, after)
        for chunk in new:
            self.chunks.updateValue((chunk.number,), (log.chunk_bytes(chunk),))
        for number in gone:
            self.chunks.removeKey((number,))
        self.header.update((after.header_bytes(),))

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


def state_of(stored: Stored | None, plan: StreamPlan) -> State:
    """What `advance` reads of what is stored."""
    if stored is None:
        return State(plan.schema.empty_table(), plan.key_schema.empty_table())
    logs = stored.logs
    return State(logs[ROWS].table(plan.schema), logs[KEYS].table(plan.key_schema), stored.header.watermark)


def stored_after(stored: Stored | None, step: Step, fingerprint: str) -> Stored:
    """What is to be stored behind a step."""
    before = stored or Stored(Header(fingerprint, step.watermark), {ROWS: Log(), KEYS: Log()})
    number = before.header.next_number
    logs = {
        ROWS: before.logs[ROWS].changed(step.keeps_row, step.new_rows, number),
        KEYS: before.logs[KEYS].changed(step.keeps_key, step.new_keys, number + 1),
    }
    late = before.header.late + step.late.num_rows
    header = replace(before.header, watermark=step.watermark, next_number=number + 2, late=late)
    return Stored(header, logs)


def _frame(kind: int, times: np.ndarray, parcel: bytes):
    """As many rows as times; the parcel is in the first."""
    import pandas as pd

    n = len(times)
    return pd.DataFrame(
        {
            "kind": np.full(n, kind, np.int32),
            "at": _timestamps(times),
            "rows": [parcel, *[None] * (n - 1)],
            **{name: pd.array([None] * n, "Int64") for name in ("kept", "bytes")},
            "oldest": pd.Series([pd.NaT] * n, dtype="datetime64[us, UTC]"),
            "late": pd.array([None] * n, "Int64"),
        }
    )


def _timestamps(times: np.ndarray):
    import pandas as pd

    return pd.Series(times.astype("datetime64[us]")).dt.tz_localize("UTC")


def _report(after: Stored, step: Step, plan: StreamPlan, watermark: int):
    """How many rows the bucket keeps, in how many bytes, the time of the oldest, and how many came too late so far."""
    import pandas as pd

    times = [chunk.alive().column(plan.time).cast(pa.int64()).to_numpy() for chunk in after.logs[ROWS].chunks]
    kept = np.concatenate([np.empty(0, np.int64), *times])
    oldest = pd.Series([pd.NaT], dtype="datetime64[us, UTC]")
    return pd.DataFrame(
        {
            "kind": np.array([REPORT], np.int32),
            "at": _timestamps(np.array([watermark + 1000])),
            "rows": [None],
            "kept": [len(kept)],
            "bytes": [sum(chunk.rows.nbytes for log in after.logs.values() for chunk in log.chunks)],
            "oldest": _timestamps(np.array([kept.min()])) if len(kept) else oldest,
            "late": [after.header.late],
        }
    )
