"""LIKE patterns: texts between `%` are searched one after the other, each as far left as possible."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from sqlext.expressions.effort import spend
from sqlext.expressions.faults import invalid_pattern, too_many_steps

_MOST_STEPS = 200_000_000  # comparisons of characters that `_` makes necessary; they take less than a second


class Segment(NamedTuple):
    """A text without `%`; `regex` searches for it if it has `_`, each of which is one character of any kind."""

    text: str
    regex: re.Pattern[str] | None

    def find(self, text: str, start: int, end: int) -> int:
        """The first place of the segment between two places of the text, -1 if there is none."""
        if self.regex is None:
            return text.find(self.text, start, end)
        if (end - start) * len(self.text) > _MOST_STEPS:
            raise too_many_steps("LIKE", _MOST_STEPS)
        spend(end - start)
        match = self.regex.search(text, start, end)
        return -1 if match is None else match.start()

    def is_at(self, text: str, start: int) -> bool:
        if self.regex is None:
            return text.startswith(self.text, start)
        return self.regex.match(text, start) is not None


class LikePattern(NamedTuple):
    """`segments`: the parts between `%`, at least one; the text begins with the first and ends with the last."""

    segments: tuple[Segment, ...]

    def matches(self, text: str) -> bool:
        """Return True if the text matches the pattern. Raises DataError: EXPRESSION_BUDGET."""
        first, *middle = self.segments
        end = len(text)
        spend(end // 8)
        if not first.is_at(text, 0):
            return False
        if not middle:
            return len(first.text) == end
        *middle, last = middle
        start, end = len(first.text), end - len(last.text)
        if end < start or not last.is_at(text, end):
            return False
        for segment in middle:
            at = segment.find(text, start, end)
            if at < 0:
                return False
            start = at + len(segment.text)
        return True


@lru_cache(1024)
def like_pattern(pattern: str, escape: str) -> LikePattern:
    """A LIKE pattern, read once. Raises DataError INVALID_PATTERN.

    >>> like_pattern("a_%c", "\\\\").matches("abbc"), like_pattern("a_%c", "\\\\").matches("ac")
    (True, False)
    """
    segments, letters = [], iter(pattern)
    current: list[str | None] = []  # None is any character
    for letter in letters:
        if letter == escape:
            escaped = next(letters, None)
            if escaped is None or escaped not in ("_", "%", escape):
                raise invalid_pattern(f"{pattern!r} has {escape} where it escapes nothing")
            current.append(escaped)
        elif letter == "%":
            segments.append(_segment(current))
            current = []
        else:
            current.append(None if letter == "_" else letter)
    segments.append(_segment(current))
    return LikePattern(tuple(segments))


def _segment(letters: list[str | None]) -> Segment:
    text = "".join("_" if letter is None else letter for letter in letters)
    if None not in letters:
        return Segment(text, None)
    return Segment(text, re.compile("".join("." if x is None else re.escape(x) for x in letters), re.DOTALL))
