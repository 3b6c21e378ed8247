"""The parts of a scalar expression: Spark's own text, references to rows of the match, and the meaning of names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Union

from sqlext.errors import BindError, Place
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import SUBQUERY_STARTS, Lexeme
from sqlext.rewriter.text.names import QUOTED_HINT, only_column, unquoted
from sqlext.rewriter.text.splice import Source, Text
from sqlext.rewriter.text.tokens import CLOSING, OPENING

FILTER_PLACE = -1
QUOTES = "'\""
_KEYWORDS = """
    ALL AND ANTI ANY AS ASC AT BETWEEN BOTH CASE CAST COLLATE CROSS CURRENT_DATE CURRENT_TIMESTAMP CURRENT_USER
    DESC DISTINCT DIV ELSE END ESCAPE EXISTS FALSE FILTER FOR FROM GROUP ILIKE IN INTERVAL IS LEADING LIKE NOT
    NULL NULLS OR ORDER OVER REGEXP RESPECT RLIKE SELECT SOME THEN TO TRAILING TRUE USING WHEN
"""
FIELD_MARKS = (".", ":")  # the name after one is that of a field: `a.b`, and `v:b` in a variant
_NOT_COLUMNS = frozenset(_KEYWORDS.split())


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A part of an expression that reads rows of the match.

    `kind`: "navigation", "aggregate", "classifier", "match number", "sequence number", "rowtime", "timed out" or
    "proctime".
    `variable`: the key of a pattern variable or SUBSET, None for the universal variable. `arguments` are evaluated on
    one input row, and `argument_items` are their items: columns and, inside an expression, CLASSIFIER() and
    MATCH_NUMBER(), for which `arguments` has constants of the same type. `argument_kind`: "row", or "classifier" if
    CLASSIFIER() is the whole argument.

    For aggregates, `function` is the lower-case name, and `parameters` are its arguments in order: an int i represents
    `arguments[i]`, and a text is a constant. `order_by` has (argument, is descending, NULLs are last) of each sort key;
    the keys are in WITHIN GROUP (`is_within_group`) or between the parentheses. `filter` is the argument that is the
    condition of FILTER; `nulls` is "IGNORE", "RESPECT" or empty. `call` is the whole call without FILTER, in which an
    int i represents `arguments[i]`, and FILTER_PLACE represents the place of FILTER.
    """

    kind: str
    place: Place
    variable: str | None = None
    arguments: tuple[Text, ...] = ()
    argument_items: tuple[tuple[Item, ...], ...] = ()
    argument_kind: str = "row"
    from_first: bool = False
    offset: int = 0
    step: int = 0
    is_final: bool = False
    function: str = ""
    is_distinct: bool = False
    parameters: tuple[Text | int, ...] = ()
    order_by: tuple[tuple[int, bool, bool | None], ...] = ()
    is_within_group: bool = False
    filter: int | None = None
    nulls: str = ""
    call: tuple[Text | int, ...] = ()

    @property
    def column(self) -> str | None:
        """The name of the column, in the letters of the user, if this is `A.column` or `column`; None for a call."""
        return only_column(self.place.written) if self.kind == "navigation" else None

    @property
    def start(self) -> int:
        return self.place.start

    @property
    def stop(self) -> int:
        return self.place.stop

    @property
    def reads_labels(self) -> bool:
        """True if an argument reads CLASSIFIER()."""
        return "classifier" in self._kinds_in_arguments

    @property
    def reads_numbers(self) -> bool:
        """True if an argument reads MATCH_NUMBER()."""
        return "match number" in self._kinds_in_arguments

    @property
    def _kinds_in_arguments(self) -> set[str]:
        return {x.kind for items in self.argument_items for x in items if isinstance(x, Reference)}

    @property
    def source(self) -> tuple:
        """A value that is equal for navigations that read the same row."""
        return self.kind, self.variable, self.from_first, self.offset, self.step, self.is_final


