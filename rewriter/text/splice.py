"""SQL text that knows the origin of its characters, so that errors in it point into the user's own text.

>>> source = Source("SELECT :lo + a", (Edit(7, 10, "5"),))
>>> text = join("SELECT 1 + (", source.slice(7, 14), ")")
>>> str(text), text.origin(12), text.origin(16)
('SELECT 1 + (5 + a)', 7, 13)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Union


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

    def origin(self, offset: int) -> int | None:
        """The offset in the user's text of character `offset` of this text; None if the user did not write it."""
        for piece in self.pieces:
            if offset < len(piece.text):
                if piece.origin is None:
                    return None
                return piece.origin + (offset if piece.is_verbatim else 0)
            offset -= len(piece.text)
        return None


TextLike = Union[Text, str]


def join(*parts: TextLike, separator: str = "") -> Text:
    """All parts, concatenated, with `separator` between them."""
    pieces: list[Piece] = []
    for i, part in enumerate(parts):
        if i and separator:
            pieces.append(Piece(separator))
        pieces.extend(part.pieces if isinstance(part, Text) else [Piece(part)])
    return Text(tuple(pieces))


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
