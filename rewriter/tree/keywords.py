"""Decides from its neighbours alone whether a word is a keyword or a name, because Spark reserves no keyword."""

from __future__ import annotations

from collections.abc import Sequence

from sqlext.rewriter.text.tokens import NUMBER, QUERY_STARTS, QUOTED, STRING, WORD, Token, Tokens, is_at

TIME_JOINS = frozenset({"INTERVAL", "ASOF"})
TYPE_WORDS = frozenset({"INNER", "LEFT", "RIGHT", "FULL", "OUTER", "SEMI", "ANTI", "CROSS", "NATURAL"})
INTERVAL_UNITS = frozenset({
    "MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR", "MICROSECONDS",
    "MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS", "WEEKS", "MONTHS", "YEARS",
})  # fmt: skip
ORDER_WORDS = frozenset({"ASC", "DESC", "NULLS", "FIRST", "LAST"})  # after a key of ORDER BY

# No operand ends with these words, so the word after one of them is a name, whatever else it may mean.
_OPERATORS = frozenset([
    "AND", "OR", "NOT", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "IN", "IS", "DIV", "CASE", "WHEN", "THEN",
    "ELSE", "ON", "USING", "AS", "FROM", "JOIN", "STREAM", "LATERAL", "SELECT", "DISTINCT", "WHERE", "BY", "HAVING",
    "SET", "CROSS", "INNER", "NATURAL", "TABLE", "UPDATE", "INTO", "QUALIFY", "LIMIT", "OFFSET", "EXISTS", "ESCAPE",
])  # fmt: skip
SET_OPERATIONS = frozenset({"UNION", "EXCEPT", "INTERSECT", "MINUS"})
_ENDS_QUERY = SET_OPERATIONS | {"|>", ";"}
_HAS_BY = frozenset({"GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE"})
# A FROM, and with it the condition of its last join, ends at these words.
_ENDS_FROM = _ENDS_QUERY | _HAS_BY | {
    "WHERE", "HAVING", "LIMIT", "OFFSET", "QUALIFY", "WINDOW", "SELECT", "INSERT", "MAP", "REDUCE",
}  # fmt: skip
_BEFORE_STAR = frozenset({"SELECT", "DISTINCT", "ALL", "SET", "INSERT"})


def ends_operand(tokens: Tokens, i: int) -> bool:
    """Whether a relation or an expression can end with token i.

    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> [ends_operand(tokenize("a . in ) AND"), i) for i in range(5)]
    [True, False, True, True, False]
    """
    token = tokens[i]
    if token.kind == WORD:
        return token.word not in _OPERATORS or (i > 0 and tokens[i - 1].text == ".")
    return token.kind in (QUOTED, STRING, NUMBER) or token.text in (")", "]", "}", "?")


def is_surely_name(tokens: Tokens, i: int) -> bool:
    """Whether a keyword at token i is a name, as `set` is in `FROM set`, `x.set` and `AS set`."""
    before = tokens[i - 1].word if i else ""
    if tokens[i].kind != WORD or tokens[i].word in ("SELECT", "FROM", "JOIN"):
        return before == "."
    return before in (".", "AS", "FROM", "JOIN", ",", "STREAM")


def after_join(tokens: Tokens, keyword: int) -> int | None:
    """The index after the words of a join, or None if there is no join.

    Token `keyword` is JOIN, INTERVAL or ASOF. The type of the join may follow ASOF, as in DuckDB and ClickHouse; after
    INTERVAL it is an error that the parser reports.

    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> [after_join(tokenize(t), 0) for t in ("JOIN", "INTERVAL JOIN", "ASOF LEFT OUTER JOIN", "ASOF x", "JOIN LEFT")]
    [1, 2, 4, None, 1]
    """
    k = keyword + (tokens[keyword].word in TIME_JOINS)
    while k > keyword and k < len(tokens) and tokens[k].word in TYPE_WORDS:
        k += 1
    return k + 1 if is_at(tokens, k, "JOIN") else None


def is_time_join(tokens: Tokens, i: int) -> bool:
    """Whether token i is the first word of INTERVAL JOIN or ASOF JOIN, not the name of a column, relation or alias.

    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> [is_time_join(tokenize(t), 2) for t in ("FROM a INTERVAL JOIN b", "a AS interval JOIN b", "x = interval JOIN")]
    [True, False, False]
    """
    if tokens[i].word not in TIME_JOINS or after_join(tokens, i) is None:
        return False
    return i > 0 and (ends_operand(tokens, i - 1) or tokens[i - 1].word in TYPE_WORDS | {"|>"})


