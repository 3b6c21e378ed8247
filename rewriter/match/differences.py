"""What a clause from another system means there and does not mean here, although it is accepted: for EXPLAIN MATCH.

A clause is from another system if it has that system's own words. docs/migration/README.md has the same list.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise

from sqlext.pattern.program.ast import GREEDY, Quantified, walk
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.text.tokens import NUMBER, STRING, Tokens, tokenize

_FLINK = frozenset({"MATCH_ROWTIME", "MATCH_PROCTIME", "ROWTIME", "PROCTIME", "ROW_TIME", "PROC_TIME"})
_SNOWFLAKE = frozenset({"LAG", "LEAD", "MATCH_SEQUENCE_NUMBER"})
_ORACLE = frozenset({"DECODE", "NVL2", "TO_CHAR"})


def differences(clause: MatchClause, columns: Collection[str] = ()) -> list[str]:
    """One sentence for each difference that the text of the clause shows. `columns`: the names of the
    input's columns.

    >>> from sqlext.rewriter.match.parse_match import parse_match
    >>> from sqlext.rewriter.match.sites import scan
    >>> text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY rowtime PATTERN (A) DEFINE A AS x / 2 > 1)"
    >>> for sentence in differences(parse_match(text, tokenize(text), scan(text)[0])):
    ...     print(sentence)
    Flink goes on at the next row: write AFTER MATCH SKIP TO NEXT ROW for its matches.
    In Flink and Trino 5 / 2 is 2, here it is 2.5: write 5 div 2.
    >>> text = (
    ...     "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY rowtime MEASURES AVG(B.x) AS mean AFTER MATCH SKIP TO NEXT ROW "
    ...     "PATTERN (A B+ C? D) DEFINE B AS x > 1)"
    ... )
    >>> for sentence in differences(parse_match(text, tokenize(text), scan(text)[0])):
    ...     print(sentence)
    In Flink a greedy loop gives no row back, here it does: write B++.
    Flink leaves an optional row out where the match can do without it: write B??.
    In Flink AVG of integers is an integer, here it is a double: write CAST(AVG(x) AS INT).
    >>> text = 'SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts DESC PATTERN (A) DEFINE A AS "Price" > NVL2(y, 1, 2))'
    >>> for sentence in differences(parse_match(text, tokenize(text), scan(text)[0]), ["ts", "price"]):
    ...     print(sentence)
    Here "Price" is a text, and in Oracle, Snowflake, Trino, DuckDB and ClickHouse a column: write `Price`.
    Oracle and Snowflake sort NULL first with DESC, Spark last: write … DESC NULLS FIRST.
    """
    return list(_differences(clause, {name.lower() for name in columns}))


def _differences(clause: MatchClause, columns: set[str]) -> Iterator[str]:
    expressions = [m.expression for m in clause.measures] + [d.condition for d in clause.definitions]
    tokens = [tokenize(fragment.text) for fragment in expressions]
    keys = [tokenize(key.expression.text) for key in clause.order_by]
    words = {token.word for part in [*tokens, *keys] for token in part}
    names = _names_in_double_quotes([*tokens, *keys], columns)
    is_of_flink, is_of_snowflake_or_oracle = bool(words & _FLINK), bool(words & (_SNOWFLAKE | _ORACLE))
    has_offset = clause.rows_per_match.is_all_rows and any(map(_has_first_with_offset, tokens))
    descending = {key.is_descending for key in clause.order_by if key.nulls_first is None}
    if is_of_flink and clause.after_match is None:
        yield "Flink goes on at the next row: write AFTER MATCH SKIP TO NEXT ROW for its matches."
    if is_of_flink:
        yield from _quantifiers_of_flink(clause)
    if is_of_flink and "AVG" in words:
        yield "In Flink AVG of integers is an integer, here it is a double: write CAST(AVG(x) AS INT)."
    for name in names:
        yield (
            f'Here "{name}" is a text, and in Oracle, Snowflake, Trino, DuckDB and ClickHouse a column: write `{name}`.'
        )
    if (is_of_snowflake_or_oracle or names or has_offset) and False in descending:
        yield "Oracle, Snowflake, Trino, DuckDB and ClickHouse sort NULL last, Spark first: write … NULLS LAST."
    if is_of_snowflake_or_oracle and True in descending:
        yield "Oracle and Snowflake sort NULL first with DESC, Spark last: write … DESC NULLS FIRST."
    if (is_of_flink or has_offset) and "/" in words:
        yield "In Flink and Trino 5 / 2 is 2, here it is 2.5: write 5 div 2."
    if has_offset:
        yield "Trino looks ahead for FIRST(x, n), which is NULL here before row n + 1: write FINAL FIRST(x, n)."


def _quantifiers_of_flink(clause: MatchClause) -> Iterator[str]:
    quantified = [node for node in walk(clause.pattern) if isinstance(node, Quantified) and node.mode == GREEDY]
    counts = {(node.at_least, node.at_most) for node in quantified}
    if any(at_most is None for _, at_most in counts):
        yield "In Flink a greedy loop gives no row back, here it does: write B++."
    if (0, 1) in counts:
        yield "Flink leaves an optional row out where the match can do without it: write B??."


def _names_in_double_quotes(parts: list[Tokens], columns: set[str]) -> list[str]:
    """The texts in double quotes that are names of columns, each one once."""
    texts = (t.text[1:-1] for part in parts for t in part if t.kind == STRING and t.text[0] == '"')
    return list(dict.fromkeys(text for text in texts if text.lower() in columns))


def _has_first_with_offset(tokens: Tokens) -> bool:
    """True for `FIRST(x, 1)` without FINAL."""
    if any(token.word == "FINAL" for token in tokens):
        return False
    is_first = any(a.word == "FIRST" and b.text == "(" for a, b in pairwise(tokens))
    return is_first and any(a.text == "," and b.kind == NUMBER for a, b in pairwise(tokens))
