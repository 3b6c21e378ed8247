"""What a clause from another system means there and does not mean here, although it is accepted: for EXPLAIN MATCH.

A clause is from another system if it has that system's own words. docs/migration/README.md has the same list.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.text.tokens import NUMBER, Tokens, tokenize

_FLINK = frozenset({"MATCH_ROWTIME", "MATCH_PROCTIME", "ROWTIME", "PROCTIME", "ROW_TIME", "PROC_TIME"})
_SNOWFLAKE = frozenset({"LAG", "LEAD", "MATCH_SEQUENCE_NUMBER"})


def differences(clause: MatchClause) -> list[str]:
    """One sentence for each difference that the text of the clause shows.

    >>> from sqlext.rewriter.match.parse_match import parse_match
    >>> from sqlext.rewriter.match.sites import scan
    >>> text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY rowtime PATTERN (A) DEFINE A AS x / 2 > 1)"
    >>> for sentence in differences(parse_match(text, tokenize(text), scan(text)[0])):
    ...     print(sentence)
    Flink goes on at the next row: write AFTER MATCH SKIP TO NEXT ROW for its matches.
    In Flink and Trino 5 / 2 is 2, here it is 2.5: write 5 div 2.
    """
    return list(_differences(clause))


def _differences(clause: MatchClause) -> Iterator[str]:
    expressions = [m.expression for m in clause.measures] + [d.condition for d in clause.definitions]
    tokens = [tokenize(fragment.text) for fragment in expressions]
    keys = [tokenize(key.expression.text) for key in clause.order_by]
    words = {token.word for part in [*tokens, *keys] for token in part}
    is_of_flink, is_of_snowflake = bool(words & _FLINK), bool(words & _SNOWFLAKE)
    has_offset = clause.rows_per_match.is_all_rows and any(map(_has_first_with_offset, tokens))
    if is_of_flink and clause.after_match is None:
        yield "Flink goes on at the next row: write AFTER MATCH SKIP TO NEXT ROW for its matches."
    if is_of_snowflake and any(key.nulls_first is None and not key.is_descending for key in clause.order_by):
        yield "Snowflake, Oracle, Trino and DuckDB sort NULL last, Spark first: write NULLS LAST in ORDER BY."
    if (is_of_flink or has_offset) and "/" in words:
        yield "In Flink and Trino 5 / 2 is 2, here it is 2.5: write 5 div 2."
    if has_offset:
        yield "Trino looks ahead for FIRST(x, n), which is NULL here before row n + 1: write FINAL FIRST(x, n)."


def _has_first_with_offset(tokens: Tokens) -> bool:
    """True for `FIRST(x, 1)` without FINAL."""
    if any(token.word == "FINAL" for token in tokens):
        return False
    is_first = any(a.word == "FIRST" and b.text == "(" for a, b in pairwise(tokens))
    return is_first and any(a.text == "," and b.kind == NUMBER for a, b in pairwise(tokens))
