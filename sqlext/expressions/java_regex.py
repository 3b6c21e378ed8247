"""Java's regular expressions by Python's `re`, as far as both mean the same; LIKE patterns.

Java's `.` and `$` know more ends of lines than Python's, its classes `\\d \\w \\s \\b` are ASCII, and it has syntax
that Python reads differently; `java_regex` translates the former and refuses the latter.
"""

from __future__ import annotations

import re
from functools import lru_cache

from sqlext.errors import UnsupportedError
from sqlext.expressions.faults import invalid_pattern

_LINE_ENDS = "\\n\\r\\u0085\\u2028\\u2029"
_END = f"(?=(?:\\r\\n|(?<!\\r)\\n|[\\r\\u0085\\u2028\\u2029])?\\Z)"  # noqa: F541
_SAME_ESCAPES = "dDwWsSbBntrfA0"
_CLASSES = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": "!-/:-@\\[-`{-~",
    "Space": " \\t\\n\\x0B\\f\\r",
}
_PLACES = {"h": "[ \\t\\xA0\\u1680\\u180e\\u2000-\\u200a\\u202f\\u205f\\u3000]", "Z": _END, "z": "\\Z", "e": "\\x1b"}
_DIGITS = {"x": re.compile("[0-9a-fA-F]{2}"), "u": re.compile("[0-9a-fA-F]{4}")}
_INLINE = re.compile(r"\(\?([is]+)\)")


@lru_cache(1024)
def java_regex(pattern: str) -> re.Pattern[str]:
    """The pattern for Python. Raises DataError INVALID_PATTERN, and UnsupportedError for syntax that is not built.

    >>> java_regex("a.c$").search("abc\\n") is not None, java_regex("\\\\d").search("٣") is None
    (True, True)
    """
    flags = re.ASCII
    dot = f"[^{_LINE_ENDS}]"
    if match := _INLINE.match(pattern):
        flags |= re.IGNORECASE if "i" in match[1] else 0
        dot = "[\\s\\S]" if "s" in match[1] else dot
        pattern = pattern[match.end() :]
    text = _Translation(pattern, dot).translated()
    try:
        return re.compile(text, flags)
    except (re.error, OverflowError) as error:
        raise invalid_pattern(f"{pattern!r} is no regular expression: {error}") from None


class _Translation:
    """One pass over a pattern."""

    def __init__(self, pattern: str, dot: str):
        self.pattern, self.dot, self.i = pattern, dot, 0

    def translated(self) -> str:
        parts: list[str] = []
        while self.i < len(self.pattern):
            parts.append(self._next())
        return "".join(parts)

    def _take(self, n: int = 1) -> str:
        self.i += n
        return self.pattern[self.i - n : self.i]

    def _next(self) -> str:
        letter = self._take()
        if letter == "\\":
            return self._escape(in_class=False)
        if letter == "[":
            return self._class()
        if letter == "(" and self.pattern.startswith("?", self.i):
            return self._group()
        if letter in "*+?}" and self.pattern.startswith("+", self.i):
            raise self._refused("possessive quantifiers")
        if letter == "{" and not re.match(r"\d+(,\d*)?\}", self.pattern[self.i :]):
            raise invalid_pattern(f"{self.pattern!r} has an open brace")
        return {".": self.dot, "$": _END}.get(letter, letter)

    def _group(self) -> str:
        rest = self.pattern[self.i :]
        for known in ("?:", "?=", "?!", "?<=", "?<!"):
            if rest.startswith(known):
                return "(" + self._take(len(known))
        if match := re.match(r"\?<([a-zA-Z][a-zA-Z0-9]*)>", rest):
            self.i += match.end()
            return f"(?P<{match[1]}>"
        raise self._refused("groups with flags, and atomic groups")

    def _escape(self, in_class: bool) -> str:
        if self.i >= len(self.pattern):
            raise invalid_pattern(f"{self.pattern!r} ends in a backslash")
        letter = self._take()
        if letter == "Q":
            end = self.pattern.find("\\E", self.i)
            text = self._take((end if end >= 0 else len(self.pattern)) - self.i)
            self.i += 2 if end >= 0 else 0
            return re.escape(text)
        if letter in "xu" and (match := _DIGITS[letter].match(self._rest())):
            return f"\\{letter}{self._take(match.end())}"
        if letter in "pP" and (match := re.match(r"\{(\w+)\}", self._rest())) and match[1] in _CLASSES:
            self.i += match.end()
            if in_class and letter == "P":
                raise self._refused("\\P in a class")
            ranges = _CLASSES[match[1]]
            return ranges if in_class else f"[{'^' * (letter == 'P')}{ranges}]"
        if letter in _PLACES and not in_class:
            return _PLACES[letter]
        if letter in _SAME_ESCAPES or (letter.isdigit() and not in_class) or not letter.isalnum():
            return f"\\{letter}"
        raise self._refused(f"\\{letter}")

    def _rest(self) -> str:
        return self.pattern[self.i :]

    def _class(self) -> str:
        parts = ["["]
        if self._rest().startswith("^"):
            parts.append(self._take())
        while True:
            if self.i >= len(self.pattern):
                raise invalid_pattern(f"{self.pattern!r} has an open bracket")
            letter = self._take()
            if letter == "]" and len(parts) > 1 and parts != ["[", "^"]:
                return "".join([*parts, "]"])
            if letter == "[" or (letter == "&" and self._rest().startswith("&")) or letter == "]":
                raise self._refused("classes inside classes")
            parts.append(self._escape(in_class=True) if letter == "\\" else re.escape(letter) if letter != "-" else "-")

    def _refused(self, what: str) -> UnsupportedError:
        return UnsupportedError(
            "REGULAR_EXPRESSION",
            f"{what} in {self.pattern!r} cannot be computed over several rows",
            hint="write a simpler pattern, or compute it in the navigation where one row decides it.",
        )


def replacement_parts(replacement: str, pattern: re.Pattern[str]) -> list[str | int]:
    """The texts and groups of a replacement: `$1`, `${name}`, `\\\\` before a letter that means itself.

    >>> replacement_parts("<$1>", re.compile("(a)"))
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
    return parts


def _group(replacement: str, i: int, pattern: re.Pattern[str]) -> tuple[int, int]:
    if match := re.match(r"\{([a-zA-Z][a-zA-Z0-9]*)\}", replacement[i:]):
        if match[1] not in pattern.groupindex:
            raise invalid_pattern(f"the pattern has no group {match[1]}")
        return pattern.groupindex[match[1]], i + match.end()
    if not replacement[i : i + 1].isdigit():
        raise invalid_pattern("a group reference of the replacement is not a number")
    number = int(replacement[i])
    i += 1
    if number > pattern.groups:
        raise invalid_pattern(f"the pattern has no group {number}")
    while replacement[i : i + 1].isdigit() and number * 10 + int(replacement[i]) <= pattern.groups:
        number = number * 10 + int(replacement[i])
        i += 1
    return number, i


@lru_cache(1024)
def like_regex(pattern: str, escape: str) -> re.Pattern[str]:
    """The regular expression of a LIKE pattern. Raises DataError INVALID_PATTERN.

    >>> like_regex("a_%", "\\\\").fullmatch("abc") is not None
    True
    """
    parts: list[str] = []
    letters = iter(pattern)
    for letter in letters:
        if letter == escape:
            escaped = next(letters, None)
            if escaped is None or escaped not in ("_", "%", escape):
                raise invalid_pattern(f"{pattern!r} has {escape} where it escapes nothing")
            parts.append(re.escape(escaped))
        else:
            parts.append({"_": ".", "%": ".*"}.get(letter) or re.escape(letter))
    return re.compile("".join(parts), re.DOTALL)
