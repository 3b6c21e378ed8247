"""Pieces of the user's text, each of which knows its place.

Spark's workers import this module too, so it must not import the tokenizer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlext.errors import Place


class _Placed(Protocol):
    """The place of a token: its first character and its exclusive end."""

    @property
    def start(self) -> int: ...

    @property
    def stop(self) -> int: ...


@dataclass(frozen=True)
class Fragment:
    """A piece of the user's text: `text == source[start:stop]`, where `source` is the whole statement."""

    source: str
    start: int
    stop: int

    @property
    def text(self) -> str:
        return self.source[self.start : self.stop]

    @property
    def in_line(self) -> str:
        return in_line(self.text)

    @property
    def in_place(self) -> str:
        """The text with blanks before it, so that its offsets are the same as in the whole statement."""
        return alone(self.source, self.start, self.stop)

    @property
    def place(self) -> Place:
        return Place(self.source, self.start, self.stop)

    @classmethod
    def of_tokens(cls, source: str, tokens: Sequence[_Placed], lo: int, hi: int) -> Fragment:
        """Tokens `lo` to `hi` (exclusive) of the whole statement; the range has at least one token."""
        return cls(source, tokens[lo].start, tokens[hi - 1].stop)

    def part(self, tokens: Sequence[_Placed], lo: int, hi: int) -> Fragment:
        """Tokens `lo` to `hi` (exclusive) of this fragment's own tokens; the range has at least one token."""
        return Fragment(self.source, self.start + tokens[lo].start, self.start + tokens[hi - 1].stop)


@dataclass(frozen=True)
class Name:
    """An identifier. Names are compared by `key`, which is in upper case unless the name is quoted."""

    key: str
    fragment: Fragment
    is_quoted: bool = False

    @property
    def text(self) -> str:
        """The identifier as Spark would show it: without quotes, its case unchanged."""
        raw = self.fragment.text
        return raw[1:-1].replace(raw[0] * 2, raw[0]) if self.is_quoted else raw


def in_line(text: object) -> str:
    """The text with each run of white space as one blank, as messages show it."""
    return " ".join(str(text).split())


def alone(text: str, start: int, stop: int) -> str:
    """Characters `start` to `stop` (exclusive) of a text, with blanks before them: all lines and offsets stay the same.

    >>> alone("SELECT 1;\\nSELECT 2; SELECT 3", 10, 18)
    '         \\nSELECT 2'
    """
    return blank(text[:start]) + text[start:stop]


def blank(text: str) -> str:
    """The text with every character except the ends of lines replaced by a space."""
    return "".join(c if c == "\n" else " " for c in text)
