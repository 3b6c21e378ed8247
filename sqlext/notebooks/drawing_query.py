"""The query whose rows are drawn: all rows of a MATCH_RECOGNIZE, each with the number of its match and its variable."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.errors import UnsupportedError
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.statements.kinds import ClauseSite
from sqlext.rewriter.statements.parse_statement import parse_statement, with_clause
from sqlext.rewriter.text.names import split_name
from sqlext.rewriter.text.splice import Edit, Source

MATCH, VARIABLE = "sqlext_match", "sqlext_variable"  # the columns of the number and of the variable
_MEASURES = f"MEASURES MATCH_NUMBER() AS {MATCH}, CLASSIFIER() AS {VARIABLE} ALL ROWS PER MATCH WITH UNMATCHED ROWS "


@dataclass(frozen=True, kw_only=True)
class DrawingQuery:
    """`time` and `keys` are columns of the query's result; `conditions` are the conditions of DEFINE."""

    text: str
    time: str
    keys: tuple[str, ...]
    conditions: str


def drawing_query(statement: str) -> DrawingQuery | None:
    """The query for the last MATCH_RECOGNIZE of a statement; None if it has none. Raises UnsupportedError (DRAWING).

    >>> text = "SELECT n FROM t MATCH_RECOGNIZE (ORDER BY d MEASURES COUNT(*) AS n PATTERN (a b) DEFINE b AS b.x > 1)"
    >>> drawing_query(text).text.replace(_MEASURES, "…")
    'SELECT * FROM t MATCH_RECOGNIZE (ORDER BY d … PATTERN (a b) DEFINE b AS b.x > 1)'
    """
    parsed = parse_statement(statement)
    if not parsed.of(ClauseSite):
        return None
    clause = parsed.of(ClauseSite)[-1].clause
    if not clause.order_by:
        raise UnsupportedError(
            "DRAWING",
            "without ORDER BY there is no time to draw over",
            place=clause.keyword.place,
            hint="write ORDER BY with a column of times.",
        )
    ctes = with_clause(parsed.ctes(clause.whole), Source(statement, ()))
    body = Source(statement, _edits(statement, clause)).of(clause.whole)
    return DrawingQuery(
        text=f"{ctes}SELECT * FROM {body}",
        time=split_name(clause.order_by[0].expression.text)[-1],
        keys=tuple(split_name(key.expression.text)[-1] for key in clause.partition_by),
        conditions=" ".join(definition.condition.text for definition in clause.definitions),
    )


def _edits(statement: str, clause: MatchClause) -> tuple[Edit, ...]:
    """The edits that replace MEASURES and ROWS PER MATCH."""
    upper = statement.upper()
    rows, after = clause.rows_per_match.fragment, clause.after_match
    edits = [Edit(rows.start, rows.stop, "")] if rows is not None else []
    if clause.measures:
        start = upper.rindex("MEASURES", 0, clause.measures[0].expression.start)
        return (Edit(start, clause.measures[-1].name.fragment.stop, _MEASURES), *edits)
    starts = [upper.rindex("PATTERN", 0, clause.pattern_text.start)]
    starts += [part.start for part in (rows, after.fragment if after is not None else None) if part is not None]
    start = min(starts)
    return (Edit(start, start, _MEASURES), *edits)
