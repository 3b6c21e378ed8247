"""Compiles the text of a rule, with its types, without Spark, for CREATE PATTERN RULE and for the workers of a stream.

A rule is a MATCH_RECOGNIZE without PARTITION BY and ORDER BY, which MATCH_RULES gives. It is lowered like any other
clause, but each value that Spark would compute for a row becomes a tree of `expressions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlext.aggregates.registry import kernel_result
from sqlext.errors import UnsupportedError
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.python_functions import PythonFunction
from sqlext.expressions.scalar_tree import Column, Scalar
from sqlext.operators.match.plan import Slot
from sqlext.operators.rows.columns import CLASSIFIER_FIELD
from sqlext.operators.rules.limits import MAX_LENGTH
from sqlext.rewriter.lowering import stream_checks
from sqlext.rewriter.lowering.input_query import InputRelation
from sqlext.rewriter.lowering.lower_clause import lower
from sqlext.rewriter.lowering.match_plan import MatchPlan
from sqlext.rewriter.match.check import check
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.rules.rule_text import DIVIDE_HINT, check_size, read_rule
from sqlext.rewriter.scalars.static_binder import StaticBinder
from sqlext.rewriter.text.splice import Source

if TYPE_CHECKING:
    from sqlext.operators.rules.plan import RulesPlan


@dataclass(frozen=True, kw_only=True)
class CompiledRule:
    """A rule as trees that a worker evaluates.

    `columns` holds the tree of each column that workers read, by name; `masks` the tree of each bit; `measures` the
    tree of each measure, over the names of slots.
    """

    clause: str
    plan: MatchPlan
    columns: Mapping[str, Scalar]
    masks: tuple[Scalar, ...]
    measures: Mapping[str, Scalar]


@dataclass(frozen=True, kw_only=True)
class RuleEvents:
    """The events that a rule reads, and the session that compiles it.

    `columns`: the name and simple type of each column; `keys`, `order`: the columns in PARTITION BY and ORDER BY of
    MATCH_RULES, the event time first, both empty if they are not known yet; `functions`: Python UDFs by their names in
    lower case; `max_length`: characters that a rule may have; `chars`: the lengths of CHAR columns.
    """

    columns: Sequence[tuple[str, str]]
    keys: Sequence[str] = ()
    order: Sequence[str]
    settings: ExecutionSettings
    functions: Mapping[str, PythonFunction] = field(default_factory=dict)
    max_length: int = MAX_LENGTH
    chars: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def of(rules: RulesPlan) -> RuleEvents:
        """The events of a stream with MATCH_RULES."""
        return RuleEvents(
            columns=rules.columns,
            keys=rules.keys,
            order=rules.order,
            settings=rules.settings,
            functions=rules.functions,
            max_length=rules.max_length,
            chars=rules.chars,
        )

    def binder(self, text: str) -> StaticBinder:
        """Computes expressions of a rule, which are in `text`, over the events."""
        return StaticBinder(
            columns=dict(self.columns),
            settings=self.settings,
            functions=self.functions,
            text=text,
            chars=self.chars,
        )

    def relation(self, text: str) -> InputRelation:
        """The events as the input of a rule, whose expressions are in `text`."""
        return InputRelation(
            columns=tuple(self.columns),
            resolver=self.binder(text),
            is_aggregate=lambda name: False,
            python_function=lambda name: self.functions.get(name.lower()),
            settings=self.settings,
            is_streaming=True,
            chars=self.chars,
        )


def compile_rule(clause: str, events: RuleEvents) -> CompiledRule:
    """The compiled rule of a `clause` `MATCH_RECOGNIZE ( … )`.

    Raises ParseError, BindError and UnsupportedError, with their places in a text that begins with `clause`.

    >>> rule = compile_rule("MATCH_RECOGNIZE (MEASURES LAST(B.v) AS v PATTERN (A B) DEFINE B AS v > 10)",
    ...                     RuleEvents(columns=[("k", "string"), ("ts", "timestamp"), ("v", "int")], keys=["k"],
    ...                                order=["ts"], settings=ExecutionSettings(is_ansi=True, time_zone="UTC")))
    >>> rule.measures["v"].type, rule.masks[0].function
    ('int', '>')
    """
    check_size(clause, events.max_length)
    try:
        return _compiled(clause, read_rule(clause, events.keys, events.order), events)
    except RecursionError:
        raise UnsupportedError("RULE_SIZE", "an expression of this rule is nested too deep", hint=DIVIDE_HINT) from None


def _compiled(clause: str, parsed: MatchClause, events: RuleEvents) -> CompiledRule:
    settings, functions, text = events.settings, events.functions, parsed.whole.source
    check(parsed)
    texts = events.binder(text)
    plan = lower(parsed, Source(text), events.relation(text))
    stream_checks.check_plan(plan)
    columns = {column.name: texts.tree(column.computed) for column in plan.columns}
    slots = {slot.name: slot_type(slot, {name: tree.type for name, tree in columns.items()}) for slot in plan.slots}
    keys = {name: columns[name].type for name in plan.carried}
    lengths = {name: events.chars.get(tree.name) for name, tree in columns.items() if isinstance(tree, Column)}
    of_slots = {slot.name: lengths.get(slot.columns[0]) for slot in plan.slots if slot.kind == "value" and slot.columns}
    chars = {name: length for name, length in {**lengths, **of_slots}.items() if length is not None}
    results = StaticBinder(columns={**slots, **keys}, settings=settings, functions=functions, text=text, chars=chars)
    measures = {shown.name: results.tree(shown.text) for shown in plan.shown[len(plan.carried) :]}
    masks = tuple(texts.tree(mask.rest) for mask in plan.masks)
    return CompiledRule(clause=clause, plan=plan, columns=columns, masks=masks, measures=measures)


def slot_type(slot: Slot, columns: Mapping[str, str]) -> str:
    """The Spark name of the type of a slot, the same type as in `run_batch.output_schema`.

    `columns` are the types of the columns that workers read.

    >>> slot_type(Slot(kind="value", columns=("__a0",)), {"__a0": "int"}), slot_type(Slot(kind="match number"), {})
    ('int', 'bigint')
    """
    names = slot.columns[:: len(slot.by_label) or 1]
    types = ["string" if name == CLASSIFIER_FIELD else columns[name] for name in names]
    if slot.kind in ("value", "rowtime"):
        return types[0]
    if slot.kind in ("classifier", "timed out"):
        return {"classifier": "string", "timed out": "boolean"}[slot.kind]
    if slot.fold is not None:
        return slot.fold.result
    if slot.kind == "array":
        return f"array<{types[0] if types else 'string'}>"
    if slot.kind == "aggregate" and types:
        return kernel_result(slot.aggregate.function, types[0]) or types[0]
    return "bigint"
