"""A clause to explain, the clauses that are like it except for one relaxation, and their rows. No Spark here.

The columns that a search reads are texts over the rows of the input, which the caller computes: Spark, or
`expressions` in tests. The order of the rows is found here, because another order of ties is one of the relaxations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sqlext.errors import SqlExtError
from sqlext.operators.match.plan import MatchOperatorPlan
from sqlext.operators.match.read_rows import read_rows
from sqlext.operators.rows.arrow import as_arrow, to_arrow, to_values
from sqlext.operators.rows.columns import PARTITION_START, WITHIN_END, WITHIN_KEY, SortKey
from sqlext.operators.rows.row_order import ranked
from sqlext.pattern.cep.cep_task import as_mask
from sqlext.pattern.conditions.conditions import Path, holds
from sqlext.pattern.task.task import Condition, Rows, Task, Values
from sqlext.pattern.why.local_conditions import is_local, unlabelled
from sqlext.rewriter.lowering.input_query import InputRelation
from sqlext.rewriter.lowering.lower_conjuncts import Conjunct, SearchPlan, all_of, lower_conjuncts
from sqlext.rewriter.lowering.operator_plan import are_nulls_last, is_descending
from sqlext.rewriter.match.check import check
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.match.parse_match import parse_match
from sqlext.rewriter.match.relaxations import Relaxation, edited
from sqlext.rewriter.match.sites import scan
from sqlext.rewriter.text.splice import Edit, Source, join
from sqlext.rewriter.text.tokens import tokenize


@dataclass(frozen=True, kw_only=True)
class WhyClause:
    """Clause number `index` of the statement `text`, whose bound parameters are `parameters`."""

    text: str
    index: int
    relation: InputRelation
    parameters: tuple[Edit, ...] = ()

    def plan(self) -> SearchPlan:
        """The plan of the clause as it is written. Raises SqlExtError."""
        return lower_conjuncts(self.parsed(self.text), Source(self.text, self.parameters), self.relation)

    def relaxed(self, relaxation: Relaxation) -> SearchPlan | None:
        """The plan of the changed clause; None if the language or sqlext refuses it."""
        text = edited(self.text, relaxation.edits)
        source = Source(text, tuple(_moved(self.parameters, relaxation.edits)))
        try:
            return lower_conjuncts(self.parsed(text), source, self.relation)
        except SqlExtError:
            return None

    def type_of(self, text: str) -> str:
        """The type of an expression over a row of the input."""
        return self.relation.resolver.types([join(text)])[0]

    def parsed(self, text: str) -> MatchClause:
        clause = parse_match(text, tokenize(text), scan(text)[self.index])
        check(clause)
        return clause


def _moved(parameters: Sequence[Edit], edits: Sequence[Edit]) -> list[Edit]:
    """The parameters at their places in the edited text, without those that an edit has removed."""
    kept = []
    for parameter in parameters:
        if any(edit.start <= parameter.start and parameter.stop <= edit.stop for edit in edits):
            continue
        by = sum(len(str(e.replacement)) - (e.stop - e.start) for e in edits if e.stop <= parameter.start)
        kept.append(replace(parameter, start=parameter.start + by, stop=parameter.stop + by))
    return kept


@dataclass(frozen=True, kw_only=True)
class PartitionRows:
    """The rows of one partition, in any order.

    `columns`: the values of each text over the rows; `sort`: the texts that order them, with their directions, of which
    the first `keys` are the keys of ORDER BY; `is_chosen: bool[n]`: the rows to explain. `first`: how many
    rows of the partition come before these rows, and `total`: how many it has.
    """

    columns: Mapping[str, pa.Array]
    sort: tuple[tuple[str, SortKey], ...]
    keys: int
    is_chosen: np.ndarray
    first: int = 0
    total: int = 0

    @property
    def is_whole(self) -> bool:
        return self.total == len(self.is_chosen)

    def order(self, before_ties: Sequence[tuple[str, SortKey]] = ()) -> np.ndarray:
        """`int64[n]`: the rows in order; `before_ties`: what sorts between the keys of ORDER BY and the other texts."""
        ranks = ranks_of(self.columns, [*self.sort[: self.keys], *before_ties, *self.sort[self.keys :]])
        return np.lexsort(ranks[::-1]) if ranks else np.arange(len(self.is_chosen))

    def ties(self) -> np.ndarray:
        """`int64[n]`: a number for each row, equal for rows that are equal on all keys of ORDER BY."""
        return numbered(ranks_of(self.columns, self.sort[: self.keys]), len(self.is_chosen))


def ranks_of(columns: Mapping[str, pa.Array], sort: Sequence[tuple[str, SortKey]]) -> list[np.ndarray]:
    """`int64[n]` for each text that sorts rows: smaller for rows that come first. Maps have no order."""
    return [ranked(_numbers(columns[text]), key) for text, key in sort if not pa.types.is_map(columns[text].type)]


def _numbers(values: pa.Array) -> pa.Array:
    """Values of a nested type as numbers in the order of the values; all others as they are.

    >>> _numbers(pa.array([[2], None, [1, 5], [1], [1, None]])).to_pylist()
    [3, None, 2, 0, 1]
    """
    if not pa.types.is_nested(values.type):
        return values
    parts = [None if value is None else _comparable(value) for value in values.to_pylist()]
    numbers = {part: number for number, part in enumerate(sorted({part for part in parts if part is not None}))}
    return pa.array([None if part is None else numbers[part] for part in parts], pa.int64())


def _comparable(value: Any) -> tuple:
    """What Python orders as Spark orders the values of a column: NULL first, NaN last, fields and elements in turn."""
    if value is None:
        return (0,)
    if isinstance(value, (dict, list)):
        return (1, tuple(map(_comparable, value.values() if isinstance(value, dict) else value)))
    return (2,) if value != value else (1, value)


def numbered(ranks: Sequence[np.ndarray], n: int) -> np.ndarray:
    """`int64[n]`: a number for each row, equal for rows that are equal in all ranks."""
    if not ranks:
        return np.zeros(n, np.int64)
    return np.unique(np.stack(ranks, axis=1), axis=0, return_inverse=True)[1].reshape(-1)


# by the order of the rows, variable and text of a conjunct: the rows on which it holds
KnownTruth = dict[tuple[str, str, str], np.ndarray]


def searched(
    plan: SearchPlan,
    partition: PartitionRows,
    order: np.ndarray,
    known: KnownTruth,
    order_name: str = "",
    distance: int | None = None,
) -> tuple[Task, Rows]:
    """The task of a plan and the rows of a partition, in this order, as a search reads them.

    What one row and its neighbours decide becomes a bit of the mask. It is evaluated once and kept in `known`, under
    the name of the order, because the clauses with one change share most of their conjuncts. `distance`: the bound of
    WITHIN, where it is not among the columns.
    """
    rows = _rows_of(plan, partition, order, distance)
    bits: list[int | None] = []
    conditions: list[Condition | None] = []
    columns: list[np.ndarray] = []
    for label, conjuncts in enumerate(plan.conjuncts):
        local = tuple(c for c in conjuncts if is_local(c.condition, label))
        conditions.append(all_of(tuple(c for c in conjuncts if c not in local)))
        bits.append(len(columns) if local else None)
        if local:
            name = plan.task.program.labels[label]
            columns.append(np.logical_and.reduce([_truth(c, rows, name, order_name, known) for c in local]))
    task = replace(plan.task, bits=tuple(bits), conditions=tuple(conditions))
    return task, replace(rows, mask=as_mask(columns, len(order))) if columns else rows


def _truth(conjunct: Conjunct, rows: Rows, name: str, order_name: str, known: KnownTruth) -> np.ndarray:
    """`bool[n]`: the rows on which a conjunct holds, which the row and its neighbours decide."""
    key = (order_name, name, conjunct.text)
    if key not in known:
        n = int(rows.bounds[-1])
        paths = (Path(rows=rows, names=(name,), partition=(0, n), start=row, labels=(0,), number=1) for row in range(n))
        free = unlabelled(conjunct.condition)
        known[key] = np.fromiter((holds(free, path) for path in paths), np.bool_, n)
    return known[key]


def _rows_of(plan: SearchPlan, partition: PartitionRows, order: np.ndarray, distance: int | None) -> Rows:
    """The rows of a partition in this order."""
    at = as_arrow(order)
    columns = {c.name: partition.columns[str(c.computed)].take(at) for c in plan.columns if c.name != WITHIN_END}
    for column in plan.columns:
        if column.name == WITHIN_END:
            known = partition.columns.get(str(column.computed))
            columns[WITHIN_END] = _later(columns[WITHIN_KEY], distance) if known is None else known.take(at)
    columns[PARTITION_START] = as_arrow(np.arange(len(order)) == 0)
    worker = MatchOperatorPlan(task=plan.task, operands=plan.operands, bounds=plan.bounds)
    return replace(read_rows(columns, worker), errors={})


def _later(key: pa.Array, distance: int | None) -> pa.Array:
    """The key plus a distance, in the unit of the key."""
    assert distance is not None
    values = to_values(key)
    return to_arrow(Values(values.values + distance, values.valid), key.type)


def sort_keys(plan: SearchPlan) -> tuple[tuple[str, SortKey], ...]:
    """The texts that order the rows of a partition, with their directions."""
    return tuple((str(text), SortKey("", is_descending(way), are_nulls_last(way))) for text, way in plan.order_by)
