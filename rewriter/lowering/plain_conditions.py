"""Recognises expressions that Spark certainly computes without an error, whatever the row: columns, literals, and
comparisons of them without a cast that may fail."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlext.expressions.spark_types import FLOATS, INTEGER_BITS, MAX_DIGITS, TIME_TYPES, decimal_of
from sqlext.rewriter.scalars.expression import Node, own_items, parse
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import Lexeme, lexemes
from sqlext.rewriter.text.names import unquoted

_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">=", "<=>", "IN", "BETWEEN"})
_NUMBERS = frozenset({*INTEGER_BITS, *FLOATS})
_NUMBER = re.compile(r"-? ?(\d{1,18}|\d{1,9}\.\d{1,9})(L|S|Y|BD)?", re.IGNORECASE)
_STRING = re.compile(r"'([^'\\]|\\.|'')*'", re.DOTALL)
_TYPED = re.compile(r"(DATE|TIMESTAMP|TIMESTAMP_NTZ|TIMESTAMP_LTZ) ?'[^'\\]*'", re.IGNORECASE)
_TIME = re.compile(r"'(\d{4}-\d\d-\d\d)( \d\d:\d\d:\d\d(\.(\d{3}|\d{6}))?)?'")


def raises_no_error(text: str, types: Mapping[str, str]) -> bool:
    """True if the expression consists of columns, literals, safe comparisons, IS NULL, AND, OR and NOT.

    `types`: the types of the columns, by their names in lower case. Such an expression is deterministic, too.

    >>> types = {"v": "int", "s": "string", "ts": "timestamp"}
    >>> [raises_no_error(text, types) for text in ("t.v", "v IN (1, 2) AND NOT (s) LIKE 'a%'", "ts > '2026-01-01'")]
    [True, True, True]
    >>> [raises_no_error(text, types) for text in ("v = 'x'", "v IN ('x')", "v / 2 > 1", "f(v)", "s = v")]
    [False, False, False, False, False]
    """
    items = lexemes(Fragment(text, 0, len(text)))
    return _ConditionReader(items, types).is_safe(parse(items, 0, len(items)))


@dataclass(frozen=True)
class _ConditionReader:
    items: Sequence[Lexeme]
    types: Mapping[str, str]

    def is_safe(self, node: Node) -> bool:
        if node.kind in ("column", "literal", "negate"):
            return node.kind == "column" or literal_kind(own_items(node, self.items)) is not None
        if node.kind in ("AND", "OR", "NOT", "IS NULL", "field"):
            return all(map(self.is_safe, node.children))
        compared = compared_with_literals(node, self.items)
        if compared is None:
            return False
        operands, literals = compared
        types = {self.column_type(operand) for operand in operands}
        is_of_one_kind = len(types) == 1 or types <= _NUMBERS
        return is_of_one_kind and all(t and compares_without_error(t, literals) for t in types)

    def column_type(self, node: Node) -> str | None:
        """The type of the column, None if the node is not one, or is a field of a struct."""
        names = [unquoted(item.raw).lower() for item in own_items(node, self.items) if item.is_name]
        is_column = node.kind == "column" or (node.kind == "field" and len(names) == 2 and names[0] not in self.types)
        return self.types.get(names[-1]) if is_column else None


def compared_with_literals(node: Node, items: Sequence[Lexeme]) -> tuple[list[Node], list[str]] | None:
    """The operands of a comparison, IN, BETWEEN or LIKE that are not literals, and the kinds of the literals; None for
    other nodes.

    The kinds are "number", "string", "date string", "time string", "date", "time", "boolean", "null" and "pattern".
    """
    if node.kind == "LIKE" and len(node.children) == 2:
        value, pattern = node.children
        has_escape = any("\\" in item.raw for item in own_items(pattern, items))  # a wrong one is an error
        return ([value], ["pattern"]) if pattern.kind == "literal" and not has_escape else None
    if node.kind not in _COMPARISONS:
        return None
    kinds = [literal_kind(own_items(x, items)) if x.kind in ("literal", "negate") else None for x in node.children]
    return [x for x, kind in zip(node.children, kinds) if kind is None], [kind for kind in kinds if kind is not None]


def compares_without_error(spark_type: str, literals: Iterable[str]) -> bool:
    """True if comparing a value of this type with literals of these kinds certainly raises no error.

    >>> compares_without_error("timestamp", ["time string"]), compares_without_error("int", ["string"])
    (True, False)
    """
    if spark_type == "string":
        allowed = {"string", "date string", "time string", "pattern"}
    elif spark_type in TIME_TYPES:
        allowed = {"date", "time", "date string"} | ({"time string"} if spark_type != "date" else set())
    elif spark_type == "boolean":
        allowed = {"boolean"}
    else:
        digits = decimal_of(spark_type)
        is_number = spark_type in (*INTEGER_BITS, *FLOATS) or (digits and digits[0] <= MAX_DIGITS)
        allowed = {"number"} if is_number else set()
    return set(literals) <= allowed | {"null"}


def literal_kind(parts: Sequence[Lexeme]) -> str | None:
    """The kind of a literal; None if the lexemes are not a literal."""
    text = " ".join(part.raw.strip() for part in parts)  # a bound parameter may have spaces around it
    if typed := _TYPED.fullmatch(text):
        return "date" if typed[1].upper() == "DATE" else "time"
    if _STRING.fullmatch(text):
        return _time(text) or "string"
    if _NUMBER.fullmatch(text):
        return "number"
    return {"TRUE": "boolean", "FALSE": "boolean", "NULL": "null"}.get(text.upper())


def _time(string: str) -> str | None:
    """The kind of a string in quotes: "date string" or "time string" if Spark reads it without an error, else None."""
    match = _TIME.fullmatch(string)
    if match is None:
        return None
    try:
        datetime.fromisoformat(string[1:-1])
    except ValueError:
        return None
    return "time string" if match[2] else "date string"
