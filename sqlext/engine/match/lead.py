"""The strategy `lead`: Spark alone finds patterns of a single row, without Python workers, a shuffle or a sort.

relation → keys, conditions, arguments → whether the row is a match, what measures read → filter
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame

from sqlext.engine.match.run_batch import shown_query
from sqlext.engine.queries.queries import Queries
from sqlext.operators.match.plan import Bound, Slot
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.program.program import Done, MatchLabel, Program
from sqlext.pattern.task.skip import numbered, resume_row
from sqlext.pattern.task.task import Navigation
from sqlext.rewriter.lowering.match_plan import WINDOW, MatchPlan
from sqlext.rewriter.scalars.row_filter import evaluated
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.splice import Text, TextLike, join

NAME = "lead"
REASON = "PATTERN is a single row: Spark decides it without Python, and shuffles nothing."
MASK, IS_MATCH = "__mask", "__is_match"


def run_lead(plan: MatchPlan, queries: Queries, prefix: Text) -> DataFrame:
    """The clause's result. `prefix`: the WITH clause that the relation may need."""
    return queries.run(lead_query(plan, prefix))


# whether lead is exact


def refusal(plan: MatchPlan) -> str | None:
    """The reason why lead cannot run a plan, as a sentence, or None."""
    return next((reason for rule in RULES if (reason := rule(plan))), None)


def _is_clause(plan: MatchPlan) -> str | None:
    return "a window has a match for each of its rows." if plan.task.frame is not None else None


def _is_single_row(plan: MatchPlan) -> str | None:
    if isinstance(plan.task, CepTask):
        return "the rows of a match need not be neighbours, or every match is returned."
    return "PATTERN is not a single row." if row_label(plan.task.program) is None else None


def _is_one_row(plan: MatchPlan) -> str | None:
    return "lead returns ONE ROW PER MATCH only." if plan.task.output.is_all_rows else None


def _is_row_local(plan: MatchPlan) -> str | None:
    label = _label(plan)
    name = plan.task.program.labels[label]
    if plan.task.conditions[label] is not None:
        return f"the condition of {name} depends on the rows matched so far."
    return f"the condition of {name} reads other rows." if f" OVER {WINDOW}" in str(_condition(plan)) else None


def _resumes(plan: MatchPlan) -> str | None:
    skip = plan.task.skip
    fails = isinstance(resume_row(skip, 0, numbered(0, [_label(plan)])), str)
    return f"AFTER MATCH {skip.mode.text} would be an error at the first match." if fails else None


def _has_simple_measures(plan: MatchPlan) -> str | None:
    for slot in plan.slots:
        if slot.kind == "match number":
            return "MATCH_NUMBER() counts matches."
        if slot.kind == "rowtime":
            return "MATCH_ROWTIME() depends on all earlier matches."
        if slot.kind == "value" and slot.navigation.step:
            return "a measure reads other rows."
        if _slot_value(slot, plan) is None:
            return f"lead does not compute {slot.aggregate.function}."
    return None


RULES: tuple[Callable[[MatchPlan], str | None], ...] = (
    _is_clause,
    _is_single_row,
    _is_one_row,
    _is_row_local,
    _resumes,
    _has_simple_measures,
)


def row_label(program: Program) -> int | None:
    """The label of the one row of each match, None if matches may be longer, empty, anchored or hidden.

    >>> row_label(Program((MatchLabel(0), Done()), ("A",)))
    0
    """
    first, *rest = program.instructions
    if rest == [Done()] and isinstance(first, MatchLabel) and not first.is_hidden:
        return first.label
    return None


def _label(plan: MatchPlan) -> int:
    return row_label(plan.task.program) or 0


def _condition(plan: MatchPlan) -> Text:
    bit = plan.task.bits[_label(plan)]
    return join("TRUE") if bit is None else plan.masks[bit].text


# the query


def lead_query(plan: MatchPlan, prefix: Text) -> Text:
    """The whole plan as one query, if lead does not refuse it."""
    columns: list[TextLike] = list(plan.carried)
    columns += [join(_slot_value(slot, plan) or "", f" AS {slot.name}") for slot in plan.slots]
    tests = [MASK, *(_within(bound) for bound in plan.bounds if not bound.admits_start)]
    columns.append(f"{' AND '.join(tests)} AS {IS_MATCH}")
    rows = join("(SELECT ", join(*columns, separator=",\n       "), "\nFROM (", row_query(plan), "))")
    # Spark can see through IS_MATCH to the conditions, and push them into the scan.
    are_pushed = plan.pushable.are_safe(conditions(plan))
    is_match = join(IS_MATCH) if are_pushed else evaluated(IS_MATCH)
    return join(prefix, shown_query(plan, rows), " WHERE ", is_match)


def conditions(plan: MatchPlan) -> list[Text]:
    """What decides whether a row is a match."""
    ends = {name for bound in plan.bounds for name in (bound.key, bound.end)}
    return [_condition(plan), *(c.text for c in plan.columns if c.name in ends)]


def row_query(plan: MatchPlan) -> Text:
    """The columns of the plan, and the condition."""
    columns = [join(_shown(c.computed), f" AS {c.name}") for c in plan.columns]
    columns.append(join("IF(", _condition(plan), f", TRUE, FALSE) AS {MASK}"))
    return join("SELECT ", join(*columns, separator=",\n       "), "\nFROM ", plan.input)


def _within(bound: Bound) -> str:
    """A condition that the row's own key is within the bound."""
    compared = f"{bound.key} {'<=' if bound.is_inclusive else '<'} {bound.end}"
    if bound.last and not bound.is_inclusive:
        return f"({compared} OR ({bound.end} = {bound.last} AND {bound.key} IS NOT NULL))"
    return compared


# measures


def _slot_value(slot: Slot, plan: MatchPlan) -> TextLike | None:
    """The expression of a slot over the columns of the row, None if lead cannot compute it."""
    label = _label(plan)
    if slot.kind == "value":
        return slot.columns[0] if _reads(slot.navigation, label) else f"IF(TRUE, NULL, {slot.columns[0]})"
    if slot.kind == "classifier":
        is_mapped = _reads(slot.navigation, label) and not slot.navigation.step
        return _shown(string_literal(plan.task.program.labels[label])) if is_mapped else "CAST(NULL AS STRING)"
    if slot.kind == "sequence number":
        return _shown("1L")
    if slot.kind != "aggregate" or slot.by_label:
        return None
    return _aggregate_value(slot, is_read=slot.aggregate.labels is None or label in slot.aggregate.labels)


def _reads(navigation: Navigation, label: int) -> bool:
    """Whether a navigation reaches the row, from which PREV or NEXT may then lead away."""
    return navigation.offset == 0 and (navigation.labels is None or label in navigation.labels)


def _aggregate_value(slot: Slot, *, is_read: bool) -> TextLike | None:
    """The expression of an aggregate of the row, or of no row, None if its value could differ."""
    function = slot.aggregate.function
    if function == "count" and not slot.columns:
        return _shown("1L" if is_read else "0L")
    value = slot.columns[0]
    if function == "count":
        return _shown(f"IF({value} IS NULL, 0L, 1L)" if is_read else "0L")
    if function in ("min", "max") and is_read:
        return value
    if function == "avg" and is_read:
        return f"CAST({value} AS DOUBLE) + 0D"  # a sum begins at 0.0, so a single -0.0 becomes 0.0
    return None


def _shown(value: TextLike) -> Text:
    """A value that is nullable in the result's schema, as all columns from workers are."""
    return join("IF(FALSE, NULL, ", value, ")")
