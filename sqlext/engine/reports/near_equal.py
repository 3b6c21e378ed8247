"""How two texts that are compared differ, if hardly. Pure."""

from __future__ import annotations

from sqlext.rewriter.joins.join_conditions import compared
from sqlext.rewriter.text.and_list import without_parentheses
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import string_value
from sqlext.rewriter.text.tokens import STRING, tokenize


def text_compared(condition: str) -> str | None:
    """The text that something must be equal to; None for all other conditions.

    >>> [text_compared(c) for c in ("c = 'it''s'", "'a' = f(x, 'b')", "NOT c = 'a'", "c >= 'a'", "c = d")]
    ["it's", 'a', None, None, None]
    """
    comparison = compared(Fragment(condition, 0, len(condition)))
    if comparison is None or comparison.operator != "=":
        return None
    sides = (tokenize(without_parentheses(side).text) for side in (comparison.right, comparison.left))
    return next((string_value(side[0].text) for side in sides if len(side) == 1 and side[0].kind == STRING), None)


def difference(a: str | None, b: str | None) -> str:
    """What is said of two texts that are not equal; empty if there is nothing to say.

    >>> difference("Sold", "sold"), difference("a", "a "), difference("a ", "A"), difference("a", "b")
    ('they differ only in case', 'they differ only in blanks', 'they differ only in case and blanks', '')
    """
    if a is None or b is None or a == b:
        return ""
    if a.strip() == b.strip():
        return "they differ only in blanks"
    if a.casefold() == b.casefold():
        return "they differ only in case"
    return "they differ only in case and blanks" if a.strip().casefold() == b.strip().casefold() else ""
