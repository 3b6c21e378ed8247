"""What a scalar expression of a clause is made of: Spark's text, and references to rows of the match."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Union

from sqlext.errors import BindError, Place
from sqlext.rewriter.text.lexemes import Lexeme
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.splice import Source, Text, join

FILTER_PLACE = -1


@dataclass(frozen=True, kw_only=True)
class Reference:
    """What an expression asks of the match.

    `kind`: "navigation", "aggregate", "classifier", "match number", "sequence number" or "rowtime". `variable` is the
    key of a pattern variable or SUBSET, None the universal one. `arguments` are evaluated on one input row. For
    aggregates `call` is the whole call, an int i standing for `arguments[i]` and FILTER_PLACE for where a FILTER clause
    may stand; `function` is its lower-case name; `argument_kind` "classifier": the argument is CLASSIFIER() itself.
    """

    kind: str
    place: Place
    variable: str | None = None
    arguments: tuple[Text, ...] = ()
    argument_kind: str = "row"
    from_first: bool = False
    offset: int = 0
    step: int = 0
    is_final: bool = False
    is_running: bool = False
    function: str = ""
    is_distinct: bool = False
    call: tuple[Text | int, ...] = ()

    @property
    def source(self) -> tuple:
        """What identifies the row a navigation reads."""
        return self.kind, self.variable, self.from_first, self.offset, self.step, self.is_final


Item = Union[Lexeme, Reference]


@dataclass(frozen=True, kw_only=True)
class Scope:
    """What names mean. `variables`: keys of pattern variables and SUBSETs; `columns`: the input's column names;
    `is_aggregate` says of a function name (lower case) that is not one of AGGREGATES whether it is one too."""

    source: Source
    variables: Mapping[str, object]
    columns: tuple[str, ...]
    is_aggregate: Callable[[str], bool] = lambda name: False
    in_define: bool = False

    def column(self, lexeme: Lexeme) -> str | None:
        """The input column that a name says, compared without case."""
        name = unquoted(lexeme.raw).lower()
        return next((c for c in self.columns if c.lower() == name), None)

    def place(self, start: int, stop: int) -> Place:
        return Place(self.source.text, start, stop)


def render(items: Sequence[Item], source: Source, replace_reference: Callable[[Reference], Text]) -> Text:
    """The text of consecutive items as the user wrote it, with every reference replaced."""
    pieces: list[Text] = []
    at = _start(items[0])
    for item in items:
        if isinstance(item, Reference):
            pieces += [source.slice(at, item.place.start), replace_reference(item)]
            at = item.place.stop
    return join(*pieces, source.slice(at, _stop(items[-1])))


def _start(item: Item) -> int:
    return item.place.start if isinstance(item, Reference) else item.start


def _stop(item: Item) -> int:
    return item.place.stop if isinstance(item, Reference) else item.stop


def place_of(items: Sequence[Item], source: Source) -> Place:
    return Place(source.text, _start(items[0]), _stop(items[-1]))


def unknown_column(lexeme: Lexeme, scope: Scope) -> BindError:
    """The error for a name that is no column, with what may have been meant."""
    near = get_close_matches(unquoted(lexeme.raw).lower(), [c.lower() for c in scope.columns], 1)
    names = [c for c in scope.columns if c.lower() in near] or list(scope.columns)
    hint = f'did you mean "{names[0]}"?' if near else f"columns are {', '.join(names)}."
    return BindError(
        "UNKNOWN_COLUMN",
        f'the input has no column "{unquoted(lexeme.raw)}"',
        place=scope.place(lexeme.start, lexeme.stop),
        hint=hint,
    )
