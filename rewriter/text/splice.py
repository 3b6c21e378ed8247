"""SQL text that knows the origin of its characters, so that errors in it point into the user's own text.

>>> source = Source("SELECT :lo + a", (Edit(7, 10, "5"),))
>>> text = join("SELECT 1 + (", source.slice(7, 14), ")")
>>> str(text), text.origin(12), text.origin(16)
('SELECT 1 + (5 + a)', 7, 13)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Union

from sqlext.errors import Place
from sqlext.rewriter.text.fragments import Fragment


@dataclass(frozen=True)
class Piece:
    """A part of a Text.

    `origin` is the offset in the user's text: of the first character if the piece is verbatim, otherwise of the text
    that the piece replaces. It is None if the user did not write the piece.
    """

    text: str
    origin: int | None = None
    is_verbatim: bool = True


@dataclass(frozen=True)
class Text:
    pieces: tuple[Piece, ...] = ()

    def __str__(self) -> str:
        return "".join(p.text for p in self.pieces)

    def __add__(self, other: TextLike) -> Text:
        return join(self, other)

    def part(self, start: int, stop: int) -> Text:
        """Characters `start` to `stop` (exclusive) of this text.

        >>> source = Source("SELECT :lo + a", (Edit(7, 10, "5"),))
        >>> part = join("x + ", source.slice(7, 14)).part(2, 8)
        >>> str(part), part.origin(5)
        ('+ 5 + ', 12)
        """
        pieces = []
        for piece in self.pieces:
            lo, hi = max(start, 0), min(stop, len(piece.text))
            if lo < hi:
                origin = piece.origin + lo if piece.origin is not None and piece.is_verbatim else piece.origin
                pieces.append(replace(piece, text=piece.text[lo:hi], origin=origin))
            start, stop = start - len(piece.text), stop - len(piece.text)
        return Text(tuple(pieces))

    def origin(self, offset: int) -> int | None:
        """The offset in the user's text of character `offset` of this text; None if the user did not write it."""
        for piece in self.pieces:
            if offset < len(piece.text):
                if piece.origin is None:
                    return None
                return piece.origin + (offset if piece.is_verbatim else 0)
            offset -= len(piece.text)
        return None

    def origins(self, start: int, stop: int) -> list[int]:
        """The offsets in the user's text of characters `start` to `stop` (exclusive), without generated ones."""
        offsets: list[int] = []
        for piece in self.part(start, stop).pieces:
            if piece.origin is not None:
                length = len(piece.text)
                offsets += range(piece.origin, piece.origin + length) if piece.is_verbatim else [piece.origin] * length
        return offsets

    @property
    def unplaced(self) -> Text:
        """The text as if the user had not written it: no error points to it.

        >>> Source("SELECT a").slice(7, 8).unplaced
        Text(pieces=(Piece(text='a', origin=None, is_verbatim=True),))
        """
        return Text(tuple(replace(piece, origin=None) for piece in self.pieces))

    @property
    def span(self) -> tuple[int, int] | None:
        """The offsets in the user's text of the first character that the user wrote, and just past the last one."""
        written = [p for p in self.pieces if p.origin is not None and p.text.strip()]
        starts = [p.origin for p in written if p.origin is not None]
        if not starts:
            return None
        stops = (start + (len(p.text.rstrip()) if p.is_verbatim else 1) for start, p in zip(starts, written))
        return min(starts), max(stops)

    def place(self, start: int, stop: int, user_text: str) -> Place | None:
        """The place in the user's text of characters `start` to `stop` (exclusive); None if they are all generated."""
        origins = self.origins(start, stop)
        if not origins:
            return None
        last = max(origins)
        is_replaced = origins.count(last) > 1  # all characters of generated text have one origin
        return Place(user_text, origins[0], _end_of_operand(user_text, last) if is_replaced else last + 1)


def _end_of_operand(text: str, start: int) -> int:
    """The end of the name or the call that begins at `start`.

    >>> text = "LAST(upper(A.x)) + 1"
    >>> text[: _end_of_operand(text, 0)]
    'LAST(upper(A.x))'
    """
    name = re.compile(r"[\w.`]*").match(text, start)
    at = max(start + 1, name.end() if name else start)
    depth = 0
    for i in range(at, len(text) if text[at : at + 1] == "(" else at):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i + 1
    return at


