"""Searches by Java's regular expressions, in a time that is bounded for every pattern and text.

| engine | for | time |
|---|---|---|
| Python's `re` | a pattern and a length of text for which backtracking ends soon, whatever the text is | milliseconds |
| RE2 | every other text, if the pattern has no lookaround and the like, and the worker has the library | linear |
| `regex_machine` | the rest | a limited number of steps |

All of them find the same matches. Which of them runs depends only on the pattern, the text and the libraries of the
worker, never on a clock, so a stream that is replayed has the same rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Union

from sqlext.expressions.effort import spend
from sqlext.expressions.faults import too_many_steps
from sqlext.expressions.java_regex import JavaPattern, read_java_regex
from sqlext.expressions.regex_machine import RegexProgram, RegexSearch, Spans, Steps
from sqlext.expressions.regex_tree import (
    LINE_ENDS,
    backtracking_cost,
    has_group_in_look,
    has_place,
    python_text,
    re2_text,
    scans_ahead,
)

_MOST_COST = 100_000  # steps of `re`, about a millisecond
_MOST_WORK = 200_000_000  # characters times instructions of RE2, which needs 1 to 10 ns for each
_INSTRUCTIONS_OF_A_UNIT = 64  # for each character, where RE2 does not remember which instructions it has run together
_UNITS_OF_A_MATCH = 300
_LENGTHS = [0, *(1 << k for k in range(31))]

Text = Union[str, bytes]
Find = Callable[[int], Union[Spans, None]]  # returns the first match that begins at a place of the text or after it


class RegexMatch(NamedTuple):
    """`spans`: the bounds of group 0, the whole match, and of the others; (-1, -1) for a group without a match."""

    text: Text
    spans: Spans

    def group(self, number: int) -> str:
        """The characters of a group, none for a group without a match."""
        return self.between(*self.spans[number])

    def between(self, start: int, end: int) -> str:
        part = self.text[max(start, 0) : max(end, 0)]
        return part if isinstance(part, str) else part.decode()

    @property
    def start(self) -> int:
        """The number of characters before the match."""
        return len(self.between(0, self.spans[0][0]))


class Regex:
    """A pattern, for which any number of texts can be searched."""

    def __init__(self, source: str, pattern: JavaPattern):
        self.source, self.groups, self.names = source, pattern.groups, pattern.names
        self._tree = pattern.tree
        self._python, self._longest = _python_regex(pattern)

    def first(self, text: str) -> RegexMatch | None:
        """The first match. Raises DataError: EXPRESSION_BUDGET."""
        searched, find = self._engine(text)
        spans = find(0)
        return None if spans is None else RegexMatch(searched, spans)

    def all(self, text: str) -> Iterator[RegexMatch]:
        """The matches, one after the other; an empty match may directly follow another match. Raises DataError:
        EXPRESSION_BUDGET."""
        searched, find = self._engine(text)
        at, work = 0, 0
        while at <= len(searched):
            if self._scans_ahead and isinstance(searched, bytes):
                spend(len(searched) - at)
                work += len(searched) - at
                if work > 2 * _MOST_WORK:
                    raise too_many_steps("a regular expression", 2 * _MOST_WORK)
            spans = find(at)
            if spans is None:
                return
            spend(_UNITS_OF_A_MATCH)
            yield RegexMatch(searched, spans)
            start, end = spans[0]
            at = end if end > start else _next_character(searched, end)

    def _engine(self, text: str) -> tuple[Text, Find]:
        """The form of the text that is searched, and the function that searches it."""
        regex = self._python
        if regex is not None and len(text) <= self._longest:
            search = regex.search
            spend(len(text))

            def find(at: int) -> Spans | None:
                match = search(text, at)
                return None if match is None else match.regs  # type: ignore[attr-defined]

            return text, find
        encoded = self._text_for_re2(text)
        if encoded is not None:
            spend(len(encoded) * (1 + self._re2.programsize // _INSTRUCTIONS_OF_A_UNIT))
            return encoded, _re2_find(self._re2, encoded)
        return text, RegexSearch(self._program, text, Steps("a regular expression")).find

    @cached_property
    def _program(self) -> RegexProgram:
        return RegexProgram(self._tree, self.groups)

    @cached_property
    def _scans_ahead(self) -> bool:
        return scans_ahead(self._tree)

    @cached_property
    def _re2(self) -> Any:
        """The pattern for RE2, None if RE2 has none or the worker lacks the library."""
        pattern = re2_text(self._tree)
        return None if pattern is None else _compiled_by_re2(pattern)

    @cached_property
    def _has_last_line(self) -> bool:
        return has_place(self._tree, "last line")

    @cached_property
    def _has_no_word(self) -> bool:
        return has_place(self._tree, "no word")

    def _text_for_re2(self, text: str) -> bytes | None:
        """The text in UTF-8; None if RE2 does not search it, or finds other matches than Java."""
        if self._re2 is None or (self._has_last_line and text.endswith(tuple(LINE_ENDS))):
            return None
        if self._has_no_word and not text.isascii():
            return None  # RE2 finds `\B` between the bytes of a character
        try:
            encoded = text.encode()
        except UnicodeEncodeError:
            return None
        return encoded if len(encoded) * self._re2.programsize <= _MOST_WORK else None


@lru_cache(256)
def java_regex(pattern: str) -> Regex:
    """The pattern, ready for searches. Raises DataError INVALID_PATTERN, and UnsupportedError for syntax that is not
    supported.

    >>> java_regex("a.c$").first("abc\\n") is not None, java_regex("\\\\d").first("٣") is None
    (True, True)
    >>> [match.group(0) for match in java_regex("a*").all("baac")]
    ['', 'aa', '', '']
    """
    return Regex(pattern, read_java_regex(pattern))


def _python_regex(pattern: JavaPattern) -> tuple[re.Pattern[str] | None, int]:
    """The pattern for `re`, and the greatest length of a text that it may search."""
    longest = -1
    for length in _LENGTHS:
        if backtracking_cost(pattern.tree, length) > _MOST_COST:
            break
        longest = length
    if longest < 0 or has_group_in_look(pattern.tree):
        return None, -1
    text = python_text(pattern.tree)
    if text is None:
        return None, -1
    try:
        return re.compile(text, re.ASCII), longest
    except (re.error, OverflowError):
        return None, -1  # a width of lookbehind that varies, a reference into an open group


def _compiled_by_re2(pattern: str) -> Any:
    try:
        import re2
    except ImportError:  # the worker lacks it; the matches are the same, but come later
        return None
    options = re2.Options()
    options.max_mem, options.log_errors = 2 << 20, False
    try:
        return re2.compile(pattern.encode(), options)
    except (re2.error, UnicodeEncodeError):
        return None  # too large, or a half of a surrogate pair


def _re2_find(regex: Any, text: bytes) -> Find:
    numbers = range(regex.groups + 1)

    def find(at: int) -> Spans | None:
        match = regex.search(text, at)
        return None if match is None else tuple(match.span(number) for number in numbers)

    return find


def _next_character(text: Text, at: int) -> int:
    at += 1
    while isinstance(text, bytes) and at < len(text) and text[at] & 0xC0 == 0x80:
        at += 1
    return at
