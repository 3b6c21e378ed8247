"""Plans a rule: turns its text into the plan that the step of rules runs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sqlext.expressions.scalar_tree import Scalar
from sqlext.operators.match.plan import MASK_BITS, MatchOperatorPlan, Slot, mask_names
from sqlext.operators.match.stream_plan import StreamMatchPlan, stream_facts
from sqlext.operators.rows.columns import ROW_TIME, WITHIN_KEY
from sqlext.operators.rules.plan import CODE, FIRST_TIME, LAST_TIME, MATCH_NUMBER, RulePlan, RulesPlan
from sqlext.pattern.program.automaton import DONE, automaton, targets_from
from sqlext.pattern.strategy import choose_on_stream
from sqlext.pattern.task.task import Navigation
from sqlext.rewriter.lowering import stream_checks
from sqlext.rewriter.rules.compile_rule import CompiledRule, compile_rule


def plan_rule(clause: str, plan: RulesPlan) -> RulePlan:
    """The plan of a clause over the events of `plan`. Raises SqlExtError.

    A mask column whose conditions are all TRUE is left out, as in other clauses.
    """
    rule = compile_rule(clause, plan.columns, plan.keys, plan.order, plan.settings, plan.max_length, plan.functions)
    match, groups = rule.plan, _mask_columns(rule)
    time = WITHIN_KEY if match.clause.within else ROW_TIME
    worker = MatchOperatorPlan(
        task=match.task,
        masks=tuple(groups),
        neighbours=tuple((b, mask.neighbours) for b, mask in enumerate(match.masks) if mask.neighbours),
        operands=match.operands,
        carried=(CODE,),
        partition_by=(CODE,),
        slots=(*match.slots, *_own_slots(time)),
        bounds=match.bounds,
        is_ansi=plan.settings.is_ansi,
    )
    slots = tuple(slot for slot in worker.slots if slot.kind != "rowtime")
    facts = stream_facts(match.task, (mask.neighbours for mask in match.masks), slots, needs_times=True)
    back = stream_checks.rows_read_back(match)
    keeps_all_keys = match.task.program.has_start_anchor
    stream = StreamMatchPlan(
        worker=worker,
        schema=pa.schema([(CODE, pa.int64())]),
        time=time,
        back=back,
        counts_matches=True,
        keeps_all_keys=keeps_all_keys,
        skips_failures=True,
        matcher=choose_on_stream(match.task, facts)[0],
    )
    opening = None if back or keeps_all_keys else _opening(rule)
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
    tables = automaton(task.program, task.bits)
    begins = targets_from(tables.graph, 0, at_start=True)
    if DONE in begins:
        return None
    bits = [task.bits[label] for label in np.asarray(tables.label)[begins].tolist()]
    if None in bits or not _mask_columns(rule):
        return None
    return tuple(rule.masks[bit] for bit in sorted({bit for bit in bits if bit is not None}))
