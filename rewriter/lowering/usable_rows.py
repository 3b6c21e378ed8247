"""Leaves rows that no match can use out of the input: a filter that Spark applies before the shuffle and the state.

    PATTERN (A -> B) DEFINE A AS v = 0, B AS v = 1 AND x > A.x

reads only rows `WHERE ((v = 0) OR (v = 1))`, which Spark pushes into the scan of a table, unless the columns are FLOAT
or DOUBLE (`rewriter.scalars.row_filter`). A condition over several rows contributes the conjuncts that its row alone
decides. `pattern.cep.usable_rows` decides whether other rows matter.

A row is kept if an expression of the clause cannot be computed on it, so such a row is an error, or a failed row of a
stream, as without the filter. On a stream the filter reads the event time. Spark therefore applies it after the
operator that computes the watermark, which thus depends on all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlext.operators.rows.columns import ROW_TIME, WITHIN_END, WITHIN_KEY
from sqlext.pattern.cep.usable_rows import why_all_rows_matter
from sqlext.rewriter.lowering.guard import is_computable
from sqlext.rewriter.lowering.match_plan import MatchPlan
from sqlext.rewriter.lowering.plain_conditions import raises_no_error
from sqlext.rewriter.lowering.stream_checks import is_processing_time
from sqlext.rewriter.scalars.row_filter import Pushable, RowFilter
from sqlext.rewriter.text.fragments import in_line
from sqlext.rewriter.text.splice import Text, join

_TIMES = (WITHIN_KEY, WITHIN_END, ROW_TIME)  # the event time, or the event time plus a constant


def usable_rows_filter(
    plan: MatchPlan,
    is_repeatable: Callable[[Text], bool],
    pushable: Callable[[Sequence[Text]], Pushable],
    *,
    is_streaming: bool,
) -> tuple[tuple[RowFilter, ...], str]:
    """The filter, if any, that drops rows which no match can use, and the reason for it, or for none.

    `is_repeatable`: whether Spark can compute an expression on a row twice, with the same result. `pushable`: by what
    columns a scan may filter, for the conditions that read them.
    """
    why_not = _why_not(plan, is_streaming=is_streaming)
    if why_not:
        return (), f"all rows are read: {why_not}."
    usable = usable_condition(plan)
    condition = join("(", usable, ")")
    risky = _risky(plan)
    if risky:
        # Also in batch: Spark may move the filter below a join, which drops rows on which a condition fails.
        usable = join("CASE WHEN ", is_computable(risky), " THEN ", usable, " ELSE TRUE END")
        if not is_repeatable(usable):
            return (), "all rows are read: an expression may fail on a row, or differ when it is computed again."
    if is_streaming:
        sql = join("(", usable, " OR ", _is_out_of_time(plan), ")")
    else:
        usable = join("(", usable, ")")
        sql = pushable([usable]).filter(usable)
    why = f"only those with {in_line(usable_condition(plan))} are read: no match can use others."
    return (RowFilter(condition, sql),), why


def usable_condition(plan: MatchPlan) -> Text:
    """The condition on a row that a match can use; on rows on which it can be computed, the filter holds where it
    does."""
    bits = {bit for bit in plan.task.bits if bit is not None}
    conditions = {str(plan.masks[bit].rest): plan.masks[bit].rest for bit in sorted(bits)}
    return join(*(join("(", condition, ")") for condition in conditions.values()), separator=" OR ")


def _why_not(plan: MatchPlan, *, is_streaming: bool) -> str:
    """The reason why a row that satisfies no variable must be read, "" if there is none."""
    if is_streaming and is_processing_time(plan.clause):
        return "the clock and not the rows is the time"
    reason = why_all_rows_matter(plan.task)
    if reason:
        return reason
    if any(mask.neighbours is not None or str(mask.text) != str(mask.rest) for mask in plan.masks):
        return "DEFINE reads PREV or NEXT"
    if any(slot.navigation.step for slot in plan.slots):
        return "a measure reads PREV or NEXT"
    free = [
        label
        for label, bit in zip(plan.task.program.labels, plan.task.bits)
        if bit is None or str(plan.masks[bit].rest).upper() == "TRUE"
    ]
    return f"every row satisfies {free[0]}" if free else ""


def _risky(plan: MatchPlan) -> list[Text]:
    """The expressions of the clause that may fail on a row."""
    names = [name.lower() for name, _ in plan.input_types]
    types = {name.lower(): spark_type for name, spark_type in plan.input_types if names.count(name.lower()) == 1}
    texts = [column.text for column in plan.columns if column.name not in _TIMES]
    texts += [mask.rest for mask in plan.masks]
    texts += [text for text, _ in plan.order_by]
    return list({str(text): text for text in texts if not raises_no_error(str(text), types)}.values())


def _is_out_of_time(plan: MatchPlan) -> Text:
    """A condition on the event time which holds on rows without a time, and which no optimizer can decide."""
    return join("coalesce((", plan.order_by[0][0], ") < TIMESTAMP_LTZ '0001-01-01 00:00:00', TRUE)")
