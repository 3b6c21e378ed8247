"""Every part of a call of an aggregate is used or refused, and documents list the aggregates that there are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sqlext.aggregates.aggregator import fold
from sqlext.aggregates.bind import AGGREGATORS, BoundAggregate, bind_aggregate
from sqlext.aggregates.registry import (
    AGGREGATES,
    COMPUTED,
    AggregateParts,
    Nulls,
    SortPart,
    WithinGroupKey,
)
from sqlext.errors import BindError, DataError, Place, UnsupportedError
from sqlext.expressions.function import ExecutionSettings
from sqlext.rewriter.scalars.static_binder import StaticBinder
from sqlext.rewriter.text.splice import join

DOCS = Path(__file__).parents[2] / "docs"
CONSTANTS = {"0.5": 0.5, "2": 2, "true": True, "','": ","}
WRITTEN = {"percentile": "0.5", "listagg": "','", "string_agg": "','", "max_by": "2", "min_by": "2"}


class Columns:
    """Columns a, b and k of numbers; everything else is a constant."""

    def types(self, texts: Sequence[str]) -> list[str]:
        return ["bigint" if text in "abk" else "string" if text == "','" else "double" for text in texts]

    def values(self, texts: Sequence[str], types: Sequence[str]) -> list[Any]:
        return [CONSTANTS[text] for text in texts]


def plain_call(name: str) -> AggregateParts[str]:
    """A call without any part that could be left out."""
    function = AGGREGATES[name]
    own = ("a", "b")[: max(1, function.arity[0] - len([i for i in function.constants if i < function.arity[0]]))]
    if function.needs_key:
        return AggregateParts(arguments=("0.5",), order_by=(SortPart(key="k"),), is_within_group=True)
    written = (WRITTEN[name],) if function.arity[0] > len(own) else ()
    return AggregateParts(arguments=(*own, *written))


def variants(name: str) -> Iterator[tuple[str, AggregateParts[str], AggregateParts[str]]]:
    """Pairs of calls that differ in one part."""
    plain = plain_call(name)
    ordered = replace(plain, order_by=(SortPart(key="k"),), is_within_group=False)
    grouped = replace(ordered, is_within_group=True)
    if name == "mode":
        grouped = replace(grouped, arguments=())
    descending = (SortPart(key="k", is_descending=True),)
    yield "DISTINCT", plain, replace(plain, is_distinct=True)
    yield "IGNORE NULLS", plain, replace(plain, nulls="IGNORE")
    yield "RESPECT NULLS", plain, replace(plain, nulls="RESPECT")
    yield "WITHIN GROUP", plain, grouped
    yield "WITHIN GROUP DESC", grouped, replace(grouped, order_by=descending)
    yield "WITHIN GROUP NULLS LAST", grouped, replace(grouped, order_by=(SortPart(key="k", nulls_last=True),))
    yield "ORDER BY", plain, ordered
    yield "ORDER BY DESC", ordered, replace(ordered, order_by=descending)
    yield "ORDER BY NULLS LAST", ordered, replace(ordered, order_by=(SortPart(key="k", nulls_last=True),))
    for i, constant in enumerate(AGGREGATES[name].constants):
        if constant >= len(plain.arguments):
            other = "true" if name in ("mode", "first_value", "last_value", "any_value") else WRITTEN.get(name, "0.5")
            yield f"constant {i}", plain, replace(plain, arguments=(*plain.arguments, other))


def is_without_effect(name: str, part: str) -> bool:
    """Parts that Spark takes and that mean nothing: what they ask for is what happens without them."""
    function = AGGREGATES[name]
    if part == "RESPECT NULLS":
        return function.nulls is not Nulls.LEFT_OUT
    if part == "WITHIN GROUP NULLS LAST":
        return function.within_group is WithinGroupKey.VALUE  # the key is the value, and NULLs are not aggregated
    return part == "WITHIN GROUP" and function.needs_key  # the plain call has it


@pytest.mark.parametrize("name", COMPUTED)
def test_calls_that_differ_in_a_part_are_bound_differently_or_refused(name):
    bind_aggregate(name, plain_call(name), Columns())
    for part, before, after in variants(name):
        outcomes = []
        for parts in (before, after):
            try:
                outcomes.append(bind_aggregate(name, parts, Columns()))
            except BindError as error:
                outcomes.append(error)
        is_refused = any(isinstance(outcome, BindError) for outcome in outcomes)
        is_same = not is_refused and outcomes[0] == outcomes[1]
        assert is_same == (is_without_effect(name, part) and not is_refused), (part, outcomes)


@pytest.mark.parametrize(
    "name, parts, message",
    [
        ("sum", {"is_within_group": True, "order_by": (SortPart(key="k"),)}, "sum takes no WITHIN GROUP"),
        ("percentile_cont", {}, "percentile_cont takes a key in WITHIN GROUP"),
        ("mode", {"is_distinct": True}, "mode takes no DISTINCT"),
        ("max_by", {"nulls": "IGNORE"}, "max_by takes 2 to 3 arguments here"),
        ("stddev", {"nulls": "IGNORE"}, "stddev takes no IGNORE NULLS"),
    ],
)  # fmt: skip
def test_a_part_that_a_function_does_not_take_is_refused(name, parts, message):
    with pytest.raises(BindError, match=re.escape(message)):
        bind_aggregate(name, AggregateParts(arguments=("a",), **parts), Columns())


def test_each_aggregate_that_workers_compute_has_an_aggregator():
    assert set(AGGREGATORS) == set(COMPUTED)


def test_what_only_spark_computes_is_refused_with_the_list():
    with pytest.raises(UnsupportedError, match=r"The aggregates are count, .*regr_slope"):
        bind_aggregate("histogram_numeric", AggregateParts(arguments=("a", "2")), Columns())


@pytest.mark.parametrize(
    "name, constants, is_descending, expected",
    [
        ("percentile_cont", 0.25, False, 17.5),
        ("percentile_cont", 0.25, True, 32.5),
        ("percentile_disc", 0.3, True, 30.0),
        ("percentile_cont", (0.25, 0.5), True, [32.5, 25.0]),
        ("mode", None, False, 10),
        ("mode", None, True, 40),
    ],
)
def test_the_direction_of_a_key_that_is_aggregated_counts(name, constants, is_descending, expected):
    call = BoundAggregate(
        function=name,
        types=("int", "double") if constants else ("int",),
        result="double",
        constants=((1, constants),) if constants else (),
        is_descending=is_descending,
    )
    assert fold(call.aggregator(ExecutionSettings(True, "UTC")), [(v,) for v in (10, 20, None, 30, 40)]) == expected


def test_max_by_of_several_rows_keeps_the_order_of_equal_keys():
    rows = [(10, 1), (None, 2), (30, 3), (31, 3), (32, 3), (40, None)]
    for name, most, expected in (
        ("max_by", 2, [30, 31]), ("max_by", 9, [30, 31, 32, None, 10]), ("min_by", 3, [10, None, 30]),
    ):  # fmt: skip
        call = BoundAggregate(
            function=name, types=("int", "int", "int"), result="array<int>", constants=((2, most),)
        ).aggregator(ExecutionSettings(True, "UTC"))
        assert fold(call, rows) == expected
        assert call.value(call.empty) is None
        states = [call.add(call.empty, *row) for row in rows]
        merged = states[0]
        for state in states[1:]:
            merged = call.merge(merged, state)
        assert call.value(merged) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("percentile(v, array(0.1, 0.9))", "array<double>"),
        ("percentile_cont(array(0.1)) WITHIN GROUP (ORDER BY v DESC)", "array<double>"),
        ("percentile_disc(0.5) WITHIN GROUP (ORDER BY d NULLS LAST)", "interval day to second"),
        ("mode() WITHIN GROUP (ORDER BY v)", "int"),
        ("max_by(s, v, 3)", "array<string>"),
        ("listagg(DISTINCT s, ',') WITHIN GROUP (ORDER BY s)", "string"),
        ("array_agg(s ORDER BY v DESC, s)", "array<string>"),
        ("sum(v)", "bigint"),
        ("count(*)", "bigint"),
        ("regr_avgx(m, m)", "decimal(14,6)"),
    ],
)
def test_rules_know_the_type_of_an_aggregate_by_its_parts(text, expected):
    columns = {"v": "int", "s": "string", "d": "interval day to second", "m": "decimal(10,2)"}
    texts = StaticBinder(columns=columns, settings=ExecutionSettings(True, "UTC"))
    assert texts.types([join(text)]) == [expected]


@pytest.mark.parametrize(
    "text", ["sum(v) WITHIN GROUP (ORDER BY v)", "mode()", "max_by(v, v, v)", "sum(v) IGNORE NULLS"]
)
def test_rules_refuse_a_part_that_an_aggregate_does_not_take(text):
    with pytest.raises((BindError, UnsupportedError)):
        StaticBinder(columns={"v": "int"}, settings=ExecutionSettings(True, "UTC")).types([join(text)])


def test_a_wrong_constant_is_an_error_at_its_call():
    call = BoundAggregate(function="max_by", types=("int", "int", "int"), result="array<int>", constants=((2, None),))
    place = Place("max_by(a, b, CAST(NULL AS INT))", 0, 31)
    with pytest.raises(DataError, match="from 1 to 100000, not NULL") as error:
        call.check(ExecutionSettings(True, "UTC"), place)
    assert error.value.place == place
