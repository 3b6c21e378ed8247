"""The plan of a clause: what Spark computes before the match, the task, and what Spark computes behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from sqlext.expressions.aggregates.bind import BoundAggregate
from sqlext.pattern.task import Aggregate, Condition, Navigation, Task
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.text.splice import Text, join

PARTITION_START = "__first"  # Boolean input column: a partition begins here
WITHIN_KEY, WITHIN_END = "__key", "__end"  # for WITHIN: the first ORDER BY key, and that key plus the bound
ROW_TIME = "__time"  # for MATCH_ROWTIME() and streams without WITHIN: the first ORDER BY key
LATE_ROW = "__row"  # for streams with a table for late rows: the whole row of the relation as JSON
FAILURE = "__failure"  # for streams: what could not be computed on the row, NULL if nothing failed
NOT_COMPUTED = "__not_computed_"  # before the name of a column: Boolean, true on rows where it could not be computed
AGGREGATE_SLOTS = ("aggregate", "array", "fold", "members")  # kinds of slots
CLASSIFIER_FIELD = "__classifier"  # among Slot.columns of members: CLASSIFIER() of each row
IS_MATCHED = "__is_matched"  # Boolean output column with WITH UNMATCHED ROWS
WINDOW = "__rows"  # the name of the window over a partition's rows


@dataclass(frozen=True)
class InputColumn:
    """A column of the input query: the value of `text` on every input row. `total`: an expression that Spark computes
    instead, with the same value wherever `text` does not overflow."""

    name: str
    text: Text
    total: Text | None = None

    @property
    def computed(self) -> Text:
        """What Spark computes."""
        return self.text if self.total is None else self.total


class OperandColumn(NamedTuple):
    """A column of the input query that conditions read.

    `kind`: how workers store its values: "bool", "int", "float", "rank" (`spark_types.kind_of`), or "object": as
    `expressions.values` represents them.
    """

    name: str
    spark_type: str
    kind: str


@dataclass(frozen=True)
class Mask:
    """A condition that a row decides alone or with its neighbours.

    `text` is the whole condition, with window functions where it reads neighbours. If workers can compute that part
    from operand columns, it is `neighbours`, and `rest` is the text of the other conjuncts.
    """

    text: Text
    rest: Text
    neighbours: Condition | None = None


@dataclass(frozen=True, kw_only=True)
class Bound:
    """The limit of a match: column `key` of each row is less than column `end` of the first row (or equal, if
    `is_inclusive`). `admits_start`: the first row is not tested. `written`: the conjunct of DEFINE that sets the bound,
    empty for WITHIN. `last`: the last value of the columns' type in SQL; an `end` with this value bounds nothing. Empty
    if it does.
    """

    key: str = WITHIN_KEY
    end: str = WITHIN_END
    is_inclusive: bool = False
    admits_start: bool = False
    written: str = ""
    last: str = ""


@dataclass(frozen=True, kw_only=True)
class FrameEnd:
    """How many rows behind the current one the frame of a window reaches: `rows`, or what input column `column` holds.

    Without either it reaches the end of the partition.
    """

    rows: int | None = None
    column: str | None = None


@dataclass(frozen=True, kw_only=True)
class Slot:
    """A column that workers compute for every output row.

    `kind`: "value" (of `columns[0]` on the row that `navigation` reaches), "classifier", "match number",
    "sequence number", "timed out", "rowtime" (`columns`: the row's time and, with WITHIN, its end), "aggregate",
    "array" (array_agg), "fold" (an aggregate that workers compute row by row: `fold`, over columns of the types
    `fold.column_types` and, if `filter` is not None, the condition of FILTER) or "members" (an array of structs
    `a0, a1, …` of `columns`, from which Spark computes `call`, where an int stands for a column, over the rows for
    which column `filter` holds). Only "value" and "classifier" read `navigation`, only the last four read `aggregate`.

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
    call: tuple[Text | int, ...] = ()
    filter: int | None = None


@dataclass(frozen=True)
class ShownColumn:
    """A column of the result: Spark computes `text` over the names of slots and carried input columns."""

    name: str
    text: Text


@dataclass(frozen=True, kw_only=True)
class MatchPlan:
    """Everything that the engine needs to run a clause.

    `relation` is the input as written and `input_types` its columns with their Spark types. `columns` are those of the
    input query; `carried` names the ones that the result shows for a row of the match (with ONE ROW PER MATCH, the
    first row). `filters` are conditions that leave out whole partitions without changing the result. `order_by` holds
    (expression, direction). `masks[b]` is the condition of bit b; `operands` are the columns that conditions read
    (Rows.columns). All `bounds` hold at once. Without `needs_window`, workers compute what
    masks read of neighbouring rows, and find the partitions by comparing keys. `frame_end` is that of a window.
    """

    clause: MatchClause
    relation: Text
    columns: tuple[InputColumn, ...]
    carried: tuple[str, ...]
    masks: tuple[Mask, ...]
    partition_by: tuple[Text, ...]
    order_by: tuple[tuple[Text, str], ...]
    task: Task
    operands: tuple[OperandColumn, ...]
    slots: tuple[Slot, ...]
    shown: tuple[ShownColumn, ...]
    bounds: tuple[Bound, ...] = ()
    needs_window: bool = True
    filters: tuple[Text, ...] = ()
    input_types: tuple[tuple[str, str], ...] = ()
    frame_end: FrameEnd = FrameEnd()

    @property
    def input(self) -> Text:
        """The text behind FROM in the input query: the relation with its filters."""
        if not self.filters:
            return self.relation
        return join(self.relation, "\n WHERE ", join(*self.filters, separator="\n   AND "))

    @property
    def window(self) -> Text:
        """`PARTITION BY … ORDER BY …`"""
        keys = join("PARTITION BY ", join(*self.partition_by, separator=", "), " ") if self.partition_by else ""
        return join(keys, "ORDER BY ", join(*(join(*key) for key in self.order_by), separator=", "))
