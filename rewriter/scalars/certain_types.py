"""The types of simple expressions over columns, which are certain without an analysis by Spark."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sqlext.rewriter.scalars.expression import Node, parse
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import Lexeme, lexemes
from sqlext.rewriter.text.names import repeated, unquoted

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_CLASSES = {**dict.fromkeys((*_INTEGERS, "float", "double", "decimal"), "number"), "string": "string",
            "boolean": "boolean", "date": "date", "timestamp": "timestamp"}  # fmt: skip
_COMPARISONS = ("=", "==", "<=>", "<>", "!=", "<", "<=", ">", ">=")
_INT = re.compile(r"\d{1,9}")  # longer ones may be bigint
_STRING = re.compile(r"'[^'\\]*'")


def certain_type(text: str, columns: Sequence[tuple[str, str]]) -> str | None:
    """The type that Spark gives to an expression over `columns`, pairs of name and type; None if that is not certain.

    Certain are columns, comparisons of values of one class, AND, OR, NOT and coalesce of one type, which no setting of
    the session changes. Spark never refuses such an expression.

    >>> columns = [("k", "bigint"), ("v", "double"), ("s", "string")]
    >>> [certain_type(text, columns) for text in ("k", "(v) > 10 AND s = 'x'", "s > 1", "V", "k + 1", "f(k)")]
    ['bigint', 'boolean', None, None, None, None]
    """
    items = lexemes(Fragment(text, 0, len(text)))
    ambiguous = repeated(name for name, _ in columns)
    known = {name: spark_type for name, spark_type in columns if name.lower() not in ambiguous}
    return _type(parse(items, 0, len(items)), items, known)


def _type(node: Node, items: Sequence[Lexeme], columns: Mapping[str, str]) -> str | None:
    if node.kind in ("column", "literal"):
        own = [item.raw for item in items[node.start : node.stop] if item.raw not in ("(", ")")]
        if len(own) != 1:
            return None
        return columns.get(unquoted(own[0])) if node.kind == "column" else _literal(own[0])
    types = [_type(child, items, columns) for child in node.children]
    classes = {_CLASSES.get((spark_type or "").partition("(")[0]) for spark_type in types}
    if len(classes) != 1 or None in classes:
        return None
    if node.kind in _COMPARISONS or (node.kind in ("AND", "OR", "NOT") and classes == {"boolean"}):
        return "boolean"
    is_coalesce = node.kind == "call" and node.name == "coalesce"
    return types[0] if is_coalesce and len(set(types)) == 1 else None


def _literal(raw: str) -> str | None:
    if _INT.fullmatch(raw):
        return "int"
    return "string" if _STRING.fullmatch(raw) else None
