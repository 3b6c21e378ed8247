"""EXPLAIN MATCH ANALYZE of a clause: the queries that count where its rows are lost.

One pass over the input, besides the query itself: workers run the search that defines matching, with a recorder, and
count what it tries, and how often each part of DEFINE that the row decides is TRUE, FALSE and NULL. Rows that no match
can use stay where they are, as they do in the query itself; then Spark counts them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pyarrow as pa
from pyspark.errors import PySparkException

from sqlext.engine.match.clause_report import BOUND, FRAME_END, NO_USABLE_ROW, ClauseReport, ElementReport
from sqlext.engine.match.count_conditions import ConditionCounting
from sqlext.engine.match.forms import LEAD, SHUFFLED, PhysicalPlan
from sqlext.engine.match.run_batch import check_types, input_query, shuffled_query
from sqlext.engine.queries.queries import Queries
from sqlext.operators.match.plan import FrameEnd
from sqlext.operators.match.tally import MAX_STEPS, TALLY
from sqlext.pattern.batch.recorder import PARTITION_END, WITHIN
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.cep.nfa_compile import skeleton
from sqlext.pattern.program.elements import elements
from sqlext.pattern.why.funnel import Funnel, Steps, steps_of
from sqlext.pattern.why.verdicts import VerdictCounts
from sqlext.rewriter.lowering.match_plan import MatchPlan
from sqlext.rewriter.lowering.operator_plan import sort_of, worker_plan
from sqlext.rewriter.scalars.row_filter import RowFilter
from sqlext.rewriter.text.fragments import in_line
from sqlext.rewriter.text.splice import join
from sqlext.spark.quiet_probes import quiet_probes
from sqlext.spark.worker_functions import map_in_arrow


def analyze_clause(planned: PhysicalPlan, queries: Queries, limit: int | None) -> ClauseReport:
    """The report about a clause in batch, whose input is read again. `limit`: the most partitions to read."""
    plan = _limited(replace(planned.plan, filters=planned.filters_as_written), limit)
    try:
        with quiet_probes():  # Spark logs an error of a part of DEFINE that cannot be computed on all rows
            return _report(planned, _counting(plan, planned, in_turn=False), queries, limit)
    except PySparkException:
        return _report(planned, _counting(plan, planned, in_turn=True), queries, limit)


def _limit_of_matches(plan: MatchPlan) -> Mapping[str, str]:
    """What the end of the rows of a match is to users, if it is not the end of WITHIN or of the partition."""
    if plan.frame_end != FrameEnd():
        return {WITHIN: FRAME_END, PARTITION_END: FRAME_END}
    return {} if plan.clause.within is not None else {WITHIN: BOUND}


def _limited(plan: MatchPlan, limit: int | None) -> MatchPlan:
    """The plan over at most `limit` of its partitions, always the same ones."""
    if limit is None or not plan.partition_by:
        return plan
    chosen = join("SELECT DISTINCT ", plan.key_hash, " AS __hash FROM ", plan.input, f" ORDER BY __hash LIMIT {limit}")
    return replace(plan, filters=(*plan.filters, RowFilter.of(join(plan.key_hash, " IN (", chosen, ")"))))


def _counting(plan: MatchPlan, planned: PhysicalPlan, *, in_turn: bool) -> ConditionCounting:
    kept = [each.sql for each in planned.filters_of_engine]
    return ConditionCounting(plan=plan, prefix=planned.prefix, kept=kept, in_turn=in_turn)


def _report(planned: PhysicalPlan, counting: ConditionCounting, queries: Queries, limit: int | None) -> ClauseReport:
    began = time.monotonic()
    plan = counting.plan
    if planned.usable_rows:
        usable = replace(counting.worker_plan, filters=(*plan.filters, *planned.usable_rows))
        counts, (funnel, _) = counting.count(queries), _tally(usable, planned, queries, counting)
        funnel = funnel.renamed({PARTITION_END: NO_USABLE_ROW})
    else:
        funnel, counts = _tally(counting.worker_plan, planned, queries, counting)
    funnel = funnel.renamed(_limit_of_matches(plan))
    examples = counting.examples(queries, counts)
    return ClauseReport(
        line=plan.clause.keyword.place.line,
        column=plan.clause.keyword.place.column,
        rows=counts.rows,
        filtered=counting.filtered(counts),
        filters=tuple(in_line(each.condition) for each in planned.filters_of_engine),
        variables=tuple(counting.variables(counts, examples, counting.near_texts(queries, counts), funnel)),
        elements=_elements(plan, funnel),
        funnel=funnel,
        is_contiguous=not isinstance(plan.task, CepTask),
        in_turn=counting.in_turn,
        strategy=planned.strategy,
        is_in_workers=planned.form is not LEAD,
        max_steps=MAX_STEPS,
        limit=limit,
        seconds=time.monotonic() - began,
        shows_timeouts=plan.task.output.shows_timeouts,
        bounds=tuple(in_line(bound.written) for bound in plan.bounds if bound.written),
    )


def _tally(
    plan: MatchPlan, planned: PhysicalPlan, queries: Queries, counting: ConditionCounting
) -> tuple[Funnel, VerdictCounts]:
    """What the search tries in the rows of a plan, which has the columns of `counting.worker_plan`, and the verdicts of
    the conditions on them."""
    orders_rows = planned.form is SHUFFLED and not plan.needs_window
    rows = queries.run(shuffled_query(plan, planned.prefix) if orders_rows else input_query(plan, planned.prefix))
    check_types(plan, rows.schema)
    worker, steps = worker_plan(plan), recorded_steps(plan)
    counted, labels = counting.counted, counting.labels
    if orders_rows:
        worker = replace(worker, sort=sort_of(plan))

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from sqlext.operators.match.tally import tally  # loads Numba, which the driver does not need

        return tally(batches, worker, steps, counted, labels)

    funnel, counts = Funnel(), VerdictCounts()
    for row in map_in_arrow(rows, count, TALLY).collect():
        funnel.merge(Funnel.of_json(row[0]))
        counts.merge(VerdictCounts.of_json(row[1]))
    return funnel, counts


def recorded_steps(plan: MatchPlan) -> Steps:
    """What the recorder calls the steps of a clause."""
    is_contiguous = not isinstance(plan.task, CepTask)
    return steps_of(
        skeleton(plan.clause.pattern) if is_contiguous else plan.clause.pattern, is_contiguous=is_contiguous
    )


def _elements(plan: MatchPlan, funnel: Funnel) -> tuple[ElementReport, ...]:
    source = plan.clause.pattern_text.source
    knows_copies = not isinstance(plan.task, CepTask)
    return tuple(
        ElementReport(
            written=in_line(source[slice(*element.whole)]),
            variable=element.name,
            at_least=element.at_least,
            reached=funnel.reached[number, 0],
            enough=funnel.reached[number, element.at_least] if knows_copies and element.at_least > 1 else None,
            lost={reason: count for (e, reason), count in funnel.lost.items() if e == number},
        )
        for number, element in enumerate(elements(plan.clause.pattern))
    )
