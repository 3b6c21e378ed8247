"""Markers and the literals that take their place."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import numpy
import pytest

from sqlext.errors import SqlExtError
from sqlext.rewriter.statements.parameters import bind, literal
from sqlext.rewriter.text.splice import Source

from .cases import lines

NAMES = {t.__name__: t for t in (date, datetime, timedelta, timezone, Decimal, numpy)}


def answer(call) -> str:
    try:
        return call()
    except SqlExtError as e:
        return "!" + e.error_class.removeprefix("SQLEXT_")


@pytest.mark.parametrize("line", lines("parameters.txt"))
def test_markers(line: str) -> None:
    text, args, expected = (part.strip() for part in line.split(" | "))
    bounds = [i for i, c in enumerate(text) if c == "$"]
    skip = [tuple(bounds)] if bounds else []

    def bound() -> str:
        edits = bind(text, eval(args, NAMES), skip)
        return str(Source(text, edits).slice(0, len(text)))

    assert answer(bound) == expected


@pytest.mark.parametrize("line", lines("literals.txt"))
def test_literals(line: str) -> None:
    value, expected = line.rsplit(" | ", 1)
    assert answer(lambda: literal(eval(value, NAMES)).replace("\n", "¶")) == expected


def test_a_naive_time_is_local_as_for_lit() -> None:
    naive = datetime(2020, 7, 1, 12)
    assert literal(naive) == literal(naive.astimezone(timezone.utc))


def test_errors_have_places() -> None:
    text = "SELECT :a, ? FROM t"
    with pytest.raises(SqlExtError) as caught:
        bind(text, {"b": 1})
    assert [(e.place.start if e.place else None) for e in caught.value.errors] == [7, 11]  # type: ignore[attr-defined]
