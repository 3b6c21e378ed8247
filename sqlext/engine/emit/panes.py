"""The panes of a bucket: one window of one key each, as columns, and their form in the state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa

from sqlext.engine.emit.firing_points import NOTHING, PaneTimes
from sqlext.engine.emit.partials import Aggregation, States, restored, stored
from sqlext.engine.emit.whole import partial_fields
from sqlext.engine.emit.window_plan import WindowPlan
from sqlext.engine.worker.arrow import as_arrow, as_numpy, one_chunk

_NUMBERS = ("start", "end", "count", "fired", "news", "clock_due", "delay_due")


def pane_schema(plan: WindowPlan) -> pa.Schema:
    """The columns of the state that hold panes: the keys, `_NUMBERS`, was_on_time, delta, the partial aggregates."""
    fields = [plan.schema.field(k) for k in plan.keys]
    fields += [pa.field(f"__{name}", pa.int64()) for name in _NUMBERS]
    fields += [pa.field("__was_on_time", pa.bool_()), pa.field("__delta", pa.float64())]
    return pa.schema([*fields, *(field for partial in partial_fields(plan) for field in partial)])


@dataclass(frozen=True, kw_only=True)
class Panes:
    """n panes; `code: int64[n]` numbers their keys in this step, `keys` are their values.

    - `start`, `end`: the window, of a session as far as its rows tell;
    - `count`: how many rows it has had; `fired`: how often it has fired;
    - `news`: the time of its last row since it last fired, or NOTHING;
    - `was_on_time`: has it fired as a complete window?
    - `clock_due`, `delay_due`: when the triggers on the clock fire next, or NOTHING;
    - `delta`: the value on which ON DELTA last fired, NaN before the first row;
    - `partials`: the partial aggregates of each call: of all rows, with DISCARDING of those since it last fired.
    """

    code: np.ndarray
    keys: pa.Table
    start: np.ndarray
    end: np.ndarray
    count: np.ndarray
    fired: np.ndarray
    news: np.ndarray
    clock_due: np.ndarray
    delay_due: np.ndarray
    was_on_time: np.ndarray
    delta: np.ndarray
    partials: tuple[States, ...]

    def __len__(self) -> int:
        return len(self.code)

    @property
    def times(self) -> PaneTimes:
        return PaneTimes(end=self.end, count=self.count, news=self.news)

    def take(self, at: np.ndarray) -> Panes:
        """The panes at these indexes."""
        arrays = {name: getattr(self, name)[at] for name in ("code", *_NUMBERS, "was_on_time", "delta")}
        partials = tuple(tuple(column[at] for column in states) for states in self.partials)
        return replace(self, **arrays, keys=self.keys.take(as_arrow(at)), partials=partials)

    def table(self, plan: WindowPlan) -> pa.Table:
        """The panes as `pane_schema` stores them."""
        numbers = [as_arrow(getattr(self, name)) for name in _NUMBERS]
        partials = [
            column
            for states, fields in zip(self.partials, partial_fields(plan))
            for column in stored(states, tuple(field.type for field in fields))
        ]
        columns = [*self.keys.columns, *numbers, as_arrow(self.was_on_time), as_arrow(self.delta), *partials]
        return pa.Table.from_arrays(columns, schema=pane_schema(plan))


def stored_panes(table: pa.Table, code: np.ndarray, plan: WindowPlan) -> Panes:
    """The panes of the state; `code`: the numbers of their keys."""
    columns = [one_chunk(column) for column in table.columns]
    rest = iter(columns[len(plan.keys) :])
    numbers = {name: as_numpy(next(rest)).copy() for name in _NUMBERS}
    was_on_time, delta = as_numpy(next(rest)).copy(), as_numpy(next(rest)).copy()
    partials = tuple(restored([next(rest) for _ in fields]) for fields in partial_fields(plan))
    keys = table.select(plan.keys)
    return Panes(code=code, keys=keys, was_on_time=was_on_time, delta=delta, partials=partials, **numbers)


def new_panes(
    code: np.ndarray, keys: pa.Table, start: np.ndarray, end: np.ndarray, aggregations: Sequence[Aggregation]
) -> Panes:
    """Panes that have had no row yet."""
    n = len(code)
    full = partial(np.full, n)
    return Panes(
        code=code, keys=keys, start=start, end=end, count=full(0), fired=full(0), news=full(NOTHING),
        clock_due=full(NOTHING), delay_due=full(NOTHING), was_on_time=np.zeros(n, np.bool_), delta=full(np.nan),
        partials=tuple(a.empty(n) for a in aggregations),
    )  # fmt: skip


def joined(parts: Sequence[Panes]) -> Panes:
    """The panes of all parts, one part behind the other."""
    arrays = {
        name: np.concatenate([getattr(p, name) for p in parts]) for name in ("code", *_NUMBERS, "was_on_time", "delta")
    }
    partials = tuple(
        tuple(np.concatenate(columns) for columns in zip(*states)) for states in zip(*(p.partials for p in parts))
    )
    return Panes(keys=pa.concat_tables([p.keys for p in parts]), partials=partials, **arrays)
