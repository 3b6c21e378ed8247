"""Decides which expressions have exactly one value for each row, as the keys of every clause must have.

Spark computes keys in a SELECT list, where an aggregate would make one row of many, and a generator many rows of one.
So they are refused before Spark is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from sqlext.aggregates.registry import AGGREGATES, ALIASES
from sqlext.errors import BindError, raise_all
from sqlext.rewriter.scalars.references import Scope, Words
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import lexemes
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.splice import Source

AGGREGATE, GENERATOR, WINDOW_FUNCTION, TIME_WINDOW = "aggregate", "generator", "window function", "time window"
# https://spark.apache.org/docs/latest/sql-ref-functions-builtin.html "Generator Functions"; a test compares the names
GENERATORS = frozenset({
    "explode", "explode_outer", "inline", "inline_outer", "json_tuple", "posexplode", "posexplode_outer", "stack",
})  # fmt: skip
TIME_WINDOWS = frozenset({"session_window", "window"})  # Spark copies the rows of sliding windows, and drops NULL times

_REASONS = {
    AGGREGATE: "an aggregate, which is one value of many rows",
    GENERATOR: "a generator, which makes many rows of one",
    WINDOW_FUNCTION: "a window function, which reads other rows",
    TIME_WINDOW: "a window of time, of which a row may have several or none",
}
_AROUND = "make the rows in the relation, or keep the array and make them in a query around the result."
_COMPUTE = "compute it in the relation: (SELECT *, {} AS key FROM …)."
_HINTS = {
    AGGREGATE: "compute it in the relation: (SELECT *, {} OVER (PARTITION BY …) AS key FROM …).",
    GENERATOR: "make the rows in the relation: (SELECT *, {} AS key FROM …).",
    WINDOW_FUNCTION: _COMPUTE,
    TIME_WINDOW: "write date_trunc('HOUR', ts), or " + _COMPUTE,
}


@dataclass(frozen=True)
class Call:
    """A call that has not one value for each row: its kind, and its range of lexemes with FILTER and OVER."""

    kind: str
    start: int
    stop: int


@dataclass(frozen=True)
class RowValue:
    """An expression that is computed for each row; `where` names the part of the clause, such as PARTITION BY."""

    where: str
    expression: Fragment


def check_scalar(
    values: Iterable[RowValue],
    source: Source,
    is_aggregate: Callable[[str], bool],
    allowed: frozenset[str] = frozenset(),
) -> None:
    """Raise BindError (NOT_SCALAR) for each expression that holds an aggregate, a generator or a window function.

    `is_aggregate`: whether a function (in lower case, not in AGGREGATES) is an aggregate. `allowed`: the kinds of calls
    that the query around the clause computes before, as a GROUP BY does aggregates.
    """
    raise_all([error for value in values for error in _errors(value, source, is_aggregate, allowed)])


def _errors(
    value: RowValue, source: Source, is_aggregate: Callable[[str], bool], allowed: frozenset[str]
) -> Iterator[BindError]:
    words = Words(lexemes(value.expression, source), Scope(source=source, variables={}, columns=()))
    for call in calls_over_rows(words, is_aggregate):
        if call.kind not in allowed:
            yield not_scalar(words, call, f"{value.where} needs one value of each row")
            return


def check_no_copies(words: Words, i: int, where: str) -> None:
    """Raise BindError (NOT_SCALAR) if the call at lexeme i makes several rows of one, or none."""
    kind = _kind(words, i, lambda name: False)
    if kind in (GENERATOR, TIME_WINDOW):
        hint = "compute it in the relation, or in a query around the result." if kind == TIME_WINDOW else _AROUND
        raise not_scalar(words, Call(kind, i, _stop(words, i)), f"{where} needs one value of each row", hint)


def not_scalar(words: Words, call: Call, need: str, hint: str = "") -> BindError:
    """The error for a call. `need`: what the clause needs instead, as the beginning of a sentence."""
    place = words.place(call.start, call.stop)
    return BindError(
        "NOT_SCALAR",
        f"{need}, and {place.written} is {_REASONS[call.kind]}",
        place=place,
        hint=hint or _HINTS[call.kind].format(place.written),
    )


def calls_over_rows(words: Words, is_aggregate: Callable[[str], bool]) -> Iterator[Call]:
    """The calls of an expression that have not one value for each row, outer ones first; those of subqueries are not
    its own.

    >>> text = "abs(max(x)) + (SELECT max(y) FROM u) + rank() OVER (ORDER BY explode(xs))"
    >>> words = Words(lexemes(Fragment(text, 0, len(text))), Scope(source=Source(text), variables={}, columns=()))
    >>> [(call.kind, words.place(call.start, call.stop).written) for call in calls_over_rows(words, lambda name: False)]
    [('aggregate', 'max(x)'), ('window function', 'rank() OVER (ORDER BY explode(xs))'), ('generator', 'explode(xs)')]
    """
    i = 0
    while i < len(words.parts):
        if words.is_subquery(i):
            i = words.closing(i) + 1
            continue
        kind = _kind(words, i, is_aggregate)
        if kind:
            yield Call(kind, i, _stop(words, i))
        i += 1


def _kind(words: Words, i: int, is_aggregate: Callable[[str], bool]) -> str | None:
    """The kind of the call that begins at lexeme i; None if it has one value for each row, or none begins there."""
    if not words.parts[i].is_name or words.raw(i + 1) != "(":
        return None
    name = unquoted(words.raw(i)).lower()
    if words.word(_stop_of_filter(words, i)) == "OVER":
        return WINDOW_FUNCTION
    if name in TIME_WINDOWS:
        return TIME_WINDOW
    if name in GENERATORS:
        return GENERATOR
    return AGGREGATE if name in AGGREGATES or name in ALIASES or is_aggregate(name) else None


def _stop_of_filter(words: Words, i: int) -> int:
    """The index just past the call at i, with WITHIN GROUP, IGNORE NULLS and FILTER."""
    stop = words.closing(i + 1) + 1
    while words.word(stop) in ("WITHIN", "IGNORE", "RESPECT", "FILTER"):
        opening = stop + (1 if words.word(stop) == "FILTER" else 2)
        stop = words.closing(opening) + 1 if words.raw(opening) == "(" else opening
    return stop


def _stop(words: Words, i: int) -> int:
    """The index just past the call at i and its OVER."""
    stop = _stop_of_filter(words, i)
    if words.word(stop) != "OVER":
        return stop
    return words.closing(stop + 1) + 1 if words.raw(stop + 1) == "(" else stop + 2
