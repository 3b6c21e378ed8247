"""Reads the tokens of a statement one after the other; the parsers of heads and clauses move it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.errors import ParseError
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import string_value
from sqlext.rewriter.text.names import RelationName, name_at, unquoted
from sqlext.rewriter.text.tokens import STRING, Tokens, is_at, tokenize, without_semicolons


@dataclass
class Cursor:
    """A position in the tokens of a statement; the `take…` methods move past the next tokens if these are as wanted.

    A reader that reports errors passes the statement as `text`, and the class and the hint of its errors.
    """

    tokens: Tokens
    index: int = 0
    text: str = ""
    error_class: str = ""
    hint: str = ""

    @classmethod
    def of(cls, text: str, *, error_class: str = "", hint: str = "") -> Cursor:
        """At the first token of a statement, without semicolons at its end. Raises ParseError (UNCLOSED_TEXT)."""
        return cls(without_semicolons(tokenize(text)), text=text, error_class=error_class, hint=hint)

    @property
    def is_at_end(self) -> bool:
        return self.index >= len(self.tokens)

    @property
    def word(self) -> str:
        """The next token as a word, "" at the end."""
        return "" if self.is_at_end else self.tokens[self.index].word

    def is_at(self, *words: str) -> bool:
        """Return True if `words` come next."""
        return is_at(self.tokens, self.index, *words)

    def take(self, *words: str) -> bool:
        """Move past `words` if they come next."""
        if not self.is_at(*words):
            return False
        self.index += len(words)
        return True

    def expect(self, what: str, *words: str) -> None:
        """Move past `words`. Raises ParseError if they do not come next; the error says that `what` must follow."""
        if not self.take(*words):
            raise self.expected(what)

    def expected(self, what: str) -> ParseError:
        """The error for any other token where `what` must follow."""
        at = min(self.index, len(self.tokens) - 1)
        if self.is_at_end:
            return self.error(f"{what} must follow here", at, at + 1)
        return self.error(f"{self.tokens[at].text} is written where {what} must follow", at, at + 1)

    def error(self, message: str, lo: int, hi: int, *, hint: str = "", error_class: str = "") -> ParseError:
        """An error at tokens `lo` to `hi` (exclusive)."""
        place = self.fragment(lo, hi).place
        return ParseError(error_class or self.error_class, message, place=place, hint=hint or self.hint)

    def fragment(self, lo: int, hi: int) -> Fragment:
        """Tokens `lo` to `hi` (exclusive); the range has at least one token."""
        return Fragment.of_tokens(self.text, self.tokens, lo, hi)

    def take_one_of(self, words: tuple[str, ...]) -> bool:
        return any(self.take(word) for word in words)

    def take_name(self) -> RelationName | None:
        name = name_at(self.tokens, self.index)
        self.index += 2 * len(name.parts) - 1 if name else 0
        return name

    def take_string(self) -> str | None:
        """Move past a string literal and return it as written; None if the next token is not a string."""
        if self.is_at_end or self.tokens[self.index].kind != STRING:
            return None
        self.index += 1
        return self.tokens[self.index - 1].text

    def expect_pattern(self) -> str:
        """Move past the string after LIKE and return its text. Raises ParseError if the next token is not a string."""
        pattern = self.take_string()
        if pattern is None:
            raise self.expected("a pattern such as 'a*|b*'")
        return string_value(pattern)

    def take_part(self) -> str | None:
        """Move past one part of a name and return it without backticks; None if the next token is not a name."""
        if self.is_at_end or not self.tokens[self.index].is_name:
            return None
        self.index += 1
        return unquoted(self.tokens[self.index - 1].text)
