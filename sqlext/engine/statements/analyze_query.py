"""EXPLAIN MATCH ANALYZE: runs a query, and says where its rows are lost."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from sqlext.engine.planning.answers import Analysis
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.reports.counts import PartReport, short
from sqlext.engine.statements.run_statement import plan_to_run
from sqlext.engine.statements.statement_plan import StatementPlan
from sqlext.engine.views.temporary_objects import about_temporary_view
from sqlext.engine.why.chosen_rows import equal_to_null
from sqlext.errors import Place, UnsupportedError, places_after
from sqlext.rewriter.emit.emit_clause import EmitClause
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.match_windows.parse_window import WindowClause
from sqlext.rewriter.statements.explain_statement import AnalyzeStatement
from sqlext.rewriter.statements.kinds import ClauseSite, Part
from sqlext.rewriter.statements.parse_statement import parse_statement
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.tokens import tokenize
from sqlext.rewriter.tree.words_around import Inner, words_around
from sqlext.spark.user_warnings import warn

_LONGEST_WORDS = 100  # characters of a part around the clauses
_QUERIES = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(")


def analyze_query(call: SqlCall, statement: AnalyzeStatement) -> str:
    """Run the query of a statement, and report where its rows are lost. Raises the SqlExtError that running it raises.

    Raises UnsupportedError NOT_ANALYZED.
    """
    query = statement.query
    with places_after(call.text, query.text, query.start):
        return _report(replace(call, text=query.text), statement)


def _report(call: SqlCall, statement: AnalyzeStatement) -> str:
    first = next(iter(tokenize(call.text)), None)
    if first is None:
        raise _not_analyzed("there is no query", Place(call.text, 0, len(call.text)))
    place = Place(call.text, first.start, first.stop)
    if first.text != "(" and first.word not in _QUERIES:
        hint = "write the query alone: EXPLAIN MATCH ANALYZE [FORMAT JSON] [LIMIT n PARTITIONS] SELECT …."
        raise _not_analyzed("it runs a query, not a command", place).with_(hint=hint)
    plan = plan_to_run(call)
    analyses = plan.analyses()
    if not analyses:
        error = _not_analyzed("the query has no MATCH_RECOGNIZE, no join on time and no EMIT", place)
        raise about_temporary_view(call.spark, error, call.text)
    if streaming := next((analysis for analysis in analyses if analysis.is_streaming), None):
        raise UnsupportedError(
            "NOT_ANALYZED",
            "EXPLAIN MATCH ANALYZE runs a query to its end, and a stream has none",
            place=streaming.place,
            hint="read the table as it is now: leave STREAM out.",
        )
    warn(plan.warnings)
    plan.build()
    began = time.monotonic()
    rows = _run(plan.execute())
    seconds = time.monotonic() - began
    reports = [(analysis, analysis.run(statement.partitions)) for analysis in analyses]
    kinds = {analysis.kind for analysis in analyses} | {"View", "Rows"}
    others = [section.kind for section in plan.sections if section.kind not in kinds]
    if statement.is_json:
        return _as_json(reports, rows, seconds)
    is_lost = not rows and all(report.results for _, report in reports)
    return _as_text(reports, rows, seconds, others, _lost(list(_words_around(plan))) if is_lost else "")


# The words of a clause's own query that are applied before the clause.
_BEFORE: Mapping[type[Part], frozenset[str]] = {
    EmitClause: frozenset({"WHERE", "JOIN", "TABLESAMPLE"}),
    WindowClause: frozenset({"WHERE", "JOIN", "TABLESAMPLE", "HAVING"}),
}


def _words_around(plan: StatementPlan) -> Iterator[str]:
    """The parts of a statement, and of the stored views that it reads, that are applied to the rows of its clauses."""
    statement = parse_statement(plan.call.text)
    inners = [
        Inner(part.keyword if isinstance(part, EmitClause) else part.whole, _BEFORE.get(type(part), frozenset()))
        for part in statement.parts
        if isinstance(part, (ClauseSite, JoinClause, WindowClause, EmitClause))
    ]
    for view in plan.views:
        if view.statement.analyses():
            yield from _words_around(view.statement)
            inners.append(Inner(Fragment(view.place.text, view.place.start, view.place.stop)))
    yield from words_around(statement.tree, inners)


def _lost(words: Sequence[str]) -> str:
    """Why a query returns no row though its clauses do: the parts around them.

    >>> _lost(["WHERE a = 2", "LIMIT 0"])
    ': each part above has results, and LIMIT 0 leaves none'
    >>> _lost(["JOIN u ON k", "WHERE a = NULL", "LIMIT 5"])[35:]
    'JOIN u ON k or WHERE a = NULL leaves none. Nothing is equal to NULL: write a IS NULL.'
    >>> _lost([])
    ': each part above has results, and the query around them leaves none'
    """
    zero = [word for word in words if word == "LIMIT 0"]
    others = dict.fromkeys(short(word, _LONGEST_WORDS) for word in words if not re.fullmatch(r"LIMIT \d+", word))
    named = zero[:1] or list(others) or ["the query around them"]
    hint = next(filter(None, map(equal_to_null, words)), "")
    return f": each part above has results, and {' or '.join(named)} leaves none{'. ' if hint else ''}{hint}"


def _not_analyzed(why: str, place: Place) -> UnsupportedError:
    hint = "EXPLAIN MATCH, without ANALYZE, says how other clauses are run."
    return UnsupportedError(
        "NOT_ANALYZED", f"EXPLAIN MATCH ANALYZE has nothing to count: {why}", place=place, hint=hint
    )


def _run(frame: DataFrame) -> int:
    """Run a query to its end; return the number of its rows."""
    observed = Observation()
    frame.observe(observed, F.count(F.lit(1)).alias("rows")).write.format("noop").mode("overwrite").save()
    return int(observed.get["rows"])


def _as_json(reports: Sequence[tuple[Analysis, PartReport]], rows: int, seconds: float) -> str:
    parts = [report.as_json() for _, report in reports]
    return json.dumps({"rows": rows, "seconds": round(seconds, 3), "clauses": parts}, indent=2)


def _as_text(
    reports: Sequence[tuple[Analysis, PartReport]], rows: int, seconds: float, others: list[str], lost: str
) -> str:
    """`lost`: why there is no row, or nothing."""
    parts = [
        f"== {part.kind} {i}, line {report.line}{part.of} ==\n{report.text()}"
        for i, (part, report) in enumerate(reports, 1)
    ]
    seen = [f"not counted here: {', '.join(others)}"] if others else []
    parts.append("\n".join(["== Query ==", f"rows of the result: {rows:,}{lost}", f"it took {seconds:.1f} s", *seen]))
    return "\n\n".join(parts)