TextLike = Union[Text, str]


def join(*parts: TextLike, separator: str = "") -> Text:
    """All parts, concatenated, with `separator` between them."""
    pieces: list[Piece] = []
    for i, part in enumerate(parts):
        if i and separator:
            pieces.append(Piece(separator))
        pieces.extend(part.pieces if isinstance(part, Text) else [Piece(part)])
    return Text(tuple(pieces))


def sql(template: str, /, **values: TextLike | int | Sequence[TextLike]) -> Text:
    """The template with a value in the place of each name in braces; a list is written with commas between its items.

    Characters of a Text keep their origin. The template is a literal, never an f-string: the braces of a value mean
    themselves, as do other braces of a template.

    >>> source = Source("SELECT lo, '{n}'")
    >>> text = sql("coalesce(({x}), FALSE) AS __c{n}, f({all}) RLIKE '{2,}'", x=source.slice(7, 9), n=1,
    ...            all=["a", source.slice(11, 16)])
    >>> str(text), text.origin(10), text.origin(36)
    ("coalesce((lo), FALSE) AS __c1, f(a, '{n}') RLIKE '{2,}'", 7, 11)

    Raises KeyError for a name without a value.
    """
    parts = _parts_of(template)
    return join(*(_written(values[part]) if i % 2 else part for i, part in enumerate(parts)))


@lru_cache(maxsize=1024)
def _parts_of(template: str) -> tuple[str, ...]:
    """The text before the first name, the name, the text after it, and so on."""
    return tuple(re.split(r"\{([a-z]\w*)\}", template))


def _written(value: TextLike | int | Sequence[TextLike]) -> TextLike:
    if isinstance(value, (str, Text)):
        return value
    return str(value) if isinstance(value, int) else join(*value, separator=", ")


def sub(pattern: re.Pattern[str], new: str, text: TextLike) -> TextLike:
    """`re.sub` in each piece of a text."""
    if isinstance(text, str):
        return pattern.sub(new, text)
    return Text(tuple(replace(piece, text=pattern.sub(new, piece.text)) for piece in text.pieces))


def standing_for(text: str, origin: int) -> Text:
    """Generated text that replaces what the user wrote at `origin`."""
    return Text((Piece(text, origin, is_verbatim=False),))


@dataclass(frozen=True)
class Edit:
    """A replacement of characters `start` to `stop` (exclusive) of the user's text; an insertion if both are equal.

    A Text as replacement keeps the origin of its characters.
    """

    start: int
    stop: int
    replacement: TextLike


@dataclass(frozen=True)
class Source:
    """A user's statement, with the edits (bound parameters, inner clauses) to make in pieces of it."""

    text: str
    edits: tuple[Edit, ...] = ()

    def slice(self, start: int, stop: int) -> Text:
        """Characters `start` to `stop` (exclusive) of the statement, edited."""
        pieces: list[Piece] = []
        for edit in self.edits:
            if start <= edit.start and edit.stop <= stop:
                pieces.append(Piece(self.text[start : edit.start], start))
                new = edit.replacement
                pieces.extend(new.pieces if isinstance(new, Text) else standing_for(new, edit.start).pieces)
                start = edit.stop
        pieces.append(Piece(self.text[start:stop], start))
        return Text(tuple(p for p in pieces if p.text))

    def of(self, fragment: Fragment | Place) -> Text:
        """The text of a fragment of the statement, edited."""
        return self.slice(fragment.start, fragment.stop)

    def edited(self, edits: Iterable[Edit]) -> Source:
        """The statement with further edits.

        An edit that replaces characters removes the earlier edits inside it. Insertions at one place keep the order in
        which they were made, and come before the replacement of the characters that follow them.

        >>> source = Source("a b", (Edit(0, 1, "A"),)).edited([Edit(0, 0, "("), Edit(1, 1, ")")])
        >>> print(source.edited([Edit(1, 1, "]")]).slice(0, 3))
        (A)] b
        """
        new = tuple(edits)
        replacing = [n for n in new if n.start < n.stop]
        kept = [e for e in self.edits if not any(n.start <= e.start and e.stop <= n.stop for n in replacing)]
        return Source(self.text, tuple(sorted([*kept, *new], key=lambda e: (e.start, e.stop))))
