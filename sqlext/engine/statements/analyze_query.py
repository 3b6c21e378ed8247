"""EXPLAIN MATCH ANALYZE: runs a query, and says where its rows are lost."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from sqlext.engine.match.analyze_match import analyze_clause
from sqlext.engine.match.clause_report import ClauseReport
from sqlext.engine.match.forms import PhysicalPlan
from sqlext.engine.queries.queries import Queries
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.statements.plan_statement import ViewPlan
from sqlext.engine.statements.run_statement import plan_to_run
from sqlext.engine.streams.planner import PlannedRelation
from sqlext.errors import Place, SqlExtError, UnsupportedError
from sqlext.rewriter.statements.analyze_statement import AnalyzeStatement
from sqlext.rewriter.text.tokens import tokenize
from sqlext.spark.user_warnings import warn

_QUERIES = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(")


def analyze_query(call: SqlCall, statement: AnalyzeStatement) -> str:
    """Run the query of a statement, and report where its rows are lost. Raises the SqlExtError that running it raises.

    Raises UnsupportedError NOT_ANALYZED.
    """
    query = statement.query
    try:
        return _report(replace(call, text=query.text), statement)
    except SqlExtError as error:
        raise error.moved(call.text, query.start) from None


def _report(call: SqlCall, statement: AnalyzeStatement) -> str:
    first = tokenize(call.text)[0]
    if first.text != "(" and first.word not in _QUERIES:
        raise _not_analyzed("it runs a query, not a command", Place(call.text, first.start, first.stop))
    plan = plan_to_run(call)
    clauses = list(_clauses(plan.relations, plan.queries))
    if not clauses:
        place = Place(call.text, first.start, first.stop)
        raise _not_analyzed("there is no MATCH_RECOGNIZE in the query", place)
    warn(plan.warnings)
    if streaming := next((planned for planned, _ in clauses if planned.is_streaming), None):
        analyze_clause(streaming, plan.queries, statement.partitions)
    plan.build()
    began = time.monotonic()
    rows = _run(plan.execute())
    seconds = time.monotonic() - began
    reports = [analyze_clause(planned, queries, statement.partitions) for planned, queries in clauses]
    others = [section.kind for section in plan.sections if section.kind not in ("Clause", "View")]
    return _as_json(reports, rows, seconds) if statement.is_json else _as_text(reports, rows, seconds, others)


def _not_analyzed(why: str, place: Place) -> UnsupportedError:
    hint = "EXPLAIN MATCH, without ANALYZE, says how other clauses are run."
    return UnsupportedError(
        "NOT_ANALYZED", f"EXPLAIN MATCH ANALYZE has nothing to count: {why}", place=place, hint=hint
    )


def _clauses(relations: Mapping[str, PlannedRelation], queries: Queries) -> Iterator[tuple[PhysicalPlan, Queries]]:
    """The clauses of a statement and of the stored views that it reads, inner ones first."""
    for relation in relations.values():
        if isinstance(relation, PhysicalPlan):
            yield relation, queries
        elif isinstance(relation, ViewPlan):
            yield from _clauses(relation.statement.relations, relation.statement.queries)


def _run(frame: DataFrame) -> int:
    """Run a query to its end; return the number of its rows."""
    observed = Observation()
    frame.observe(observed, F.count(F.lit(1)).alias("rows")).write.format("noop").mode("overwrite").save()
    return int(observed.get["rows"])


def _as_json(reports: list[ClauseReport], rows: int, seconds: float) -> str:
    clauses = [report.as_json() for report in reports]
    return json.dumps({"rows": rows, "seconds": round(seconds, 3), "clauses": clauses}, indent=2)


def _as_text(reports: list[ClauseReport], rows: int, seconds: float, others: list[str]) -> str:
    parts = [f"== Clause {number}, line {report.line} ==\n{report.text()}" for number, report in enumerate(reports, 1)]
    is_lost = not rows and all(report.funnel.matches for report in reports)
    lost = ": the clauses have matches, so the query around them (WHERE, HAVING, a join) keeps none" if is_lost else ""
    seen = [f"not counted here: {', '.join(others)}"] if others else []
    parts.append("\n".join(["== Query ==", f"rows of the result: {rows:,}{lost}", f"it took {seconds:.1f} s", *seen]))
    return "\n\n".join(parts)
