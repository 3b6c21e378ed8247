"""Pads the texts that a condition over several rows compares with CHAR columns, as Spark does on one row."""

from __future__ import annotations

from dataclasses import replace

from sqlext.rewriter.conditions.condition_parts import ConditionParts
from sqlext.rewriter.scalars.char_padding import padded_lengths
from sqlext.rewriter.scalars.expression import Node, own_items
from sqlext.rewriter.scalars.references import QUOTES, Reference
from sqlext.rewriter.text.lexemes import Lexeme, string_value


def with_padding(node: Node, parts: ConditionParts) -> Node:
    """The tree, in which each comparison with a CHAR column pads its operands to the length of the longest one."""
    children = tuple(with_padding(child, parts) for child in node.children)
    columns = [_length_of_column(child, parts) for child in children]
    if all(length is None for length in columns):
        return replace(node, children=children)
    texts = [_length_of_text(child, parts) for child in children]
    function = node.name if node.kind == "call" else node.kind
    padded = padded_lengths(function, columns, texts, parts.settings.is_on)
    return replace(node, children=tuple(replace(child, padded=n) for child, n in zip(children, padded)))


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
    raw = [x.raw for x in own_items(node, parts.items) if isinstance(x, Lexeme)]
    return len(string_value(raw[0])) if node.kind == "literal" and len(raw) == 1 and raw[0][-1] in QUOTES else None
