"""The parts of a plan as values that JSON can represent, for the fingerprint of a clause on a stream.

Their tags are fixed in this module and are not the names of classes and fields, so that code can be renamed without
invalidating the checkpoints of running queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.aggregates.bind import BoundAggregate
from sqlext.expressions.scalar_tree import Constant, Read, ScalarCall
from sqlext.expressions.spark_types import as_recorded
from sqlext.operators.match.plan import Slot
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.program.program import Done, Instruction, Jump, MatchEnd, MatchLabel, MatchStart, Split
from sqlext.pattern.task.task import (
    Aggregate,
    Condition,
    InterpretedAggregate,
    Literal,
    MachineCall,
    Navigation,
    Operand,
    Task,
)
from sqlext.rewriter.lowering.match_plan import InputColumn, MatchPlan


def former_parts(plan: MatchPlan, columns: Sequence[InputColumn]) -> list[Any]:
    """The values on which the fingerprints of earlier versions depended, except for the types of the input."""
    pattern, conditions = outline_of(plan.task)
    program, labels, skip, output, is_within, nfa = pattern
    return [
        [program, labels, conditions[0], conditions[1], skip, output, is_within, nfa],
        [[column.name, as_recorded(str(column.text))] for column in columns],
        [as_recorded(str(mask.text)) for mask in plan.masks],
        [str(text) for text in plan.partition_by],
        [[str(text), direction] for text, direction in plan.order_by],
        bounds_of(plan),
        [slot_parts(slot) for slot in plan.slots],
    ]


def bounds_of(plan: MatchPlan) -> list[Any]:
    """The bounds of a match."""
    return [[bound.key, bound.end, bound.is_inclusive, bound.admits_start] for bound in plan.bounds]


def outline_of(task: Task) -> tuple[list[Any], list[Any]]:
    """The pattern with everything that decides where matches begin and end, and the conditions on several rows."""
    skip, output = task.skip, task.output
    pattern = [
        [_instruction(instruction) for instruction in task.program.instructions],
        task.program.labels,
        [skip.mode.name, skip.labels, skip.else_next_row],
        [output.is_all_rows, output.shows_empty, output.shows_unmatched, output.shows_timeouts],
        task.is_within,
        [task.nfa.outline, task.is_between] if isinstance(task, CepTask) else None,
    ]
    return pattern, [task.bits, [_condition(condition) for condition in task.conditions]]


def _instruction(instruction: Instruction) -> list[Any]:
    if isinstance(instruction, MatchLabel):
        return ["label", instruction.label, instruction.is_hidden]
    if isinstance(instruction, Jump):
        return ["jump", instruction.target]
    if isinstance(instruction, Split):
        return ["split", instruction.first, instruction.second]
    return [{MatchStart: "start", MatchEnd: "end", Done: "done"}[type(instruction)]]


def _condition(condition: Condition | None) -> list[Any] | None:
    if condition is None:
        return None
    if isinstance(condition, Literal):
        return ["literal", str(condition.value), condition.kind]
    if isinstance(condition, Operand):
        return ["operand", _source(condition.source), condition.kind, str(condition.missing)]
    if isinstance(condition, Constant):
        return ["literal", str(condition.value), "object"]
    if isinstance(condition, Read):
        return ["operand", _source(condition.source), "object", "None"]
    assert isinstance(condition, (MachineCall, ScalarCall))
    arguments = [_condition(argument) for argument in condition.arguments]
    if isinstance(condition, ScalarCall):
        settings = [condition.settings.is_ansi, condition.settings.time_zone]
        types = [argument.type for argument in condition.arguments]
        return ["spark", condition.function, arguments, types, condition.type, *settings]
    return ["call", condition.function, arguments, condition.kind, condition.bits, condition.is_ansi]


def _source(source: Navigation | Aggregate | InterpretedAggregate) -> list[Any]:
    if isinstance(source, InterpretedAggregate):
        arguments = [_condition(argument) for argument in (*source.arguments, source.filter)]
        settings = [source.settings.is_ansi, source.settings.time_zone]
        call = source.call
        options = [source.labels, call.is_distinct, call.ignores_nulls, _keys(call), [str(c) for c in call.constants]]
        words = words_of(call)
        return ["spark aggregate", call.function, arguments, call.types, call.result, *settings, *options, *words]
    if isinstance(source, Aggregate):
        return ["aggregate", source.function, source.argument, source.labels, source.is_distinct, source.is_final]
    steps = [source.from_first, source.offset, source.step]
    computed = [source.by_label, _condition(source.expression)] if source.by_label or source.expression else []
    return ["navigation", source.argument, source.labels, *steps, source.is_final, *computed]


def slot_parts(slot: Slot) -> list[Any]:
    """The parts that decide the values of a slot."""
    sources = [_source(slot.navigation), _source(slot.aggregate)]
    values = [slot.name, slot.kind, slot.columns, *sources, [as_recorded(str(part)) for part in slot.call]]
    return [*values, *_fold(slot)] + ([["labels", slot.by_label]] if slot.by_label else [])


def _fold(slot: Slot) -> list[Any]:
    fold = slot.fold
    if fold is None:
        return []
    constants = [[i, str(list(value) if isinstance(value, tuple) else value)] for i, value in fold.constants]
    options = [constants, _keys(fold), slot.filter is not None, fold.ignores_nulls, *words_of(fold)]
    return [["fold", fold.types, fold.result, *options]]


def _keys(call: BoundAggregate) -> list[Any]:
    return [[key.spark_type, key.is_descending, key.nulls_last] for key in call.order_by]


def words_of(call: BoundAggregate) -> list[str]:
    """The words of a call that earlier versions did not read. Calls without them have the same parts as before."""
    return [*(["DESC"] if call.is_descending else []), *(["RESPECT NULLS"] if call.respects_nulls else [])]
