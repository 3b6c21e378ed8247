"""Recognises expressions that Spark certainly computes without an error, whatever the row: columns, literals, and
comparisons of them without a cast that may fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlext.expressions.spark_types import FLOATS, INTEGER_BITS
from sqlext.rewriter.lowering.pushdown import compares_without_error, literal_kind
from sqlext.rewriter.scalars.expression import Node, parse
from sqlext.rewriter.text.lexemes import Lexeme
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.tokens import tokenize

_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">=", "<=>", "IN", "BETWEEN"})
_NUMBERS = frozenset({*INTEGER_BITS, *FLOATS})


def raises_no_error(text: str, types: Mapping[str, str]) -> bool:
    """True if the expression consists of columns, literals, safe comparisons, IS NULL, AND, OR and NOT.

    `types`: the types of the columns, by their names in lower case. Such an expression is deterministic, too.

    >>> types = {"v": "int", "s": "string", "ts": "timestamp"}
    >>> [raises_no_error(text, types) for text in ("t.v", "v IN (1, 2) AND NOT (s) LIKE 'a%'", "ts > '2026-01-01'")]
    [True, True, True]
    >>> [raises_no_error(text, types) for text in ("v = 'x'", "v IN ('x')", "v / 2 > 1", "f(v)", "s = v")]
    [False, False, False, False, False]
    """
    items = [Lexeme(raw=t.text, start=t.start, stop=t.stop) for t in tokenize(text)]
    return _ConditionReader(items, types).is_safe(parse(items, 0, len(items)))


@dataclass(frozen=True)
class _ConditionReader:
    items: Sequence[Lexeme]
    types: Mapping[str, str]

    def is_safe(self, node: Node) -> bool:
        if node.kind in ("column", "literal", "negate"):
            return node.kind == "column" or self.literal(node) is not None
        if node.kind in _COMPARISONS:
            return self._compares(node.children)
        if node.kind == "LIKE" and len(node.children) == 2:
            value, pattern = node.children
            is_text = self.column_type(value) == "string" and pattern.kind == "literal"
            return is_text and "\\" not in self.items[pattern.start].raw  # a wrong escape is an error
        is_combined = node.kind in ("AND", "OR", "NOT", "IS NULL", "field")
        return is_combined and all(map(self.is_safe, node.children))

    def _compares(self, operands: Sequence[Node]) -> bool:
        literals = [self.literal(operand) for operand in operands]
        types = {self.column_type(operand) for operand, kind in zip(operands, literals) if kind is None}
        if None in types or not (len(types) == 1 or types <= _NUMBERS):
            return False
        kinds = [kind for kind in literals if kind is not None]
        return all(compares_without_error(spark_type, kinds) for spark_type in types if spark_type)

    def literal(self, node: Node) -> str | None:
        """The kind of the literal, None if the node is not one."""
        return literal_kind(self._inner(node)) if node.kind in ("literal", "negate") else None

    def column_type(self, node: Node) -> str | None:
        """The type of the column, None if the node is not one, or is a field of a struct."""
        names = [unquoted(item.raw).lower() for item in self._inner(node) if item.is_name]
        is_column = node.kind == "column" or (node.kind == "field" and len(names) == 2 and names[0] not in self.types)
        return self.types.get(names[-1]) if is_column else None

    def _inner(self, node: Node) -> Sequence[Lexeme]:
        """The items of a node without the parentheses around it."""
        start, stop = node.start, node.stop
        while stop - start > 2 and self.items[start].raw == "(" and self.items[stop - 1].raw == ")":
            start, stop = start + 1, stop - 1
        return self.items[start:stop]
