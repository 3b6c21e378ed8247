"""The state that a stream keeps for one key, and what it emits later even if no further row of the key arrives.

The functions are pure, and the same for every operator: its own step says what comes later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sqlext.operators.rows.row_order import key_codes
from sqlext.operators.stateful.operator import KEYS, ROWS, Clock, Operator, State
from sqlext.pattern.task.event_time import BEGINNING, NEVER

LAST_WATERMARK = NEVER - 1  # no bound that can end does so later


class Coming(NamedTuple):
    """A result row that is emitted as soon as the watermark reaches `time`, in int64 microseconds: row `row` of
    `rows`."""

    time: int
    rows: pa.RecordBatch
    row: int


def distinct_keys(states: Sequence[State], keys: Sequence[str]) -> pa.Table:
    """The keys of which something is kept, each once.

    >>> row = pa.table({"k": ["a", "b", "a"]})
    >>> distinct_keys([State({"rows": row, "keys": row.slice(1)}, 0)], ["k"])["k"].to_pylist()
    ['a', 'b']
    """
    tables = [state.tables[name].select(list(keys)) for state in states for name in (ROWS, KEYS)]
    table = pa.concat_tables(tables)
    if not keys:
        return table.slice(0, 0)
    return table.take(pa.array(np.unique(key_codes([table], keys)[0], return_index=True)[1]))


def of_key(state: State, keys: Sequence[str], key: pa.Table) -> State:
    """The state with the rows of one key in ROWS and KEYS; `key`: a table with one row, whose columns are `keys`.

    >>> row = pa.table({"k": ["a", "b"], "v": [1, 2]})
    >>> of_key(State({"rows": row, "keys": row.slice(1)}, 0), ["k"], pa.table({"k": ["b"]})).rows["v"].to_pylist()
    [2]
    """
    tables = dict(state.tables)
    for name in (ROWS, KEYS) if keys else ():
        code, own = key_codes([tables[name], key], keys)
        tables[name] = tables[name].filter(pa.array(code == own[0]))
    return State(tables, state.watermark)


def coming(operator: Operator, state: State) -> list[Coming]:
    """The result rows that come if no further row arrives, in the order of their times.

    Rows that only a further row decides are not among them. Triggers on the clock are left out, too.
    """
    nothing: Mapping[str, pa.Table] = {name: schema.empty_table() for name, schema in operator.inputs.items()}
    step = operator.advance(state, nothing, Clock(watermark=LAST_WATERMARK, now=BEGINNING))
    rows = [Coming(int(time), batch, i) for times, batch in step.results for i, time in enumerate(times.tolist())]
    return sorted(rows, key=lambda row: row.time)
