"""The replacements of regexp_replace, as Java writes them."""

from __future__ import annotations

import re

from sqlext.expressions.faults import invalid_pattern
from sqlext.expressions.regex import Regex

_NAME = re.compile(r"\{([a-zA-Z][a-zA-Z0-9]*)\}")


def replacement_parts(replacement: str, pattern: Regex) -> list[str | int]:
    """The texts and groups of a replacement: `$1`, `${name}`, `\\\\` before a letter that means itself.

    >>> from sqlext.expressions.regex import java_regex
    >>> replacement_parts("<$1>", java_regex("(a)"))
    ['<', 1, '>']
    """
    parts: list[str | int] = []
    i = 0
    while i < len(replacement):
        letter = replacement[i]
        i += 1
        if letter == "\\":
            if i >= len(replacement):
                raise invalid_pattern("the replacement ends in a backslash")
            parts.append(replacement[i])
            i += 1
        elif letter == "$":
            group, i = _group(replacement, i, pattern)
            parts.append(group)
        else:
            parts.append(letter)
    return _joined(parts)


def _joined(parts: list[str | int]) -> list[str | int]:
    """The parts, with neighbouring texts joined to one text."""
    joined: list[str | int] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    return joined


def _group(replacement: str, i: int, pattern: Regex) -> tuple[int, int]:
    if match := _NAME.match(replacement, i):
        if match[1] not in pattern.names:
            raise invalid_pattern(f"the pattern has no group {match[1]}")
        return pattern.names[match[1]], match.end()
    if not _is_digit(replacement[i : i + 1]):
        raise invalid_pattern("a group reference of the replacement is not a number")
    number = int(replacement[i])
    i += 1
    if number > pattern.groups:
        raise invalid_pattern(f"the pattern has no group {number}")
    while _is_digit(replacement[i : i + 1]) and number * 10 + int(replacement[i]) <= pattern.groups:
        number = number * 10 + int(replacement[i])
        i += 1
    return number, i


def _is_digit(letter: str) -> bool:
    return letter != "" and letter in "0123456789"
