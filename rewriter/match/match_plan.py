"""The plan of a clause: what Spark computes before matching, what is matched, what is made of the matches."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.pattern.task import Aggregate, Condition, Navigation, Task
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.text.splice import Text, join

PARTITION_START = "__first"  # Boolean input column: a partition begins here
WITHIN_KEY, WITHIN_END = "__key", "__end"  # for WITHIN: the first ORDER BY key, and that key plus the bound
ROW_TIME = "__time"  # for MATCH_ROWTIME() and streams without WITHIN: the first ORDER BY key
LATE_ROW = "__row"  # for streams with a table for late rows: the whole row of the relation as JSON
IS_MATCHED = "__is_matched"  # Boolean output column with WITH UNMATCHED ROWS
WINDOW = "__rows"  # the name of the window over a partition's rows


@dataclass(frozen=True)
class InputColumn:
    """`text` is computed by Spark on every input row."""

    name: str
    text: Text


@dataclass(frozen=True)
class Mask:
    """A condition that a row decides alone, or with its neighbours.

    `text` is all of it, with window functions where it reads neighbours. Where workers can compute that part from
    operand columns, `neighbours` is it, and `rest` the text of what remains.
    """

    text: Text
    rest: Text
    neighbours: Condition | None = None


@dataclass(frozen=True, kw_only=True)
class Bound:
    """How far a match may reach: to rows whose column `key` is less than the column `end` of its first row (or equal,
    if `is_inclusive`). `admits_start`: the first row itself always may be mapped. `written`: the conjunct of DEFINE
    that says so, empty for WITHIN.
    """

    key: str = WITHIN_KEY
    end: str = WITHIN_END
    is_inclusive: bool = False
    admits_start: bool = False
    written: str = ""


@dataclass(frozen=True, kw_only=True)
class Slot:
    """A column that a worker makes for every output row.

    `kind`: "value" (of `columns[0]` on the row that `navigation` reaches), "classifier", "match number",
    "sequence number", "rowtime" (`columns`: the row's time and, with WITHIN, where it ends), "aggregate" (computed in
    the worker), "array" (array_agg in the worker) or "members" (an array of structs `a0, a1, …` of `columns`, from
    which Spark then computes `call`; an int in it stands for a column). Only "value" and "classifier" read
    `navigation`, only the last three `aggregate`.
    """

    kind: str
    name: str = ""
    columns: tuple[str, ...] = ()
    navigation: Navigation = Navigation(0)
    aggregate: Aggregate = Aggregate("count")
    call: tuple[Text | int, ...] = ()


@dataclass(frozen=True)
class ShownColumn:
    """A column of the result: `text` over the names of slots and carried input columns."""

    name: str
    text: Text


@dataclass(frozen=True, kw_only=True)
class MatchPlan:
    """`columns` of the input query over `relation`; `carried` are the names of those that are shown for a row of the
    match (its first one, with ONE ROW PER MATCH); `masks[b]` is the condition of bit b; `operands` name the columns
    that conditions read (Rows.columns), with their Spark types; `order_by` are (expression,
    direction), `window` is `PARTITION BY … ORDER BY …`; all `bounds` hold. Without
    `needs_window` workers compute what masks read of neighbours, and see from the keys where a partition begins.
    `filters` are conditions that leave out whole partitions; what is asked for is the same with and without them.
    `input_types` are the relation's columns with their Spark types."""

    clause: MatchClause
    relation: Text
    columns: tuple[InputColumn, ...]
    carried: tuple[str, ...]
    masks: tuple[Mask, ...]
    partition_by: tuple[Text, ...]
    order_by: tuple[tuple[Text, str], ...]
    task: Task
    operands: tuple[tuple[str, str], ...]
    slots: tuple[Slot, ...]
    shown: tuple[ShownColumn, ...]
    bounds: tuple[Bound, ...] = ()
    needs_window: bool = True
    filters: tuple[Text, ...] = ()
    input_types: tuple[tuple[str, str], ...] = ()

    @property
    def input(self) -> Text:
        """What stands behind FROM in the input query: the relation with its filters."""
        if not self.filters:
            return self.relation
        return join(self.relation, "\n WHERE ", join(*self.filters, separator="\n   AND "))

    @property
    def window(self) -> Text:
        keys = join("PARTITION BY ", join(*self.partition_by, separator=", "), " ") if self.partition_by else ""
        return join(keys, "ORDER BY ", join(*(join(*key) for key in self.order_by), separator=", "))
