"""Pads the texts that a condition over several rows compares with CHAR columns, as Spark does on one row.

The rules are those of Spark's ApplyCharTypePadding, which pads nothing in BETWEEN and nullif.
"""

from __future__ import annotations

from dataclasses import replace

from sqlext.rewriter.conditions.condition_parts import ConditionParts
from sqlext.rewriter.scalars.expression import COMPARISONS, Node
from sqlext.rewriter.scalars.references import QUOTES, Reference
from sqlext.rewriter.text.lexemes import Lexeme, string_value

_COMPARISONS = COMPARISONS | {"IS DISTINCT FROM", "IS NOT DISTINCT FROM", "equal_null"}


def with_padding(node: Node, parts: ConditionParts) -> Node:
    """The tree, in which each comparison with a CHAR column pads its operands to the length of the longest one."""
    children = tuple(with_padding(child, parts) for child in node.children)
    lengths = [_length_of_column(child, parts) for child in children]
    compares_two = (node.name if node.kind == "call" else node.kind) in _COMPARISONS
    if compares_two and any(length is not None for length in lengths):
        lengths = [_length_of_text(c, parts) if n is None else n for c, n in zip(children, lengths)]
    known = [length for length in lengths if length is not None]
    if (compares_two or node.kind == "IN") and len(known) == len(children):
        children = tuple(replace(c, padded=max(known)) if n < max(known) else c for c, n in zip(children, known))
    return replace(node, children=children)


def _length_of_column(node: Node, parts: ConditionParts) -> int | None:
    """The length of the CHAR column that a node reads on some row, or None."""
    if node.kind in ("column", "field"):
        return parts.char_length(parts.source.of(parts.place(node)))
    reference = next((x for x in parts.items[node.start : node.stop] if isinstance(x, Reference)), None)
    if node.kind != "reference" or reference is None or reference.kind != "navigation":
        return None
    return parts.char_length(reference.arguments[0])


def _length_of_text(node: Node, parts: ConditionParts) -> int | None:
    """The length of a literal text, or None for another node."""
    raw = [x.raw for x in parts.items[node.start : node.stop] if isinstance(x, Lexeme) and x.raw not in "()"]
    return len(string_value(raw[0])) if node.kind == "literal" and len(raw) == 1 and raw[0][-1] in QUOTES else None
