"""A stateful operator of a stream, the state that it keeps, and its step. The step is pure: it uses neither Spark nor a
clock.

`bucket.py` runs an operator in Spark, and `arrivals.py` begins the step of each. This module is light, since the driver
imports it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

ROWS, KEYS = "rows", "keys"  # the tables that every state has; the events of every operator arrive as ROWS
# The columns of a failure, which are also the columns of the table of `sqlext.failed_rows`.
FAILURES = pa.schema([("time", pa.timestamp("us", "UTC")), ("error", pa.string()), ("row", pa.string())])
# 1970-01-01 00:00:00, where Spark's watermark begins. So rows up to 1970 are late at once: Spark stops a query that
# emits a row with such a time.
FIRST_WATERMARK = 0


def arriving_rows(schema: pa.Schema, extra: Sequence[str]) -> Mapping[str, pa.Schema]:
    """The only table that arrives at most operators: rows with these columns, and LATE_ROW and FAILURE if `extra` has
    them."""
    return {ROWS: pa.schema([*schema, *((name, pa.string()) for name in extra)])}


class State(NamedTuple):
    """`tables`: by name, each with the schema that the operator gives it; rows up to `watermark` (int64 microseconds)
    are decided."""

    tables: Mapping[str, pa.Table]
    watermark: int

    @property
    def rows(self) -> pa.Table:
        """The rows above the watermark, and the earlier rows that may still be read."""
        return self.tables[ROWS]

    @property
    def keys(self) -> pa.Table:
        """The stored values of each key, besides its rows."""
        return self.tables[KEYS]


class Change(NamedTuple):
    """The next content of a table: its rows where `keeps: bool[n]`, and then `added`."""

    keeps: np.ndarray
    added: pa.Table

    def of(self, table: pa.Table) -> pa.Table:
        """The next content of this table.

        >>> Change(np.array([True, False]), pa.table({"x": [3]})).of(pa.table({"x": [1, 2]}))["x"].to_pylist()
        [1, 3]
        """
        return pa.concat_tables([table.filter(pa.array(self.keeps)), self.added])

    def then(self, following: Change) -> Change:
        """Both changes as one.

        >>> first = Change(np.array([True, False]), pa.table({"x": [3]}))
        >>> both = first.then(Change(np.array([False, True]), pa.table({"x": [4]})))
        >>> both.keeps.tolist(), both.added["x"].to_pylist()
        ([False, False], [3, 4])
        """
        kept, keeps = int(self.keeps.sum()), self.keeps.copy()
        keeps[keeps] = following.keeps[:kept]
        added = self.added.filter(pa.array(following.keeps[kept:]))
        return Change(keeps, pa.concat_tables([added, following.added]))


class StepReport(Protocol):
    """What a step reports to the driver besides its metrics."""

    def text(self, bucket: int) -> bytes | None:
        """The text of the bucket of this number; None if there is nothing to report."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """The outcome of a step.

    `results`: (times, rows) that became decided; `late`: the rows that came too late; `failures`: the expressions that
    could not be computed, with the columns FAILURES; `changes`: the changes of tables of the state, other tables stay
    as they are; `watermark`: the watermark of the next state; `open_windows`: how many windows that state holds.
    """

    results: Sequence[tuple[np.ndarray, pa.RecordBatch]]
    late: pa.Table
    failures: pa.Table
    changes: Mapping[str, Change]
    watermark: int
    open_windows: int = 0
    report: StepReport | None = None

    def after(self, state: State) -> State:
        """The next state; `state` is the previous one."""
        changed = {name: change.of(state.tables[name]) for name, change in self.changes.items()}
        return State({**state.tables, **changed}, self.watermark)

    def then(self, following: Step) -> Step:
        """Both steps as one; `following` started from the state after this one."""
        both = self.changes.keys() & following.changes.keys()
        return Step(
            results=[*self.results, *following.results],
            late=pa.concat_tables([self.late, following.late]),
            failures=pa.concat_tables([self.failures, following.failures]),
            changes={
                **self.changes,
                **following.changes,
                **{name: self.changes[name].then(following.changes[name]) for name in both},
            },
            watermark=following.watermark,
            open_windows=following.open_windows,
            report=following.report,
        )


class Clock(NamedTuple):
    """`watermark`: no row up to it will arrive any more; `now`: the time of day, which only triggers on the clock read.
    Both are in int64 microseconds."""

    watermark: int
    now: int


class TimesBy(Enum):
    """The source of a row's time. The value is what Spark calls the mode of its timers."""

    EVENTS = "EventTime"  # a column of the row
    ARRIVAL = "None"  # the clock when the row arrives
    # As ARRIVAL, and the clock alone may decide something. Spark then runs micro-batches without end, for availableNow
    # too.
    ARRIVAL_AND_CLOCK = "ProcessingTime"


class Operator(Protocol):
    """An operator, which is pickled to executors.

    `inputs`: the columns of the rows that arrive, by name; `tables`: the columns of the tables of the state, ROWS and
    KEYS first; `time`: the column with the event time of a row.
    """

    @property
    def inputs(self) -> Mapping[str, pa.Schema]: ...

    @property
    def tables(self) -> Mapping[str, pa.Schema]: ...

    @property
    def time(self) -> str: ...

    @property
    def times_by(self) -> TimesBy: ...

    def advance(self, state: State, arrived: Mapping[str, pa.Table], clock: Clock) -> Step:
        """Run one step: the same rows in any portions give the same results. `clock.watermark` never goes back.

        Raises DataError as conditions and aggregates do, unless the plan of the operator skips failures.
        """


def first_state(tables: Mapping[str, pa.Schema], watermark: int = FIRST_WATERMARK) -> State:
    """The state before any row has arrived; rows up to `watermark` are late from the first step on."""
    return State({name: schema.empty_table() for name, schema in tables.items()}, watermark)


def fitted(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows with the columns of the schema. A column that the rows lack is NULL, and a column that the schema lacks
    is left out. A column of another type is cast, with NULL where a value does not fit.

    >>> fitted(pa.table({"a": [1], "b": [2]}), pa.schema([("b", pa.float64()), ("c", pa.string())])).to_pylist()
    [{'b': 2.0, 'c': None}]
    """
    if rows.schema == schema:
        return rows
    return pa.table([_column(rows, field) for field in schema], schema=schema)


def _column(rows: pa.Table, field: pa.Field) -> pa.Array | pa.ChunkedArray:
    if field.name not in rows.column_names:
        return pa.nulls(rows.num_rows, field.type)
    try:
        return rows.column(field.name).cast(field.type)
    except pa.ArrowException:
        return pa.nulls(rows.num_rows, field.type)
