"""Plans a rule: turns its text into the plan that the step of rules runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from sqlext.expressions.scalar_tree import Scalar
from sqlext.operators.match.plan import MASK_BITS, Slot, mask_names
from sqlext.operators.rules.plan import CODE, FIRST_TIME, LAST_TIME, MATCH_NUMBER, RulePlan, RulesPlan
from sqlext.pattern.program.position_automaton import DONE, position_automaton, targets_from
from sqlext.pattern.strategy import choose_on_stream
from sqlext.pattern.task.task import Navigation
from sqlext.rewriter.lowering.operator_plan import stream_plan
from sqlext.rewriter.rules.compile_rule import CompiledRule, RuleEvents, compile_rule


def plan_rule(clause: str, plan: RulesPlan) -> RulePlan:
    """The plan of a clause over the events of `plan`. Raises SqlExtError.

    A mask column whose conditions are all TRUE is left out, as in other clauses.
    """
    rule = compile_rule(clause, RuleEvents.of(plan))
    groups = _mask_columns(rule)
    stream = stream_plan(rule.plan, pa.schema([(CODE, pa.int64())]))
    worker = replace(
        stream.worker,
        masks=tuple(groups),
        carried=(CODE,),
        partition_by=(CODE,),
        slots=(*rule.plan.slots, *_own_slots(stream.time)),
    )
    stream = replace(
        stream, worker=worker, sort=(), counts_matches=True, needs_times=True, skips_failures=True, matcher=None
    )
    stream = replace(stream, matcher=choose_on_stream(rule.plan.task, stream.facts)[0])
    opening = None if stream.back or stream.keeps_all_keys else _opening(rule)
    return RulePlan(stream=stream, trees=rule.columns, masks=groups, measures=rule.measures, opening=opening)


def _mask_columns(rule: CompiledRule) -> dict[str, tuple[Scalar, ...]]:
    if all(str(mask.rest) == "TRUE" for mask in rule.plan.masks):
        return {}
    names = mask_names(len(rule.masks))
    return {name: rule.masks[i * MASK_BITS : (i + 1) * MASK_BITS] for i, name in enumerate(names)}


def _own_slots(time: str) -> tuple[Slot, ...]:
    first, last = Navigation(argument=0, from_first=True, is_final=True), Navigation(argument=0, is_final=True)
    return (
        Slot(kind="value", name=FIRST_TIME, columns=(time,), navigation=first),
        Slot(kind="value", name=LAST_TIME, columns=(time,), navigation=last),
        Slot(kind="match number", name=MATCH_NUMBER),
    )


def _opening(rule: CompiledRule) -> tuple[Scalar, ...] | None:
    """The conditions of the variables that may match the first row.

    None if one of these variables has no condition, or if a match may be empty.
    """
    task = rule.plan.task
    tables = position_automaton(task.program, task.bits)
    begins = targets_from(tables.graph, 0, at_start=True)
    if DONE in begins:
        return None
    bits = [task.bits[label] for label in np.asarray(tables.label)[begins].tolist()]
    if None in bits or not _mask_columns(rule):
        return None
    return tuple(rule.masks[bit] for bit in sorted({bit for bit in bits if bit is not None}))
