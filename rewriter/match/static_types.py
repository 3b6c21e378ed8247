"""The types of simple expressions without Spark, for `sqlext_match`, which reads its arguments without a session.

Simple are columns, literals, operators and the functions that conditions know. The table argument computes the rest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NoReturn

from sqlext.errors import BindError, Place
from sqlext.expressions.spark_types import INTEGER_BITS, decimal_of
from sqlext.rewriter.match.compiled_condition import FUNCTIONS
from sqlext.rewriter.match.expression import Node, parse
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import Lexeme, lexemes
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.splice import Text

_INTEGERS = tuple(INTEGER_BITS)
_SUFFIXES = {"L": "bigint", "D": "double", "F": "float", "S": "smallint", "Y": "tinyint"}
_NUMBER = re.compile(r"\d+(\.\d*)?(e[+-]?\d+)?(bd|[ldfsy])?", re.IGNORECASE)
_BOOLEAN = frozenset({"AND", "OR", "NOT", "IS NULL", "BETWEEN", "IN", "=", "<>", "<=>", "<", "<=", ">", ">="})


class StaticTypeResolver:
    """Resolves types from the columns of a table argument. `columns`: name and Spark type name of each."""

    def __init__(self, columns: Sequence[tuple[str, str]]):
        self.columns = {name.lower(): spark_type for name, spark_type in columns}

    def types(self, texts: Sequence[Text]) -> list[str]:
        """As TypeResolver.types. Raises BindError for expressions that are not simple."""
        return [self._type_of(text) for text in texts]

    def constants(self, texts: Sequence[Text]) -> list[bool | int | float | None]:
        """As TypeResolver.constants, for numbers, TRUE, FALSE, NULL and CASTs of them."""
        return [self._constant(text) for text in texts]

    def values(self, texts: Sequence[Text], types: Sequence[str]) -> list[Any]:
        """As TypeResolver.values, for numbers, strings, TRUE, FALSE, NULL and CASTs of them."""
        return [self._value(text, spark_type) for text, spark_type in zip(texts, types)]

    def _value(self, text: Text, spark_type: str) -> Any:
        raw = str(text).strip("() ")
        if spark_type == "string" and raw[:1] == "'":
            return raw[1:-1].replace("\\'", "'")
        value = self._constant(text)
        digits = decimal_of(spark_type)
        return Decimal(value).scaleb(-digits[1]) if digits and value is not None else value

    def _type_of(self, text: Text) -> str:
        items = _items(text)
        return self._node(parse(items, 0, len(items)), items, text)

    def _node(self, node: Node, items: Sequence[Lexeme], text: Text) -> str:
        if node.kind in _BOOLEAN:
            return "boolean"
        if node.kind == "literal":
            return _literal_type(items[node.start : node.stop]) or self._refuse(text)
        if node.kind == "column":
            name = unquoted(next(x for x in items[node.start : node.stop] if x.is_name).raw).lower()
            if name in self.columns:
                return self.columns[name]
        if node.kind == "CAST":
            return re.sub(r" ?([(),]) ?", r"\1", node.name)
        types = [self._node(c, items, text) for c in node.children]
        if node.kind in ("+", "-", "*", "/", "%"):
            return _arithmetic_type(node.kind, *types) or self._refuse(text)
        if node.kind == "CASE":
            types = types[1::2] + types[len(types) // 2 * 2 :]
        if node.kind == "call" and node.name in ("if", "iff"):
            types = types[1:]
        if node.kind in ("negate", "CASE") or node.name in FUNCTIONS:
            return _common_type(types) or self._refuse(text)
        return self._refuse(text)

    def _refuse(self, text: Text) -> NoReturn:
        origin = text.origin(0)
        place = None if origin is None else Place(str(text), 0, len(str(text)))
        raise BindError(
            "EXPRESSION_IN_ARGUMENT",
            f"sqlext_match reads columns and cannot compute {text}",
            place=place,
            hint="compute it in the table argument: TABLE(SELECT *, expression AS name FROM ...).",
        )

    def _constant(self, text: Text) -> bool | int | float | None:
        items = _items(text)
        node = parse(items, 0, len(items))
        while node.kind == "CAST":
            node = node.children[0]
        raw = "".join(x.raw for x in items[node.start : node.stop]).strip("()")
        if raw.upper() in ("TRUE", "FALSE", "NULL"):
            return {"TRUE": True, "FALSE": False, "NULL": None}[raw.upper()]
        try:
            number = float(raw.rstrip("LDFSYldfsy")) if re.search(r"[.eEdDfF]", raw) else int(raw.rstrip("LSYlsy"))
        except ValueError:
            self._refuse(text)
        wanted = self._type_of(text)
        if wanted.startswith("decimal"):
            return round(number * 10 ** int(wanted[:-1].split(",")[1]))
        return float(number) if wanted in ("double", "float") else int(number)


def _items(text: Text) -> list[Lexeme]:
    return lexemes(Fragment(str(text), 0, len(str(text))))


def _literal_type(items: Sequence[Lexeme]) -> str | None:
    """The type of a literal; None for what only looks like a number, as `1h0`."""
    raw = next(x.raw for x in items if x.raw not in "()")
    if raw.upper() in ("TRUE", "FALSE"):
        return "boolean"
    if raw.upper() == "NULL":
        return "void"
    if not raw[0].isdigit():
        return "string"
    if not _NUMBER.fullmatch(raw):
        return None
    if raw[-1].upper() in _SUFFIXES:
        return _SUFFIXES[raw[-1].upper()]
    if "e" in raw.lower():
        return "double"
    if "." in raw:
        whole, fraction = raw.split(".")
        return f"decimal({max(len(whole.lstrip('0')) + len(fraction), 1)},{len(fraction)})"
    return "int" if int(raw) < 1 << 31 else "bigint"


def _digits(spark_type: str) -> tuple[int, int] | None:
    """(precision, scale) of a decimal, or of the decimal that holds an integer type."""
    integers = {"tinyint": (3, 0), "smallint": (5, 0), "int": (10, 0), "bigint": (20, 0)}
    return decimal_of(spark_type) or integers.get(spark_type)


def _arithmetic_type(operator: str, left: str, right: str) -> str | None:
    """The type of `left operator right`, or None if it is not known.

    Source: https://spark.apache.org/docs/latest/sql-ref-ansi-compliance.html, arithmetic operations
    """
    if left == right and operator == "-" and left in ("timestamp", "timestamp_ntz", "date"):
        return "interval day to second"
    if operator == "/" and not (left.startswith("decimal") or right.startswith("decimal")):
        return "double"
    common = _common_type([left, right])
    if common is None or not common.startswith("decimal"):
        return common if common in (*_INTEGERS, "float", "double") else None
    (p1, s1), (p2, s2) = _digits(left) or (0, 0), _digits(right) or (0, 0)
    if operator in ("+", "-"):
        scale = max(s1, s2)
        return f"decimal({max(p1 - s1, p2 - s2) + scale + 1},{scale})"
    return f"decimal({p1 + p2 + 1},{s1 + s2})" if operator == "*" else None


def _common_type(types: Sequence[str]) -> str | None:
    """The type of Spark's coalesce over these types; None if Spark would refuse it or CAST strings."""
    known = [t for t in types if t != "void"]
    if len(set(known)) <= 1:
        return known[0] if known else "void"
    if "double" in known or "float" in known:
        return "double" if all(_digits(t) or t in ("double", "float") for t in known) else None
    digits = [_digits(t) for t in known]
    if None in digits:
        return None
    if all(t in _INTEGERS for t in known):
        return max(known, key=_INTEGERS.index)
    scale = max(d[1] for d in digits if d)
    return f"decimal({max(d[0] - d[1] for d in digits if d) + scale},{scale})"
