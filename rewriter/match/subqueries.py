"""Finds the subqueries in DEFINE and MEASURES.

A subquery cannot read the row or the match, so it has one value for all rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlext.errors import BindError
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import SUBQUERY_STARTS, variable_key
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.tokens import closing, tokenize


def subqueries(clause: MatchClause) -> list[Fragment]:
    """The subqueries with their parentheses, in the order of the text, without those inside another subquery.

    >>> from sqlext.rewriter.match.parse_match import parse_match
    >>> from sqlext.rewriter.statements.scan import scan
    >>> text = "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x IN (SELECT max(y) FROM (SELECT 1 AS y)))"
    >>> [query.text for query in subqueries(parse_match(text, tokenize(text), scan(text)[0]))]
    ['(SELECT max(y) FROM (SELECT 1 AS y))']
    """
    expressions = [*(m.expression for m in clause.measures), *(d.condition for d in clause.definitions)]
    return sorted((q for e in expressions for q in _queries_in(e)), key=lambda query: query.start)


def _queries_in(expression: Fragment) -> Iterator[Fragment]:
    tokens = tokenize(expression.text)
    i = 0
    while i + 1 < len(tokens):
        if tokens[i].text == "(" and tokens[i + 1].word in SUBQUERY_STARTS:
            close = closing(tokens, i) or len(tokens) - 1
            yield expression.part(tokens, i, close + 1)
            i = close
        i += 1


def correlation_error(clause: MatchClause, columns: tuple[str, ...], error: BindError) -> BindError | None:
    """The error for a subquery that reads a row of the match; None if Spark's error has another reason.

    `columns`: the columns of the clause's input. `error`: the error that Spark reports for the subquery alone.
    """
    name = error.place
    if name is None or not error.error_class.startswith("SQLEXT_UNRESOLVED_COLUMN"):
        return None
    parts = [t.text for t in tokenize(name.text[name.start : name.stop]) if t.is_name]
    variables = {*clause.labels, *(s.name.key for s in clause.subsets)}
    is_of_variable = len(parts) > 1 and variable_key(parts[0]) in variables
    if not is_of_variable and unquoted(parts[-1]).lower() not in map(str.lower, columns):
        return None
    return BindError(
        "CORRELATED_SUBQUERY",
        "a subquery in MATCH_RECOGNIZE cannot read the row or the match around it",
        place=name,
        hint="make a join the input: FROM (SELECT … FROM t JOIN u ON …) MATCH_RECOGNIZE (…).",
    )
