"""The part of a MatchPlan that workers need, pickled to them. This module is light, since the driver imports it too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlext.aggregates.bind import BoundAggregate
from sqlext.expressions.function import SPARK_DEFAULTS, ExecutionSettings
from sqlext.operators.rows.columns import WITHIN_END, WITHIN_KEY, SortKey
from sqlext.operators.rows.limits import Limits
from sqlext.pattern.task.task import Aggregate, Condition, Navigation, Task

AGGREGATE_SLOTS = ("aggregate", "array", "fold", "members")  # kinds of slots


class OperandColumn(NamedTuple):
    """A column of the input query that conditions read.

    `kind`: how workers store its values: "bool", "int", "float", "rank" (`spark_types.kind_of`), or "object" for the
    representation of `expressions.values`.
    """

    name: str
    spark_type: str
    kind: str


@dataclass(frozen=True, kw_only=True)
class Bound:
    """The limit of a match: column `key` of each row is less than column `end` of the first row (or equal, if
    `is_inclusive`).

    `admits_start`: the first row is not tested. `written`: the conjunct of DEFINE that sets the bound, empty for
    WITHIN. `last`: the last value of the columns' type in SQL, if an `end` with this value bounds nothing; empty if it
    bounds as any other value does.
    """

    key: str = WITHIN_KEY
    end: str = WITHIN_END
    is_inclusive: bool = False
    admits_start: bool = False
    written: str = ""
    last: str = ""


@dataclass(frozen=True, kw_only=True)
class FrameEnd:
    """How many rows after the current row the frame of a window reaches: `rows`, or the value of input column `column`.

    Without either it reaches the end of the partition.
    """

    rows: int | None = None
    column: str | None = None


@dataclass(frozen=True, kw_only=True)
class Slot:
    """A column that workers compute for every output row.

    `kind`: "value" (of `columns[0]` on the row that `navigation` reaches), "classifier", "match number", "sequence
    number", "timed out", "rowtime" (`columns`: the row's time and, with WITHIN, its end), "aggregate", "array"
    (array_agg), "fold" (an aggregate that workers compute row by row: `fold`, over columns of the types
    `fold.column_types` and, if `filter` is not None, the condition of FILTER) or "members" (an array of structs
    `a0, a1, …` of `columns`). For "members", Spark computes `call`, in which an int represents a column, from that
    array, over the rows for which column `filter` holds. Only "value" and "classifier" read `navigation`, only the last
    four read `aggregate`.

    `by_label`: the labels for which `columns` has each argument, all columns of an argument side by side; empty if an
    argument does not depend on the label of its row.
    """

    kind: str
    name: str = ""
    columns: tuple[str, ...] = ()
    by_label: tuple[int, ...] = ()
    navigation: Navigation = Navigation(argument=0)
    aggregate: Aggregate = Aggregate(function="count")
    fold: BoundAggregate | None = None
    call: tuple[Any, ...] = ()
    filter: int | None = None


MASK_BITS = 64  # bits of one mask column


@dataclass(frozen=True, kw_only=True)
class MatchOperatorPlan:
    """The task that workers run, the columns that they read, and the columns that they return.

    - `masks`: the integer columns that hold the bits of the task, MASK_BITS in each; none if all bits are set;
    - `neighbours`: (bit, condition on neighbouring rows that must hold as well);
    - `operands`: the columns that conditions read, by Navigation.argument;
    - `carried`: the input columns that are in the result; `partition_by`: the columns of the partition keys;
    - `sort`: the keys by which workers order the rows of a partition; empty if they come in order.
    """

    task: Task
    masks: tuple[str, ...] = ()
    neighbours: tuple[tuple[int, Condition], ...] = ()
    operands: tuple[OperandColumn, ...] = ()
    carried: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    sort: tuple[SortKey, ...] = ()
    slots: tuple[Slot, ...] = ()
    bounds: tuple[Bound, ...] = ()
    frame_end: FrameEnd = FrameEnd()
    settings: ExecutionSettings = SPARK_DEFAULTS
    limits: Limits = Limits()


def mask_names(bits: int) -> tuple[str, ...]:
    """The names of the mask columns for so many bits.

    >>> mask_names(65)
    ('__m0', '__m1')
    """
    return tuple(f"__m{i}" for i in range(-(-bits // MASK_BITS)))
