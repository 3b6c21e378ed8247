"""Lowers a clause for a search that explains itself: each conjunct of DEFINE, and each of its operands, has a value.

The task is the task that `lower_clause` gives, except that no conjunct becomes a bit of a mask or a bound: the search
evaluates all of them, one by one. MEASURES has no part in it.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.expressions.scalar_tree import Scalar
from sqlext.operators.match.plan import Bound, OperandColumn
from sqlext.pattern.task.task import Condition, Task
from sqlext.rewriter.conditions.compiled_condition import chain
from sqlext.rewriter.conditions.interpreted_condition import InterpretedCondition
from sqlext.rewriter.lowering.input_query import Context, InputRelation, order_by, partition_by
from sqlext.rewriter.lowering.lower_bounds import within
from sqlext.rewriter.lowering.lower_clause import needs_cep, program_of, task_of
from sqlext.rewriter.lowering.lower_define import DefineLowering
from sqlext.rewriter.lowering.match_plan import InputColumn
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.scalars.expression import all_conjuncts, parse
from sqlext.rewriter.scalars.references import Item, place_of
from sqlext.rewriter.text.fragments import in_line
from sqlext.rewriter.text.splice import Source, Text


@dataclass(frozen=True, kw_only=True)
class ComparedValue:
    """What a conjunct compares: its text and its value."""

    text: str
    value: Scalar


@dataclass(frozen=True, kw_only=True)
class Conjunct:
    """A conjunct of DEFINE, which is characters `start` to `stop` (exclusive) of the user's text."""

    text: str
    start: int
    stop: int
    condition: Scalar
    operands: tuple[ComparedValue, ...]


@dataclass(frozen=True, kw_only=True)
class SearchPlan:
    """A clause, its task, and the columns that the search reads: `columns` of the input query, of which the conditions
    read `operands`, and WITHIN reads the columns of `bounds`. `conjuncts[l]`: the conjuncts of label l. `partition_by`,
    `order_by`: as in `MatchPlan`."""

    clause: MatchClause
    task: Task
    columns: tuple[InputColumn, ...]
    operands: tuple[OperandColumn, ...]
    bounds: tuple[Bound, ...]
    conjuncts: tuple[tuple[Conjunct, ...], ...]
    partition_by: tuple[Text, ...]
    order_by: tuple[tuple[Text, str], ...]


def lower_conjuncts(clause: MatchClause, source: Source, relation: InputRelation) -> SearchPlan:
    """The plan of a clause. Raises BindError and UnsupportedError, as `lower` does for PATTERN, WITHIN and DEFINE."""
    labels = clause.labels
    context = Context(clause=clause, source=source, relation=relation, needs_cep=needs_cep(clause))
    conditions = DefineLowering(context)
    defined = conditions.definitions()
    parts = [_conjuncts(conditions, source, defined[key], i) if key in defined else () for i, key in enumerate(labels)]
    bounds = within(context)
    program, bits, holds = program_of(clause), (None,) * len(labels), tuple(map(all_of, parts))
    return SearchPlan(
        clause=clause,
        task=task_of(context, program, bits, holds, is_within=bool(bounds), strategy="reference"),
        columns=tuple(context.columns),
        operands=tuple(conditions.operands),
        bounds=tuple(bounds),
        conjuncts=tuple(parts),
        partition_by=partition_by(context),
        order_by=order_by(context),
    )


def _conjuncts(conditions: DefineLowering, source: Source, items: list[Item], label: int) -> tuple[Conjunct, ...]:
    parts = conditions.parts(items, label)
    interpreted = InterpretedCondition(parts)

    def text(start: int, stop: int) -> str:
        return in_line(place_of(items[start:stop], source).written)

    result = []
    for lo, hi in all_conjuncts(items, 0, len(items)):
        node, place = parse(items, lo, hi), place_of(items[lo:hi], source)
        condition = interpreted.value(node, "boolean")
        values = {text(x.start, x.stop): value for x, value in interpreted.operands(node)}
        operands = tuple(ComparedValue(text=written, value=value) for written, value in values.items())
        result.append(
            Conjunct(text=text(lo, hi), start=place.start, stop=place.stop, condition=condition, operands=operands)
        )
    return tuple(result)


def all_of(conjuncts: tuple[Conjunct, ...]) -> Condition | None:
    """The condition that all conjuncts hold; None if there are none."""
    if not conjuncts:
        return None
    return chain("and", [conjunct.condition for conjunct in conjuncts], "bool")
