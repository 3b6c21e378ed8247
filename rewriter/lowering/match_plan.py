"""The plan of a clause: what Spark computes before the match, the task, and what Spark computes after the match."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlext.expressions.function import SPARK_DEFAULTS, ExecutionSettings
from sqlext.operators.match.plan import Bound, FrameEnd, OperandColumn, Slot
from sqlext.pattern.task.task import Condition, Task
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.text.splice import Text, join
from sqlext.rewriter.text.where import where

if TYPE_CHECKING:  # it loads sqlglot, which a worker that matches does not need
    from sqlext.rewriter.scalars.row_filter import Pushable, RowFilter

WINDOW = "__rows"  # the name of the window over a partition's rows


@dataclass(frozen=True)
class InputColumn:
    """A column of the input query: the value of `text` on every input row.

    `total`: an expression that Spark computes instead: the end of WITHIN as elapsed time, or a value where `text`
    overflows. Checkpoints record `text`, which earlier versions computed.
    """

    name: str
    text: Text
    total: Text | None = None

    @property
    def computed(self) -> Text:
        """The expression that Spark computes."""
        return self.text if self.total is None else self.total


@dataclass(frozen=True)
class Mask:
    """A condition that one row, alone or with its neighbours, decides.

    `text` is the whole condition, with window functions where it reads neighbours. If workers can compute the part that
    reads neighbours from operand columns, that part is `neighbours`, and `rest` is the text of the other conjuncts.
    """

    text: Text
    rest: Text
    neighbours: Condition | None = None


@dataclass(frozen=True, kw_only=True)
class CountedConjunct:
    """A conjunct of the condition of a label in DEFINE, for EXPLAIN MATCH ANALYZE.

    `text`: what Spark computes on each row, with window functions where it reads neighbours; None if the conjunct
    depends on the match. `condition`: the same as what workers compute, where they do it instead of Spark. `operands`:
    (as written, what Spark computes) for each value that `text` compares.
    """

    label: int
    written: str
    text: Text | None = None
    condition: Condition | None = None
    operands: tuple[tuple[str, Text], ...] = ()


@dataclass(frozen=True)
class ShownColumn:
    """A column of the result: Spark computes `text` over the names of slots and carried input columns."""

    name: str
    text: Text


@dataclass(frozen=True, kw_only=True)
class MatchPlan:
    """Everything that the engine needs to run a clause.

    `relation` is the input as written, and `input_types` are its columns with their Spark types; `chars` are the
    lengths of those of type CHAR. `columns` are the columns of the input query; `carried` names the columns that the
    result shows for a row of the match (with ONE ROW PER MATCH, for its first row). `filters` remove rows without
    changing the result, and `pushable` tells by which columns a scan may filter. `order_by` contains pairs (expression,
    direction). `masks[b]` is the condition of bit b; `operands` are the columns that conditions read (Rows.columns).
    All `bounds` hold at once. Without `needs_window`, workers compute the parts of masks that read neighbouring rows,
    and find the partitions by comparing keys. `frame_end` is the end of a window's frame. `settings` are the session's.
    `conjuncts` are the conjuncts of DEFINE, except the ones that bound the match as WITHIN does.
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
    filters: tuple[RowFilter, ...] = ()
    pushable: Pushable
    input_types: tuple[tuple[str, str], ...] = ()
    chars: Mapping[str, int] = field(default_factory=dict)
    frame_end: FrameEnd = FrameEnd()
    settings: ExecutionSettings = SPARK_DEFAULTS
    conjuncts: tuple[CountedConjunct, ...] = ()

    @property
    def input(self) -> Text:
        """The text after FROM in the input query: the relation with its filters."""
        if not self.filters:
            return self.relation
        return join(self.relation, "\n ", where(join(*(f.sql for f in self.filters), separator="\n   AND ")))

    @property
    def key_hash(self) -> Text:
        """SQL for a hash of the key of a row."""
        return join("xxhash64(", join(*self.partition_by, separator=", "), ")")

    @property
    def window(self) -> Text:
        """The text `PARTITION BY … ORDER BY …`."""
        keys = join("PARTITION BY ", join(*self.partition_by, separator=", "), " ") if self.partition_by else ""
        return join(keys, "ORDER BY ", join(*(join(*key) for key in self.order_by), separator=", "))
