"""Pieces of the user's text, each of which knows its place."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.errors import Place
from sqlext.rewriter.text.tokens import WORD, Token, Tokens, index_at


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
    def of_tokens(cls, source: str, tokens: Tokens, lo: int, hi: int) -> Fragment:
        """Tokens `lo` to `hi` (exclusive) of the whole statement, of which there is one at least."""
        return cls(source, tokens[lo].start, tokens[hi - 1].stop)

    def part(self, tokens: Tokens, lo: int, hi: int) -> Fragment:
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


def name_of(source: str, token: Token) -> Name:
    """
    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> [name_of("a `b c`", t).key for t in tokenize("a `b c`")]
    ['A', 'b c']
    """
    name = Name("", Fragment(source, token.start, token.stop), is_quoted=token.kind != WORD)
    return Name(name.text if name.is_quoted else name.text.upper(), name.fragment, name.is_quoted)


def tokens_inside(tokens: Tokens, fragment: Fragment) -> Tokens:
    """The tokens of a piece of the statement."""
    return tokens[index_at(tokens, fragment.start) : index_at(tokens, fragment.stop)]
