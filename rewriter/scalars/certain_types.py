"""The types of simple expressions over columns, which are certain without an analysis by Spark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from sqlext.expressions.spark_types import FLOATS, INTEGER_BITS, decimal_of
from sqlext.rewriter.scalars.expression import Node, own_items, parse
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import Lexeme, lexemes
from sqlext.rewriter.text.names import repeated, unquoted

_CLASSES_OF_THEIR_OWN = ("string", "boolean", "date", "timestamp")
_COMPARISONS = ("=", "==", "<=>", "<>", "!=", "<", "<=", ">", ">=")
_INT = re.compile(r"\d{1,9}")  # longer ones may be bigint
_STRING = re.compile(r"'[^'\\]*'")


def certain_types(texts: Iterable[str], columns: Sequence[tuple[str, str]]) -> list[str] | None:
    """The types that Spark gives to expressions over `columns`, pairs of name and type; None unless all are certain.

    Certain are columns, comparisons of values of one class, AND, OR, NOT and coalesce of one type, which no setting of
    the session changes. Spark never refuses such an expression.

    >>> columns = [("k", "bigint"), ("v", "double"), ("s", "string")]
    >>> certain_types(("k", "(v) > 10 AND s = 'x'"), columns)
    ['bigint', 'boolean']
    >>> [certain_types(("k", text), columns) for text in ("s > 1", "V", "k + 1", "f(k)")]
    [None, None, None, None]
    """
    ambiguous = repeated(name for name, _ in columns)
    known = {name: spark_type for name, spark_type in columns if name.lower() not in ambiguous}
    types = []
    for text in texts:
        items = lexemes(Fragment(text, 0, len(text)))
        spark_type = _type(parse(items, 0, len(items)), items, known)
        if spark_type is None:
            return None
        types.append(spark_type)
    return types


def _type(node: Node, items: Sequence[Lexeme], columns: Mapping[str, str]) -> str | None:
    if node.kind in ("column", "literal"):
        own = [item.raw for item in own_items(node, items)]
        if len(own) != 1:
            return None
        return columns.get(unquoted(own[0])) if node.kind == "column" else _literal(own[0])
    types = [_type(child, items, columns) for child in node.children]
    classes = set(map(_class, types))
    if len(classes) != 1 or None in classes:
        return None
    if node.kind in _COMPARISONS or (node.kind in ("AND", "OR", "NOT") and classes == {"boolean"}):
        return "boolean"
    is_coalesce = node.kind == "call" and node.name == "coalesce"
    return types[0] if is_coalesce and len(set(types)) == 1 else None


def _class(spark_type: str | None) -> str | None:
    """The class of a type whose values can be compared with each other; None if that is not certain."""
    if spark_type is None or spark_type in _CLASSES_OF_THEIR_OWN:
        return spark_type
    return "number" if spark_type in (*INTEGER_BITS, *FLOATS) or decimal_of(spark_type) else None


def _literal(raw: str) -> str | None:
    if _INT.fullmatch(raw):
        return "int"
    return "string" if _STRING.fullmatch(raw) else None
