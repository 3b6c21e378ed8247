"""The beginning of each step of an operator: late rows and failures are set aside, the other rows join the rows of the
state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sqlext.operators.rows.arrow import are_valid, as_numpy, one_chunk
from sqlext.operators.rows.columns import FAILURE, LATE_ROW
from sqlext.operators.rows.row_order import key_codes
from sqlext.operators.stateful.operator import FAILURES, Change, State, fitted
from sqlext.pattern.task.event_time import BEGINNING


@dataclass(frozen=True, kw_only=True)
class Arrivals:
    """The rows of a step between the watermarks `before` and `watermark`, in int64 microseconds.

    - `table`: the rows of the state, of which there are `old`, then the arrived rows that are not late;
    - `time, code: int64[n]`: their times, and the numbers of their keys; `key_code: int64[k]`: the numbers of the keys
      of the state;
    - `late`: the rows that came too late;
    - `failed`: the rows on which Spark could not compute an expression, with the columns FAILURES.
    """

    before: int
    watermark: int
    table: pa.Table
    old: int
    time: np.ndarray
    code: np.ndarray
    key_code: np.ndarray
    late: pa.Table
    failed: pa.Table

    @property
    def is_waiting(self) -> np.ndarray:
        """`bool[n]`: the rows that the watermark has not passed."""
        return self.time > self.watermark

    @property
    def has_passed(self) -> np.ndarray:
        """`bool[n]`: the rows that the watermark has passed in this step."""
        return (self.time > self.before) & ~self.is_waiting

    def are_active(self, is_due: np.ndarray) -> np.ndarray:
        """`bool[codes]`: the keys with rows that have passed the watermark, and the keys of the state that are due
        (`is_due: bool[k]`)."""
        are = np.zeros(int(max(self.code.max(initial=-1), self.key_code.max(initial=-1))) + 1, np.bool_)
        are[self.code[self.has_passed]] = True
        are[self.key_code[is_due]] = True
        return are

    def kept(self, keeps: np.ndarray) -> Change:
        """The change of the rows of the state that keeps the rows of the step with `keeps: bool[n]`."""
        return Change(keeps[: self.old], self.table.slice(self.old).filter(pa.array(keeps[self.old :])))


def arrivals(
    state: State, arrived: pa.Table, watermark: int, *, time: str, keys: Sequence[str], lateness: int = 0
) -> Arrivals:
    """The rows of a step. `time`: the column of the event time; `keys`: the columns of a key; `lateness`: how much
    earlier than the watermark a row may be without being late. A row without a time is late, because no watermark ever
    reaches it.

    >>> kind = pa.timestamp("us")
    >>> rows = pa.table({"k": ["a", "a", "b"], "t": pa.array([1, 9, 5], kind)})
    >>> state = State({"rows": rows.slice(0, 0), "keys": pa.table({"k": ["b"]})}, 1)
    >>> step = arrivals(state, rows, 5, time="t", keys=["k"])
    >>> step.late.num_rows, step.code.tolist(), step.key_code.tolist(), step.is_waiting.tolist()
    (1, [0, 1], [1], [True, False])
    """
    is_late = ~are_valid(one_chunk(arrived.column(time)))
    if state.watermark != BEGINNING:
        is_late |= times(arrived, time) <= state.watermark - lateness
    taken = arrived.filter(pa.array(~is_late))
    table = pa.concat_tables([state.rows, fitted(taken, state.rows.schema)])
    code, key_code = key_codes([table, state.keys], keys)
    return Arrivals(
        before=state.watermark,
        watermark=max(watermark, state.watermark),
        table=table,
        old=state.rows.num_rows,
        time=times(table, time),
        code=code,
        key_code=key_code,
        late=arrived.filter(pa.array(is_late)),
        failed=_failed(taken, time),
    )


def times(table: pa.Table, name: str) -> np.ndarray:
    """`int64[n]`: a column of times in microseconds, or of integers; the value of a NULL is arbitrary."""
    return as_numpy(one_chunk(table.column(name)).view(pa.int64()))


def _failed(arrived: pa.Table, time: str) -> pa.Table:
    """The rows on which Spark could not compute an expression, with the columns FAILURES."""
    if FAILURE not in arrived.column_names:
        return FAILURES.empty_table()
    failed = arrived.filter(arrived.column(FAILURE).is_valid())
    has_row = LATE_ROW in failed.column_names
    row = failed.column(LATE_ROW) if has_row else pa.nulls(failed.num_rows, pa.string())
    return pa.table([failed.column(time).cast(FAILURES.field("time").type), failed.column(FAILURE), row], FAILURES)
