"""A statement that is composed of the arguments of a Python function, and places in it as places in these arguments.

>>> down = Argument.sql('define["down"]', "v < PREV(x)")
>>> composed = Composed(("DEFINE ", Argument.name("define", "my down"), " AS ", down))
>>> composed.text
'DEFINE `my down` AS v < PREV(x)'
>>> print(composed.place(Place(composed.text, 29, 30)).excerpt())
in define["down"]
  1 | v < PREV(x)
    |          ^
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Union

from sqlext.errors import ParseError, Place, SqlExtError
from sqlext.rewriter.text.names import quoted, quoted_if_needed
from sqlext.rewriter.text.tokens import CLOSING, OPENING, SYMBOL, tokenize

_UNQUOTED = "write the whole expression in this argument, and nothing after it."


@dataclass(frozen=True)
class Argument:
    """What a caller passes in an argument. `of` names it as the caller does, `define["down"]`; `value` is the text that
    was passed, and `written` what the statement has: the same text, or the name that it is, in backticks."""

    of: str
    value: str
    written: str

    @classmethod
    def sql(cls, of: str, value: str, *, is_list: bool = False) -> Argument:
        """SQL text, which is an expression, or also several of them with commas (`is_list`).

        Raises ParseError (UNCLOSED_TEXT, ARGUMENT_TEXT) for text that would end within the text of other arguments, or
        would begin something else.

        >>> Argument.sql("pattern", "a) DEFINE (b")
        Traceback (most recent call last):
        sqlext.errors.ParseError: SQLEXT_ARGUMENT_TEXT: this ) closes no parenthesis
        in pattern
          1 | a) DEFINE (b
            |  ^
        Hint: write the whole expression in this argument, and nothing after it.
        """
        try:
            _check_alone(value, is_list=is_list)
        except ParseError as error:
            raise error.with_(place=error.place and Place(value, error.place.start, error.place.stop, of)) from None
        return cls(of, value, value + "\n" if "--" in value else value)  # a comment ends with its line

    @classmethod
    def name(cls, of: str, value: str) -> Argument:
        """A name, in backticks."""
        return cls(of, value, quoted(value))

    @classmethod
    def variable(cls, of: str, value: str) -> Argument:
        """A pattern variable. Like an unquoted name it is compared without case, unless it needs backticks."""
        return cls(of, value, quoted_if_needed(value))

    @property
    def place(self) -> Place:
        return Place(self.value, 0, len(self.value), self.of)

    def place_of(self, start: int, stop: int) -> Place:
        """The place in the argument of characters `start` to `stop` (exclusive) of what is written."""
        if self.written.rstrip("\n") != self.value:
            return self.place
        return Place(self.value, max(start, 0), min(stop, len(self.value)), self.of)


def _check_alone(value: str, *, is_list: bool) -> None:
    tokens = tokenize(value)
    opened: list[str] = []
    for token in tokens:
        symbols = token.text if token.kind == SYMBOL else ""
        place = Place(value, token.start, token.stop)
        for symbol in symbols:
            if symbol in CLOSING and (not opened or OPENED_BY[symbol] != opened.pop()):
                raise ParseError("ARGUMENT_TEXT", f"this {symbol} closes no parenthesis", place=place, hint=_UNQUOTED)
            if symbol in OPENING:
                opened.append(symbol)
        if symbols == ";" or (symbols == "," and not opened and not is_list):
            message = f"this {symbols} ends the expression"
            raise ParseError("ARGUMENT_TEXT", message, place=place, hint=_UNQUOTED)
    if opened or not tokens:
        message = f"a {opened[-1]} is not closed" if opened else "there is no expression in this argument"
        place = Place(value, 0, len(value))
        raise ParseError("ARGUMENT_TEXT", message, place=place, hint=_UNQUOTED)


OPENED_BY = {")": "(", "]": "[", "}": "{"}
Part = Union[str, Argument]


@dataclass(frozen=True)
class Composed:
    """A statement, as text of ours and arguments, in order."""

    parts: tuple[Part, ...]

    @cached_property
    def text(self) -> str:
        return "".join(part if isinstance(part, str) else part.written for part in self.parts)

    def place(self, place: Place) -> Place | None:
        """The place in the first argument that has characters of a place in the text; None if it is all ours."""
        start = 0
        for part in self.parts:
            stop = start + len(part if isinstance(part, str) else part.written)
            if isinstance(part, Argument) and start < place.stop and place.start < stop:
                return part.place_of(place.start - start, place.stop - start)
            start = stop
        return None

    @contextmanager
    def places(self) -> Iterator[None]:
        """Errors that are raised inside about the text get their places in its arguments."""
        try:
            yield
        except SqlExtError as error:
            raise error.each(self._about_argument) from None

    def _about_argument(self, error: SqlExtError) -> SqlExtError:
        if error.place is None or error.place.text != self.text:
            return error
        return error.at(self.place(error.place))


def joined(parts: list[tuple[Part, ...]], separator: str = ", ") -> tuple[Part, ...]:
    """All parts, with a separator between them.

    >>> joined([("a",), ("b", "c")])
    ('a', ', ', 'b', 'c')
    """
    return tuple(piece for i, each in enumerate(parts) for piece in ((separator, *each) if i else each))
