"""Reads the parts of an aggregate call beside its arguments: DISTINCT, ORDER BY, WITHIN GROUP, IGNORE NULLS, FILTER."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlext.aggregates.registry import AggregateParts, SortPart
from sqlext.errors import Place
from sqlext.rewriter.scalars.references import Reference, Words
from sqlext.rewriter.text.splice import Text
from sqlext.rewriter.text.tokens import OPENING

Bounds = tuple[int, int]  # a range of lexemes


@dataclass(frozen=True, kw_only=True)
class AggregateSyntax:
    """The parts of a call, as ranges of lexemes.

    `first`: the index of the first word of the arguments; `order_by`: the keys inside the parentheses, or of WITHIN
    GROUP; `filter`: the condition of FILTER; `nulls`: "IGNORE", "RESPECT" or empty; `call_stop`: the index just past
    the call with its WITHIN GROUP, before the words that follow; `stop`: the index just past all parts.
    """

    is_distinct: bool
    first: int
    arguments: tuple[Bounds, ...]
    order_by: tuple[SortPart[Bounds], ...]
    is_within_group: bool
    filter: Bounds | None
    nulls: str
    call_stop: int
    stop: int


def read_aggregate(words: Words, i: int) -> AggregateSyntax:
    """The parts of the aggregate whose name is at i."""
    close = words.closing(i + 1)
    has_quantifier = words.word(i + 2) in ("DISTINCT", "ALL") and words.raw(i + 3) not in (")", ",", ".", "")
    first = i + 2 + has_quantifier
    at = _order_by(words, first, close)
    order_by = _sort_expressions(words, at, close) if at < close else []
    arguments = words.arguments(first - 1, at) if first < at else []
    nulls, stop = _nulls(words, close + 1)
    if not nulls and arguments and arguments[-1][1] - arguments[-1][0] > 2:  # first_value(x IGNORE NULLS)
        lo, hi = arguments[-1]
        nulls, _ = _nulls(words, hi - 2)
        arguments[-1] = (lo, hi - 2 if nulls else hi)
    is_within_group = words.word(stop) == "WITHIN" and words.word(stop + 1) == "GROUP"
    if is_within_group:
        end = words.closing(stop + 2)
        order_by = _sort_expressions(words, stop + 3, end)
        stop = end + 1
    call_stop = close + 1 if stop == close + 1 or not is_within_group else stop
    if not nulls:
        nulls, stop = _nulls(words, stop)
    condition: Bounds | None = None
    if words.word(stop) == "FILTER" and words.raw(stop + 1) == "(":
        end = words.closing(stop + 1)
        condition, stop = (stop + 2 + (words.word(stop + 2) == "WHERE"), end), end + 1
        if not nulls:
            nulls, stop = _nulls(words, stop)
    return AggregateSyntax(
        is_distinct=has_quantifier and words.word(i + 2) == "DISTINCT",
        first=first,
        arguments=tuple(arguments),
        order_by=tuple(order_by),
        is_within_group=is_within_group,
        filter=condition,
        nulls=nulls,
        call_stop=call_stop,
        stop=stop,
    )


def parts_of_text(
    syntax: AggregateSyntax, text: Callable[[int, int], Text], place: Place | None
) -> AggregateParts[Text]:
    """The parts of a call whose arguments are texts; `text(lo, hi)` returns the text of lexemes lo to hi."""
    arguments = tuple(text(*bounds) for bounds in syntax.arguments)
    return AggregateParts(
        arguments=() if [str(a).strip() for a in arguments] == ["*"] else arguments,
        order_by=tuple(
            SortPart(key=text(*part.key), is_descending=part.is_descending, nulls_last=part.nulls_last)
            for part in syntax.order_by
        ),
        is_within_group=syntax.is_within_group,
        is_distinct=syntax.is_distinct,
        nulls=syntax.nulls,
        filter=None if syntax.filter is None else text(*syntax.filter),
        place=place,
    )


def parts_of_reference(reference: Reference) -> AggregateParts[Text | int]:
    """The parts of a call in MEASURES or DEFINE; an int i represents `reference.arguments[i]`."""
    return AggregateParts(
        arguments=reference.parameters,
        order_by=tuple(
            SortPart(key=i, is_descending=is_descending, nulls_last=nulls_last)
            for i, is_descending, nulls_last in reference.order_by
        ),
        is_within_group=reference.is_within_group,
        is_distinct=reference.is_distinct,
        nulls=reference.nulls,
        filter=reference.filter,
        place=reference.place,
    )


def _nulls(words: Words, i: int) -> tuple[str, int]:
    """The word IGNORE or RESPECT before NULLS at i, or "", and the index just past NULLS, or i."""
    if words.word(i) in ("IGNORE", "RESPECT") and words.word(i + 1) == "NULLS":
        return words.word(i), i + 2
    return "", i


def _order_by(words: Words, lo: int, hi: int) -> int:
    """The index of ORDER BY between the parentheses of a call, or `hi` without ORDER BY."""
    i = lo
    while i < hi:
        if words.raw(i) in OPENING:
            i = words.closing(i)
        elif i > lo and _is_order_by(words, i):
            return i
        i += 1
    return hi


def _is_order_by(words: Words, i: int) -> bool:
    """True if ORDER BY is at i. The tokenizer may return it as one token."""
    return words.word(i).split() == ["ORDER", "BY"] or (words.word(i) == "ORDER" and words.word(i + 1) == "BY")


def _sort_expressions(words: Words, i: int, stop: int) -> list[SortPart[Bounds]]:
    """The keys after ORDER BY, which is at i."""
    lo = i + (2 if words.word(i) == "ORDER" else 1)
    return [_sort_expression(words, *bounds) for bounds in words.arguments(lo - 1, stop)]


def _sort_expression(words: Words, lo: int, hi: int) -> SortPart[Bounds]:
    nulls_last: bool | None = None
    if words.word(hi - 2) == "NULLS" and words.word(hi - 1) in ("FIRST", "LAST"):
        nulls_last, hi = words.word(hi - 1) == "LAST", hi - 2
    direction = words.word(hi - 1)
    hi -= direction in ("ASC", "DESC")
    return SortPart(key=(lo, hi), is_descending=direction == "DESC", nulls_last=nulls_last)
