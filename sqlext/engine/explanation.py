"""EXPLAIN MATCH: how the clauses and the joins on time of a statement are run.

For each join it shows how rows find their partners; for window functions what computes them, when they fire and what is
kept; for each clause the labels and their conditions, the program, the
strategy and the reason for it, and the SQL that Spark runs before and behind the match.
"""

from __future__ import annotations

from sqlext.engine.batch import lead
from sqlext.engine.batch.run_batch import result_query
from sqlext.engine.emit.explain_emit import explained_call, explained_emit
from sqlext.engine.emit.plan_emits import PlannedCall, PlannedEmit
from sqlext.engine.physical import LEAD, PhysicalPlan
from sqlext.engine.plan_statement import PlannedPart, StatementPlan, ViewPlan, plan_statement
from sqlext.engine.portable.portable_sql import Printer
from sqlext.engine.queries import warn
from sqlext.engine.rules.plan_rules import PlannedRules
from sqlext.engine.sql_call import SqlCall
from sqlext.engine.stream.heartbeat import PlannedIdle
from sqlext.engine.windows.plan_windows import BaseQuery
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.task import NO_SKIP
from sqlext.rewriter.joins.asof_sql import AsofJoin
from sqlext.rewriter.joins.interval_sql import RewrittenJoin
from sqlext.rewriter.match.match_plan import Mask, MatchPlan
from sqlext.rewriter.rules.rule_statements import parse_rule_statement


def explain_statement(call: SqlCall) -> str:
    """Explain how the statement would run. Raises SqlExtError as running it would."""
    if parse_rule_statement(call.text) is not None:
        return "A statement about pattern rules: DESCRIBE PATTERN RULE shows the program of a rule."
    plan = plan_statement(call)
    warn(plan.warnings)
    return explained_plan(plan)


def explained_plan(plan: StatementPlan) -> str:
    """The text of EXPLAIN MATCH."""
    views = [_view(name, r) for name, r in plan.relations.items() if isinstance(r, ViewPlan)]
    if not plan.parts and not views:
        return "No clause of the extended language: Spark runs the text as it is."
    parts = [_part(i, c) for i, c in enumerate(plan.parts, 1)]
    bases = (f"== Rows {name} ==\n{r.text}" for name, r in plan.relations.items() if isinstance(r, BaseQuery))
    return "\n\n".join([*views, *bases, *parts, f"== Statement for Spark ==\n{plan.text}"])


def _view(name: str, view: ViewPlan) -> str:
    return f"== View {view.view.name}, which the statement reads as {name} ==\n{explained_plan(view.statement)}"


def _part(number: int, part: PlannedPart) -> str:
    if isinstance(part, PhysicalPlan):
        return _clause(number, part)
    if isinstance(part, PlannedIdle):
        return f"== Idle source {number} ==\n{part.source.whole.text}\n{part.how}"
    if isinstance(part, PlannedRules):
        return f"== Rules {number} ==\n{part.explanation}"
    if isinstance(part, PlannedCall):
        return explained_call(number, part)
    return explained_emit(number, part) if isinstance(part, PlannedEmit) else _join(number, part)


def _join(number: int, asof: AsofJoin | RewrittenJoin | None) -> str:
    if asof is None:
        return f"== Join {number} ==\nSpark's own ASOF JOIN: Spark runs the text as it is"
    if isinstance(asof, RewrittenJoin):
        return _interval_join(number, asof)
    keys = ", ".join(f"{key.left} {'<=>' if key.matches_null else '='} {key.right}" for key in asof.conditions.keys)
    left = "the left rows go through it" if asof.carried else "its matches are joined to the left relation"
    times = f"{asof.left_time} {asof.operator} {asof.right_time}"
    lines = [
        "LEFT ASOF JOIN" if asof.is_left else "INNER ASOF JOIN: left rows without a partner are left out",
        f"left {asof.left}", f"right {asof.right}",
        f"nearest row by {times}, keys {keys or 'none: one task orders all rows'}",
        f"window: both sides in one order, which carries the last right row along; {left}",
    ]  # fmt: skip
    return "\n".join([f"== Join {number} ==", *lines])


def _interval_join(number: int, rewritten: RewrittenJoin) -> str:
    clause = rewritten.clause
    lines = [
        f"{clause.join_type} INTERVAL JOIN, line {clause.keyword.place.line}",
        f"left {clause.left.text}", f"right {clause.right.text}",
        *(f"{decision}: {why}" for decision, why in rewritten.reasons),
    ]  # fmt: skip
    return "\n".join([f"== Join {number} ==", *lines])


def _clause(number: int, planned: PhysicalPlan) -> str:
    plan = planned.plan
    sections = {
        f"Clause {number}, line {plan.clause.keyword.place.line}": f"input {plan.relation}",
        "Plan": "\n".join(_plan_lines(planned)),
        "Program": str(plan.task.nfa if isinstance(plan.task, CepTask) else plan.task.program),
        "Strategy": "\n".join(f"{decision}: {why}" for decision, why in planned.reasons),
        **_queries(planned),
    }
    return "\n".join(f"== {title} ==\n{text}" for title, text in sections.items())


def _queries(planned: PhysicalPlan) -> dict[str, str]:
    plan, before = planned.plan, planned.form.input_query
    if before is None:
        return {"SQL of the match": str(lead.lead_query(plan, planned.prefix))}
    return {
        "SQL before the match": str(before(plan, planned.prefix)),
        "SQL behind the match": str(result_query(plan, "matches", planned.prefix)),
    }


def _plan_lines(planned: PhysicalPlan) -> list[str]:
    plan, printer = planned.plan, Printer(planned.plan)
    is_lead = planned.form is LEAD
    task = plan.task
    lines = [f"bit {b}: {_mask(plan, mask, printer, is_lead)}" for b, mask in enumerate(plan.masks)]
    for label, (bit, condition) in enumerate(zip(task.bits, task.conditions)):
        parts = ([] if bit is None else [f"bit {bit}"]) + ([] if condition is None else [printer.condition(condition)])
        lines.append(f"{task.program.labels[label]}: {' AND '.join(parts) or 'always true'}")
    lines += [f"{slot.name}: {printer.measure(slot)}, {_where(slot.kind, is_lead)}" for slot in plan.slots]
    shown = "ALL ROWS PER MATCH" if task.output.is_all_rows else "ONE ROW PER MATCH"
    if task.frame is not None:
        search = "SEEK" if task.frame.seeks else "INITIAL"
        shown = f"one row for each row, which sees {_frame(plan)}, {search}"
    shown += " SHOW TIMEOUT MATCHES" * task.output.shows_timeouts
    skip = task.skip.mode if task.skip.mode == NO_SKIP else f"SKIP {task.skip.mode}"
    return [*lines, f"{shown}, AFTER MATCH {skip}"]


def _frame(plan: MatchPlan) -> str:
    """How far the frame of a window reaches."""
    end = plan.frame_end
    if end.rows is None and end.column is None:
        return "the rows behind it"
    return f"{end.column or end.rows} rows behind it"


def _mask(plan: MatchPlan, mask: Mask, printer: Printer, is_lead: bool) -> str:
    if is_lead or plan.needs_window or mask.neighbours is None:
        return f"{mask.text}, computed by Spark"
    return f"{mask.rest} AND {printer.condition(mask.neighbours)}, neighbours computed in the worker"


def _where(kind: str, is_lead: bool) -> str:
    if is_lead:
        return "computed by Spark"
    return "computed by Spark over the match's rows" if kind == "members" else "computed in the worker"