Item = Union[Lexeme, Reference]


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The meaning of names. `variables`: the keys of pattern variables and SUBSETs; `columns`: the names of the input's
    columns; `is_aggregate`: whether a function (in lower case, not in AGGREGATES) is an aggregate."""

    source: Source
    variables: Mapping[str, object]
    columns: tuple[str, ...]
    is_aggregate: Callable[[str], bool] = lambda name: False
    in_define: bool = False

    def column(self, lexeme: Lexeme) -> str | None:
        """The input column of this name, compared without case; None if there is none."""
        name = unquoted(lexeme.raw).lower()
        return next((c for c in self.columns if c.lower() == name), None)

    def place(self, start: int, stop: int) -> Place:
        return Place(self.source.text, start, stop)


def text_and_references(items: Sequence[Item], source: Source) -> list[Text | Reference]:
    """The references among consecutive items, with the text as the user wrote it before, between and after them."""
    pieces: list[Text | Reference] = []
    at = items[0].start
    for item in items:
        if isinstance(item, Reference):
            pieces += [source.slice(at, item.start), item]
            at = item.stop
    return [*pieces, source.slice(at, items[-1].stop)]


def words_of_items(items: Sequence[Item]) -> list[str]:
    """The word of each item, "" for a reference."""
    return [item.word if isinstance(item, Lexeme) else "" for item in items]


def closing_item(items: Sequence[Item], opening: int) -> int:
    """The index of the item that closes the parenthesis at `opening`."""
    depth = 0
    for i in range(opening, len(items)):
        item = items[i]
        raw = item.raw if isinstance(item, Lexeme) else ""
        depth += (raw in OPENING) - (raw in CLOSING)
        if depth == 0:
            return i
    return len(items) - 1


def place_of(items: Sequence[Item], source: Source) -> Place:
    return Place(source.text, items[0].start, items[-1].stop)


def columns_hint(name: str, columns: Sequence[str]) -> str:
    """The hint that names the column that was probably meant by `name`, or all columns.

    >>> columns_hint("pric", ("day", "price"))
    'did you mean "price"?'
    """
    near = get_close_matches(name.lower(), [c.lower() for c in columns], 1)
    meant = next((c for c in columns if c.lower() in near), None)
    return f'did you mean "{meant}"?' if meant else f"the columns are {', '.join(columns)}."


def unknown_column(lexeme: Lexeme, scope: Scope) -> BindError:
    """The error for a name that no column has, with the name that was probably meant."""
    hint = QUOTED_HINT if lexeme.raw[0] == '"' else columns_hint(unquoted(lexeme.raw), scope.columns)
    return BindError(
        "UNKNOWN_COLUMN",
        f'the input has no column "{unquoted(lexeme.raw).strip(QUOTES)}"',
        place=scope.place(lexeme.start, lexeme.stop),
        hint=hint,
    )


def lambda_parameter(parameter: str, function: str, place: Place) -> BindError:
    """The error for a call over rows in the body of a lambda that reads the lambda's parameter."""
    return BindError(
        "LAMBDA_PARAMETER",
        f"{parameter} is the parameter of a lambda, and {function} reads rows",
        place=place,
        hint=f"if a column or a variable is meant, give the parameter another name; otherwise leave {function} out.",
    )


class Words:
    """The lexemes of an expression, read by index. An index outside of the expression reads an empty word."""

    def __init__(self, parts: Sequence[Lexeme], scope: Scope):
        self.parts, self.scope = parts, scope

    def raw(self, i: int) -> str:
        return self.parts[i].raw if 0 <= i < len(self.parts) else ""

    def word(self, i: int) -> str:
        return self.parts[i].word if 0 <= i < len(self.parts) else ""

    def is_subquery(self, i: int) -> bool:
        return self.raw(i) == "(" and self.word(i + 1) in SUBQUERY_STARTS

    def closing(self, i: int) -> int:
        """The index of the parenthesis that closes the one at i."""
        return closing_item(self.parts, i)

    def arguments(self, opening: int, close: int) -> list[tuple[int, int]]:
        """The ranges of lexemes between the commas of `( … )`; `opening` is the index before the first argument."""
        bounds: list[tuple[int, int]] = []
        start = i = opening + 1
        while i < close:
            if self.parts[i].raw in OPENING:
                i = self.closing(i)
            elif self.parts[i].raw == ",":
                bounds.append((start, i))
                start = i + 1
            i += 1
        return [*bounds, (start, close)] if close > opening + 1 else []

    def outer_parameter(self, lo: int, hi: int) -> int | None:
        """The index of the first of lexemes lo to hi that is the parameter of a lambda which begins before them."""
        start = self.parts[lo].start
        places = ((i, self.parts[i].declared_at) for i in range(lo, hi))
        return next((i for i, at in places if at is not None and at < start), None)

    def slice(self, lo: int, hi: int) -> Text:
        """The text of lexemes lo to hi."""
        return self.scope.source.slice(self.parts[lo].start, self.parts[hi - 1].stop) if lo < hi else Text()

    def fragment(self, lo: int, hi: int) -> Fragment:
        """Lexemes lo to hi as a part of the user's text."""
        return Fragment(self.scope.source.text, self.parts[lo].start, self.parts[hi - 1].stop)

    def place(self, lo: int, hi: int) -> Place:
        """The place of lexemes lo to hi; if the range is empty, the place of lexeme lo, or of the last lexeme."""
        lo = min(lo, len(self.parts) - 1)
        return self.scope.place(self.parts[lo].start, self.parts[min(max(hi, lo + 1), len(self.parts)) - 1].stop)

    def is_column(self, i: int) -> bool:
        """True if the word at i is an input column, or the input's alias in front of an input column."""
        lexeme, before, after = self.parts[i], self.raw(i - 1), self.raw(i + 1)
        if not lexeme.is_name or before in FIELD_MARKS or after == "(":
            return False
        if not lexeme.raw.startswith("`") and (lexeme.word in _NOT_COLUMNS or self._is_syntax(i, before, after)):
            return False
        if self.scope.column(lexeme):
            return True
        return after == "." and i + 2 < len(self.parts) and self.scope.column(self.parts[i + 2]) is not None

    def _is_syntax(self, i: int, before: str, after: str) -> bool:
        """True if the word at i is a type (`CAST(x AS date)`, `date '…'`), a unit (`INTERVAL 5 day`), a field
        (`EXTRACT(year FROM t)`) or the name of an argument (`n => 1`)."""
        return (
            before.upper() == "AS"
            or before == "::"
            or after == "=>"
            or after.upper() == "FROM"
            or (
                before != ""
                and (before[0].isdigit() or before[0] in "'\"")
                and self.word(i - 2) in ("INTERVAL", "+", "-")
            )
            or (
                after[:1] in ("'", '"')
                and self.word(i) in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "X", "TIME")
            )
        )
