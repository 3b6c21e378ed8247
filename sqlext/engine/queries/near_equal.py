"""How two texts that are compared differ, if hardly. Pure."""

from __future__ import annotations

import re

_EQUALS_TEXT = re.compile(r"[^'\"=<>!]*=\s*'((?:[^'\\]|'')*)'|'((?:[^'\\]|'')*)'\s*=[^'\"=<>!]*")


def text_compared(condition: str) -> str | None:
    """The text that something must be equal to; None for all other conditions.

    >>> text_compared("c = 'it''s'"), text_compared("'a' = c"), text_compared("c >= 'a'"), text_compared("c = d")
    ("it's", 'a', None, None)
    """
    match = _EQUALS_TEXT.fullmatch(condition.strip())
    return None if match is None else (match[1] if match[1] is not None else match[2]).replace("''", "'")


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