def first_word_of_join(tokens: Tokens, keyword: int) -> int:
    """The index of the first word of a join's type, or `keyword` where it has none; OUTER alone is an alias."""
    first = keyword
    while first and tokens[first - 1].word in TYPE_WORDS and not is_surely_name(tokens, first - 1):
        first -= 1
    return first + 1 if tokens[first].word == "OUTER" else first


def begins_join(tokens: Tokens, i: int) -> bool:
    """Whether a join, one of Spark's own or a join on time, begins at token i with its type or its keyword."""
    k = i
    while k < len(tokens) and tokens[k].word in TYPE_WORDS:
        k += 1
    if k == len(tokens) or (tokens[k].word in TIME_JOINS and k == i and not is_time_join(tokens, k)):
        return False
    return after_join(tokens, k) is not None and not is_surely_name(tokens, i)


def ends_from(tokens: Tokens, i: int) -> bool:
    """Whether a clause that follows FROM begins at token i, or the query ends there."""
    token, after = tokens[i], tokens[i + 1].word if i + 1 < len(tokens) else ""
    if token.text in (";", "|>"):
        return True
    if token.word not in _ENDS_FROM or not i or not ends_operand(tokens, i - 1) or is_surely_name(tokens, i):
        return False
    if token.word in _HAS_BY:
        return after == "BY"
    if token.word == "WINDOW":
        return is_at(tokens, i + 2, "AS")
    is_column = i + 1 == len(tokens) or after in ("ON", "USING", ",", ")") or begins_join(tokens, i + 1)
    return token.word not in ("LIMIT", "OFFSET") or not is_column


def ends_query(tokens: Tokens, i: int) -> bool:
    """Whether token i begins a set operation, a pipe or a semicolon; the EXCEPT of `* EXCEPT (…)` is none of them."""
    return tokens[i].word in _ENDS_QUERY and ends_from(tokens, i)


def ends_relations(tokens: Tokens, i: int) -> bool:
    """Whether a PIVOT, an UNPIVOT or a LATERAL VIEW, which reads all relations before it, begins at token i."""
    word, after = tokens[i].word, tokens[i + 1].word if i + 1 < len(tokens) else ""
    is_one = word in ("LATERAL", "PIVOT", "UNPIVOT") and after in ("VIEW", "(", "INCLUDE", "EXCLUDE")
    return is_one and i > 0 and ends_operand(tokens, i - 1)


def begins_query(tokens: Tokens, i: int) -> bool:
    """Whether token i, which follows a parenthesis, begins a query; the query may be in further parentheses."""
    while is_at(tokens, i, "("):
        i += 1
    return i < len(tokens) and tokens[i].word in QUERY_STARTS


def is_star(tokens: Sequence[Token], i: int) -> bool:
    """Whether the `*` at token i means all columns, and is not part of COUNT(*) or a multiplication."""
    if tokens[i].text != "*":
        return False
    before = tokens[i - 1]
    if before.text == "(" and i > 1 and i + 1 < len(tokens):
        return not (tokens[i - 2].word == "COUNT" and tokens[i + 1].text == ")")
    return before.text not in (")", "]") and (
        before.kind not in (NUMBER, STRING) and (not before.is_name or before.word in _BEFORE_STAR)
    )


def without_pipe(text: str, tokens: Tokens, pipe: int) -> str:
    """The query before the pipe at token `pipe`, written as a FROM clause, for a hint."""
    depth, start = tokens[pipe].depth, pipe
    while start and tokens[start - 1].depth >= depth and tokens[start - 1].text != ";":
        start -= 1
    froms = [i for i in range(start, pipe) if tokens[i].depth == depth and tokens[i].word == "FROM"]
    start = start if tokens[start].word in QUERY_STARTS | {"("} else (froms or [start])[0]
    query = text[tokens[start].start : tokens[pipe - 1].stop] if start < pipe else ""
    is_relation = froms[:1] == [start] and not any(t.word in ("|>", "WHERE") for t in tokens[start:pipe])
    if not query or len(query) > 60 or "\n" in query:
        query, is_relation = "the query before the pipe", False
    return query if is_relation else f"FROM ({query})"
