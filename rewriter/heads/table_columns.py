"""Reads the list of columns after the name of a table: `(name [type] [NOT NULL] [COMMENT '…'], …)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from sqlext.errors import BindError, Place, SqlExtError
from sqlext.rewriter.text.cursor import Cursor
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.tokens import STRING, Tokens, closed

_AFTER_TYPE = frozenset({"NOT", "COMMENT", "DEFAULT", "GENERATED"})  # these words follow the type of a column
_CONSTRAINTS = frozenset({"CONSTRAINT", "PRIMARY", "FOREIGN", "CHECK", "REFERENCES", "UNIQUE"})
# the first word of a constraint → what follows it; without that it is the name of a column
_AFTER_FIRST = {"CHECK": "(", "UNIQUE": "(", "PRIMARY": "KEY", "FOREIGN": "KEY"}


@dataclass(frozen=True, kw_only=True)
class TableColumn:
    """A column in the list after the name of the table: `name [type] [NOT NULL] [COMMENT '…']`.

    `rest`: what follows the name, None if nothing does; `type`: the type at the beginning of the rest, if it has one.
    """

    name: str
    place: Place
    rest: Fragment | None
    type: Fragment | None


def take_columns(cursor: Cursor, about_constraint: Callable[[Place], SqlExtError]) -> tuple[TableColumn, ...]:
    """Move past a list of columns, at whose parenthesis the cursor is.

    `about_constraint`: the error about a constraint at this place. Raises it, ParseError, and BindError
    DUPLICATE_COLUMN.
    """
    close = closed(cursor.text, cursor.tokens, cursor.index, hint=cursor.hint)
    ranges = list(between_commas(cursor.tokens, cursor.index + 1, close))
    columns = [_column(cursor, lo, hi, about_constraint) for lo, hi in ranges]
    cursor.index = close + 1
    return distinct(columns, BindError, "DUPLICATE_COLUMN", "the list of columns")


def _column(cursor: Cursor, lo: int, hi: int, about_constraint: Callable[[Place], SqlExtError]) -> TableColumn:
    tokens = cursor.tokens
    if lo >= hi or not tokens[lo].is_name:
        raise cursor.error("a column is missing here", min(lo, hi), min(lo, hi) + 1)
    words = {i: tokens[i].word for i in _outside_brackets(tokens, lo, hi)}
    after_name = next((i for i, word in words.items() if i > lo and word in _CONSTRAINTS), None)
    constraint = lo if _begins_constraint(tokens, lo, hi) else after_name
    if constraint is not None:
        raise about_constraint(cursor.fragment(constraint, hi).place)
    first = lo + 1
    type_end = next((i for i, word in words.items() if i >= first and word in _AFTER_TYPE), hi)
    return TableColumn(
        name=unquoted(tokens[lo].text),
        place=cursor.fragment(lo, first).place,
        rest=cursor.fragment(first, hi) if first < hi else None,
        type=cursor.fragment(first, type_end) if first < type_end else None,
    )


def _begins_constraint(tokens: Tokens, lo: int, hi: int) -> bool:
    """True if tokens `lo` to `hi` are a constraint of the table, and not a column that is called `check`, for example.

    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> items = "CHECK (v > 0)", "check INT", "PRIMARY KEY (k)", "primary", "CONSTRAINT c UNIQUE (k)", "constraint INT"
    >>> [_begins_constraint(tokenize(item), 0, len(tokenize(item))) for item in items]
    [True, False, True, False, True, False]
    """
    after = [token.word for token in tokens[lo + 1 : hi][:2]]
    if tokens[lo].word == "CONSTRAINT":
        return after[1:] != [] and after[1] in _CONSTRAINTS
    return after[:1] == [_AFTER_FIRST.get(tokens[lo].word)]


def between_commas(tokens: Tokens, lo: int, hi: int) -> Iterator[tuple[int, int]]:
    """The ranges between the commas of tokens `lo` to `hi`, except for commas in brackets and in STRUCT<…>."""
    for i in [i for i in _outside_brackets(tokens, lo, hi) if tokens[i].text == ","]:
        yield lo, i
        lo = i + 1
    yield lo, hi


def _outside_brackets(tokens: Tokens, lo: int, hi: int) -> Iterator[int]:
    """Those of tokens `lo` to `hi`, of which the first is no bracket, that are in no brackets and in no STRUCT<…>."""
    angles = 0
    for i in range(lo, hi):
        if tokens[i].depth == tokens[lo].depth:
            angles += 0 if tokens[i].kind == STRING else tokens[i].text.count("<") - tokens[i].text.count(">")
            if angles == 0:
                yield i


class _Named(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def place(self) -> Place: ...


Column = TypeVar("Column", bound=_Named)


def distinct(columns: Sequence[Column], kind: type[SqlExtError], error_class: str, what: str) -> tuple[Column, ...]:
    """Return the columns. Raises an error of this kind and class if two of them have the same name."""
    names = [column.name.lower() for column in columns]
    for i, column in enumerate(columns):
        if column.name.lower() in names[:i]:
            raise kind(error_class, f"{column.name} is twice in {what}", place=column.place)
    return tuple(columns)
