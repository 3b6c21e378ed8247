"""Pieces of the user's text, each of which knows its place.

Workers read this too, so that nothing here may import the tokenizer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlext.errors import Place


class _Placed(Protocol):
    """A token, as far as its place goes."""

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
    def place(self) -> Place:
        return Place(self.source, self.start, self.stop)

    @classmethod
    def of_tokens(cls, source: str, tokens: Sequence[_Placed], lo: int, hi: int) -> Fragment:
        """Tokens `lo` to `hi` (exclusive) of the whole statement, of which there is one at least."""
        return cls(source, tokens[lo].start, tokens[hi - 1].stop)

    def part(self, tokens: Sequence[_Placed], lo: int, hi: int) -> Fragment:
        """Tokens `lo` to `hi` (exclusive) of this fragment's own tokens, of which there is one at least."""
        return Fragment(self.source, self.start + tokens[lo].start, self.start + tokens[hi - 1].stop)


@dataclass(frozen=True)
class Name:
    """An identifier. `key` is what it is compared by: upper case unless quoted."""

    key: str
    fragment: Fragment
    is_quoted: bool = False

    @property
    def text(self) -> str:
        """The identifier as Spark would show it: without quotes, case kept."""
        raw = self.fragment.text
        return raw[1:-1].replace(raw[0] * 2, raw[0]) if self.is_quoted else raw


def alone(text: str, start: int, stop: int) -> str:
    """Characters `start` to `stop` (exclusive) of a text, with blanks before them: all lines and offsets stay the same.

    >>> alone("SELECT 1;\\nSELECT 2; SELECT 3", 10, 18)
    '         \\nSELECT 2'
    """
    return blank(text[:start]) + text[start:stop]


def blank(text: str) -> str:
    """The text with a space in the place of every character but the ends of lines."""
    return "".join(c if c == "\n" else " " for c in text)
