"""EXPLAIN MATCH of a MATCH_RECOGNIZE clause or a window with a row pattern.

It shows the labels and their conditions, the program, the strategy and the reason for it, and the SQL that Spark runs
before and after the match.
"""

from __future__ import annotations

from sqlext.engine.match import lead
from sqlext.engine.match.forms import LEAD, PhysicalPlan
from sqlext.engine.match.portable_sql import Printer
from sqlext.engine.match.run_batch import result_query
from sqlext.engine.planning.planner import Section
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.rewriter.lowering.match_plan import Mask, MatchPlan
from sqlext.rewriter.match.differences import differences


def explained_clause(planned: PhysicalPlan) -> Section:
    """The section of a clause."""
    line = planned.plan.clause.keyword.place.line
    return Section(kind="Clause", title=f", line {line}", text=lambda: _text(planned))


def _text(planned: PhysicalPlan) -> str:
    plan = planned.plan
    sections = {
        "Plan": "\n".join(_plan_lines(planned)),
        "Program": str(plan.task.nfa if isinstance(plan.task, CepTask) else plan.task.program),
        "Strategy": "\n".join(f"{decision}: {why}" for decision, why in planned.reasons),
        **_queries(planned),
    }
    if lines := differences(plan.clause, [name for name, _ in plan.input_types]):
        sections["Differences"] = "\n".join(lines)
    return "\n".join([f"input {plan.relation}", *(f"== {title} ==\n{text}" for title, text in sections.items())])


def _queries(planned: PhysicalPlan) -> dict[str, str]:
    plan, before = planned.plan, planned.form.input_query
    if before is None:
        return {"SQL of the match": str(lead.lead_query(plan, planned.prefix))}
    return {
        "SQL before the match": str(before(plan, planned.prefix)),
        "SQL after the match": str(result_query(plan, "matches", planned.prefix)),
    }


def _plan_lines(planned: PhysicalPlan) -> list[str]:
    plan, printer = planned.plan, Printer(planned.plan)
    is_lead = planned.form is LEAD
    task = plan.task
    lines = [f"bit {b}: {_mask(plan, mask, printer)}" for b, mask in enumerate(plan.masks)]
    for label, (bit, condition) in enumerate(zip(task.bits, task.conditions)):
        parts = ([] if bit is None else [f"bit {bit}"]) + ([] if condition is None else [printer.condition(condition)])
        lines.append(f"{task.program.labels[label]}: {' AND '.join(parts) or 'always true'}")
    lines += [f"{slot.name}: {printer.measure(slot)}, {_where(slot.kind, is_lead=is_lead)}" for slot in plan.slots]
    shown = "ALL ROWS PER MATCH" if task.output.is_all_rows else "ONE ROW PER MATCH"
    if task.frame is not None:
        search = "SEEK" if task.frame.seeks else "INITIAL"
        shown = f"one row for each row, which sees {_frame(plan)}, {search}"
    shown += " SHOW TIMEOUT MATCHES" * task.output.shows_timeouts
    return [*lines, f"{shown}, AFTER MATCH {task.skip.mode.text}"]


def _frame(plan: MatchPlan) -> str:
    """A description of how far the frame of a window reaches."""
    end = plan.frame_end
    if end.rows is None and end.column is None:
        return "the rows after it"
    return f"{end.column or end.rows} rows after it"


def _mask(plan: MatchPlan, mask: Mask, printer: Printer) -> str:
    if plan.needs_window or mask.neighbours is None:
        return f"{mask.text}, computed by Spark"
    return f"{mask.rest} AND {printer.condition(mask.neighbours)}, neighbours computed in the worker"


def _where(kind: str, *, is_lead: bool) -> str:
    if is_lead:
        return "computed by Spark"
    return "computed by Spark over the match's rows" if kind == "members" else "computed in the worker"
