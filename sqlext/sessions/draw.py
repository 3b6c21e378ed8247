"""Draws the pattern of a query, with the counts of EXPLAIN MATCH ANALYZE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sqlext.errors import Place
    from sqlext.formatting.automaton_picture import PatternPicture

# This is light by design, as `explain` is.


def draw(
    query: str, args: Any = None, *, counts: bool = True, spark: SparkSession | None = None, **frames: Any
) -> PatternPicture:
    """Draw the automaton of the last MATCH_RECOGNIZE of a query: its elements, and which one may follow which.

    `counts`: run the query as EXPLAIN MATCH ANALYZE does, and write on each edge from how many start rows the search
    took it; without them nothing is run, and no session is needed. `spark`: the session, by default the active one.
    Raises the SqlExtError that running the query would raise, and UnsupportedError (DRAWING) if there is no
    MATCH_RECOGNIZE in its text, or the picture would be too large.

    >>> query = '''SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts
    ...   PATTERN (strt down+ up+) DEFINE down AS price < PREV(price), up AS price > PREV(price))'''
    >>> print(draw(query, counts=False).mermaid)
    flowchart LR
      n0(["(start)"])
      n1["strt"]
      n2["down#43;"]
      n3["up#43;"]
      n4(["(match)"])
      n0 --> n1
      n1 --> n2
      n2 --> n2
      n2 --> n3
      n3 --> n3
      n3 --> n4
    """
    from sqlext.errors import UnsupportedError
    from sqlext.formatting.automaton_picture import PatternPicture
    from sqlext.pattern.why.automaton import automaton
    from sqlext.rewriter.statements.kinds import ClauseSite
    from sqlext.rewriter.statements.parse_statement import parse_statement
    from sqlext.sessions.explain import check_text

    check_text(query)
    sites = parse_statement(query).of(ClauseSite)
    if not sites:
        raise UnsupportedError(
            "DRAWING",
            "there is no MATCH_RECOGNIZE to draw",
            hint="sqlext.draw draws the pattern of a MATCH_RECOGNIZE in the text of the query.",
        )
    clause = sites[-1].clause
    found = _counts(query, clause.keyword.place, args, spark, frames) if counts else {}
    return PatternPicture(automaton(clause.pattern, clause.pattern_text.source, **found))


def _counts(query: str, place: Place, args: Any, spark: SparkSession | None, frames: dict[str, Any]) -> dict[str, Any]:
    """The counts of the clause whose keyword is at a place, as `automaton` takes them."""
    import json

    from sqlext.sessions.explain import analyzed, call_on

    with call_on(spark, query, args, frames) as call:
        report = json.loads(analyzed(call, is_json=True))
    counted = [clause for clause in report["clauses"] if clause.get("elements")]
    clause = [c for c in counted if (c["line"], c["column"]) == (place.line, place.column)][-1]  # views come first
    return {
        "reached": [element["reached"] for element in clause["elements"]],
        "tried": clause["funnel"]["tried"],
        "matches": clause["funnel"]["matches"],
    }
