"""Reads names with a qualifier, such as `a.ts`, in the expressions of a join."""

from __future__ import annotations

from collections.abc import Mapping

from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.splice import Text
from sqlext.rewriter.text.tokens import QUERY_STARTS, tokenize


def qualified_column(expression: Text) -> tuple[str, str] | None:
    """The qualifier and the column, both in lower case, of an expression that is such a name; None for any other one.

    >>> from sqlext.rewriter.text.splice import join
    >>> [qualified_column(join(text)) for text in ("A.`t s`", "(a.ts)", "a.s.x", "a.ts + 1", "ts")]
    [('a', 't s'), ('a', 'ts'), None, None, None]
    """
    tokens = tokenize(str(expression))
    while len(tokens) > 2 and tokens[0].text == "(" and tokens[-1].text == ")":
        tokens = tokens[1:-1]
    if len(tokens) != 3 or tokens[1].text != "." or not (tokens[0].is_name and tokens[2].is_name):
        return None
    return unquoted(tokens[0].text).lower(), unquoted(tokens[2].text).lower()


def qualifiers(expression: Text) -> frozenset[str]:
    """The qualifiers, in lower case, of the names with two parts. (The first part of `a.b.c` may be a schema.)

    The set is empty for expressions in which such a part may be a relation of a subquery.

    >>> from sqlext.rewriter.text.splice import join
    >>> sorted(qualifiers(join("abs(A.x - `b`.y) + db.f(1) + v:c.d + e.s.x")))
    ['a', 'b']
    >>> qualifiers(join("exists(a.l, b -> b.x > 1)")), qualifiers(join("a.x IN (SELECT b.x FROM b)"))
    (frozenset({'a'}), frozenset())
    """
    tokens = tokenize(str(expression))
    if any(token.word in QUERY_STARTS for token in tokens):
        return frozenset()
    names = set()
    for i in range(len(tokens) - 2):
        first, dot, second = tokens[i : i + 3]
        is_part = i > 0 and tokens[i - 1].text in (".", ":")
        goes_on = i + 3 < len(tokens) and tokens[i + 3].text in (".", "(")
        if first.is_name and dot.text == "." and second.is_name and not is_part and not goes_on:
            names.add(unquoted(first.text).lower())
    return frozenset(names)


def with_names(expression: str, columns: Mapping[tuple[str, str], str]) -> str:
    """The expression with other names for columns, which `columns` has by their qualifiers and names in lower case.

    >>> with_names("A.x <> `b`.y AND b.y.z > a.u", {("a", "x"): "p", ("b", "y"): "q"})
    'p <> q AND b.y.z > a.u'
    """
    tokens = tokenize(expression)
    parts, end = [], 0
    for i in range(len(tokens) - 2):
        first, dot, second = tokens[i : i + 3]
        name = columns.get((unquoted(first.text).lower(), unquoted(second.text).lower()))
        is_part = i > 0 and tokens[i - 1].text in (".", ":")
        goes_on = i + 3 < len(tokens) and tokens[i + 3].text in (".", "(")
        if name is not None and dot.text == "." and not is_part and not goes_on:
            parts += [expression[end : first.start], name]
            end = second.stop
    return "".join([*parts, expression[end:]])
