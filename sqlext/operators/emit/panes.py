"""The panes of a bucket: one window of one key each, as columns, and their form in the state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa

from sqlext.operators.emit.aggregate_states import Aggregation, States, restored, stored, taken
from sqlext.operators.emit.firing_points import NOTHING
from sqlext.operators.emit.plan import EmitOperatorPlan
from sqlext.operators.emit.triggers import Columns, empty_columns, stored_columns
from sqlext.operators.emit.whole import partial_fields
from sqlext.operators.rows.arrow import are_valid, as_arrow, as_numpy, one_chunk

_NUMBERS = ("start", "end", "count", "fired", "news")
_ARRAYS = (*_NUMBERS, "was_on_time")


def pane_schema(plan: EmitOperatorPlan) -> pa.Schema:
    """The columns of the state that hold panes: the keys, `_fields`, the partial aggregates."""
    keys = (plan.schema.field(k) for k in plan.keys)
    return pa.schema([*keys, *_fields(plan), *(field for partial in partial_fields(plan) for field in partial)])


def _fields(plan: EmitOperatorPlan) -> list[pa.Field]:
    """The columns that every pane has, and the columns of triggers: integers, was_on_time, floating-point numbers."""
    own = [(column.name, column.type) for column in stored_columns(plan.emit)]
    integers = [(name, pa.int64()) for name in _NUMBERS] + [(name, kind) for name, kind in own if kind == pa.int64()]
    others = [(name, kind) for name, kind in own if kind != pa.int64()]
    return [pa.field(f"__{name}", kind) for name, kind in (*integers, ("was_on_time", pa.bool_()), *others)]


@dataclass(frozen=True, kw_only=True)
class Panes:
    """n panes; `code: int64[n]` numbers their keys in this step, `keys` are their values.

    - `start`, `end`: the window; for a session, as far as its rows show;
    - `count`: how many rows it has had; `fired`: how often it has fired;
    - `news`: the time of its last row since it last fired, or NOTHING;
    - `was_on_time`: whether it has fired as a complete window;
    - `own`: the columns of triggers, by name;
    - `partials`: the partial aggregates of each call: over all rows or, with DISCARDING, over the rows since it last
      fired.
    """

    code: np.ndarray
    keys: pa.Table
    start: np.ndarray
    end: np.ndarray
    count: np.ndarray
    fired: np.ndarray
    news: np.ndarray
    was_on_time: np.ndarray
    own: Columns
    partials: tuple[States, ...]

    def __len__(self) -> int:
        return len(self.code)

    def take(self, at: np.ndarray) -> Panes:
        """The panes at these indexes."""
        arrays = {name: getattr(self, name)[at] for name in ("code", *_ARRAYS)}
        own = {name: column[at] for name, column in self.own.items()}
        partials = tuple(taken(states, at) for states in self.partials)
        return replace(self, **arrays, own=own, keys=self.keys.take(as_arrow(at)), partials=partials)

    def table(self, plan: EmitOperatorPlan) -> pa.Table:
        """The panes as `pane_schema` stores them."""
        arrays = {**{name: getattr(self, name) for name in _ARRAYS}, **self.own}
        known = [as_arrow(arrays[field.name.removeprefix("__")]) for field in _fields(plan)]
        partials = [
            column
            for states, fields in zip(self.partials, partial_fields(plan))
            for column in stored(states, tuple(field.type for field in fields))
        ]
        return pa.Table.from_arrays([*self.keys.columns, *known, *partials], schema=pane_schema(plan))


def stored_panes(table: pa.Table, code: np.ndarray, plan: EmitOperatorPlan) -> Panes:
    """The panes of the state; `code`: the numbers of their keys."""
    columns = [one_chunk(column) for column in table.columns]
    rest = iter(columns[len(plan.keys) :])
    known = {field.name.removeprefix("__"): next(rest) for field in _fields(plan)}
    own = {column.name: _filled(known.pop(column.name), column.empty) for column in stored_columns(plan.emit)}
    arrays = {name: as_numpy(column).copy() for name, column in known.items()}
    partials = tuple(restored([next(rest) for _ in fields]) for fields in partial_fields(plan))
    return Panes(code=code, keys=table.select(plan.keys), own=own, partials=partials, **arrays)


def _filled(column: pa.Array, empty: int | float) -> np.ndarray:
    """A column of a trigger, which is NULL in states from before triggers stored it."""
    return np.where(are_valid(column), as_numpy(column), empty)


def new_panes(
    code: np.ndarray,
    keys: pa.Table,
    start: np.ndarray,
    end: np.ndarray,
    aggregations: Sequence[Aggregation],
    columns: Columns,
) -> Panes:
    """Panes that have had no row yet. Their columns of triggers have the same names as in other panes."""
    n = len(code)
    full = partial(np.full, n)
    return Panes(
        code=code,
        keys=keys,
        start=start,
        end=end,
        count=full(0),
        fired=full(0),
        news=full(NOTHING),
        was_on_time=np.zeros(n, np.bool_),
        own=empty_columns(columns, n),
        partials=tuple(a.empty(n) for a in aggregations),
    )


def joined(parts: Sequence[Panes]) -> Panes:
    """The panes of all parts, in the order of the parts."""
    arrays = {name: np.concatenate([getattr(p, name) for p in parts]) for name in ("code", *_ARRAYS)}
    own = {name: np.concatenate([p.own[name] for p in parts]) for name in parts[0].own}
    partials = tuple(
        tuple(np.concatenate(columns) for columns in zip(*states)) for states in zip(*(p.partials for p in parts))
    )
    return Panes(keys=pa.concat_tables([p.keys for p in parts]), own=own, partials=partials, **arrays)
