"""Random patterns, interpreted conditions and rows: the search in Python finds what the reference finds."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from sqlext.aggregates.bind import BoundAggregate
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.scalar_tree import Constant, Read, Scalar, ScalarCall
from sqlext.pattern.batch.parts import part_of
from sqlext.pattern.conditions.condition_reads import reads_number, rows_ahead
from sqlext.pattern.program.program import Done, MatchEnd, MatchLabel, MatchStart, Program, Split
from sqlext.pattern.strategy import choose, decide, match
from sqlext.pattern.task.event_time import EventTimes, StreamFacts, first_position
from sqlext.pattern.task.skip_mode import NO_SKIP, SKIP_PAST_LAST_ROW
from sqlext.pattern.task.task import (
    CLASSIFIER_NAME,
    MATCH_NUMBER,
    Aggregate,
    InterpretedAggregate,
    Literal,
    MachineCall,
    MatchTask,
    Navigation,
    Operand,
    Output,
    Rows,
    Skip,
    Values,
)
from tests.task_harness import any_task, tree_of

from .compare import by_python, by_reference, by_threads, outcome
from .test_threads_random import LABELS, LIMITS_IN_PYTHON, ambiguous_case, random_case

SETTINGS = ExecutionSettings(is_ansi=False, time_zone="UTC")
SETS = [None, (0,), (1,), (2,), (0, 1), (1, 2)]
NAME = Read(Navigation(argument=CLASSIFIER_NAME), "string")
NUMBER = Read(Navigation(argument=MATCH_NUMBER), "bigint")


@pytest.mark.random
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("is_ambiguous", [False, True])
def test_the_search_in_python_finds_what_the_reference_finds(seed, is_ambiguous):
    rng = random.Random(seed)
    matched = 0
    for _ in range(40):
        task, rows = ambiguous_case(rng) if is_ambiguous else random_case(rng)
        conditions = [None if rng.random() < 0.4 else random_condition(rng) for _ in LABELS]
        task = replace(task, conditions=(*conditions[:2], random_condition(rng)))
        assert choose(task)[0] == "interpreted"
        expected = by_reference(task, rows)
        if expected[0] == "SQLEXT_STEP_BUDGET":
            continue
        matched += len(expected) > 1
        for limits in LIMITS_IN_PYTHON:
            assert by_python(task, rows, **limits) == expected, (task, rows, limits)
    assert matched > 5


def random_condition(rng: random.Random) -> Scalar:
    kind = rng.randrange(5)
    if kind == 0:
        navigation = replace(random_navigation(rng), argument=CLASSIFIER_NAME)
        return call("=", "boolean", Read(navigation, "string"), Constant(rng.choice(LABELS), "string"))
    if kind == 1:
        arrays = [random_aggregate(rng, "array_agg", "array<bigint>") for _ in range(2)]
        return call("<>", "boolean", *arrays)
    function = rng.choice(["<", "<=", "=", "<>", "IS DISTINCT FROM"])
    return call(function, "boolean", random_number(rng), random_number(rng))


def random_number(rng: random.Random) -> Scalar:
    kind = rng.randrange(6)
    if kind == 0:
        return Constant(rng.choice([0, 1, 2, 3, None]), "bigint")
    if kind == 1:
        return random_aggregate(rng, rng.choice(["sum", "min", "max", "count", "last_value", "count_if"]), "bigint")
    if kind == 2:
        return call("+", "bigint", random_number(rng), random_number(rng))
    navigation = random_navigation(rng)
    if kind == 3:
        return Read(replace(navigation, by_label=(0, 1, 0, 1)), "bigint")
    if kind == 4:
        return Read(replace(navigation, expression=on_row(rng)), "bigint")
    return Read(navigation, "bigint")


def random_navigation(rng: random.Random) -> Navigation:
    return Navigation(
        argument=rng.choice([0, 1]),
        labels=rng.choice(SETS),
        from_first=rng.random() < 0.3,
        offset=rng.choice([0, 0, 1]),
        step=rng.choice([0, 0, -1, 1]),
    )


def on_row(rng: random.Random) -> Scalar:
    """A number that one row, its label and the match number decide."""
    is_a = call("=", "boolean", NAME, Constant("A", "string"))
    value = Read(Navigation(argument=rng.choice([0, 1])), "bigint")
    other = rng.choice([NUMBER, Constant(2, "bigint")])
    return call("if", "bigint", is_a, value, other)


def random_aggregate(rng: random.Random, function: str, result: str) -> Read:
    argument = call("<", "boolean", on_row(rng), Constant(2, "bigint")) if function == "count_if" else on_row(rng)
    source = InterpretedAggregate(
        call=BoundAggregate(
            function=function,
            types=("boolean" if function == "count_if" else "bigint",),
            result=result,
            is_distinct=rng.random() < 0.2,
        ),
        arguments=(argument,),
        settings=SETTINGS,
        labels=rng.choice(SETS),
        filter=call("<", "boolean", NUMBER, Constant(2, "bigint")) if rng.random() < 0.2 else None,
    )
    return Read(source, result)


def call(function: str, result: str, *arguments: Scalar) -> ScalarCall:
    return ScalarCall(function=function, arguments=arguments, type=result, settings=SETTINGS)


@pytest.mark.parametrize("seed", range(20))
def test_python_goes_on_where_64_bits_do_not_hold_a_decimal(seed):
    rng = random.Random(seed)
    values = [rng.choice([5, 3, 2**61, -(2**61), 2**62]) for _ in range(30)]
    total = Operand(Aggregate(function="sum", argument=0, labels=(0,), digits=28), "int")
    last = [Operand(Navigation(argument=0, labels=(label,)), "int") for label in (0, 1)]
    product = MachineCall(function="multiply", arguments=(last[1], Literal(3, "int")), kind="int", digits=20)
    both = MachineCall(function="add", arguments=tuple(last), kind="int", digits=20)
    condition = MachineCall(function="less", arguments=rng.choice([(total, product), (product, both)]), kind="bool")
    task = MatchTask(
        program=Program((MatchLabel(0), Split(0, 2), MatchLabel(1), Done()), ("A", "B")),
        bits=(None, None),
        conditions=(None, condition),
        output=Output(is_all_rows=True, shows_unmatched=True),
    )
    rows = Rows(bounds=np.array([0, 10, 30]), mask=np.zeros((30, 1), np.uint8), columns=(Values(np.array(values)),))
    expected = by_reference(task, rows)
    for block_rows in (2, 100):
        assert by_threads(task, rows, block_rows=block_rows) == expected
    assert by_threads(task, replace(rows, columns=(Values(np.array(values, np.object_)),))) == expected


@pytest.mark.random
@pytest.mark.parametrize("seed", range(8))
def test_streams_decide_interpreted_conditions_alike(seed):
    rng = random.Random(seed)
    decided = 0
    for _ in range(60):
        task, rows = random_case(rng)
        condition, skip = random_condition(rng), Skip(else_next_row=True)
        task = replace(task, conditions=(None, condition, condition), is_within=False, skip=skip)
        rows = replace(part_of(rows, 0, int(rows.bounds[1])), limit=None)
        is_anchored = any(isinstance(x, (MatchStart, MatchEnd)) for x in task.program.instructions)
        if is_anchored or rows_ahead(condition) or reads_number(condition):
            continue
        for n in range(1, len(rows.mask) + 1):
            passed = part_of(rows, 0, n)
            times = EventTimes(key=np.arange(n), watermark=n - 1)
            results = [
                decide(task, passed, times, first_position(passed), StreamFacts(), engine)
                for engine in ("unknown_rows", "reference")
            ]
            spans = [result.spans for result in results]
            assert spans[0].start.tolist() == spans[1].start.tolist(), (task, passed)
            assert spans[0].label.tolist() == spans[1].label.tolist(), (task, passed)
            assert results[0].position.row.tolist() == results[1].position.row.tolist()
            decided += len(spans[0].start)
    assert decided > 10


@pytest.mark.random
@pytest.mark.parametrize("pattern", ["A -> B", "A -> B+ C", "A ->> B -> C", "A !-> C -> B", "(A | C) -> B"])
@pytest.mark.parametrize("mode", [SKIP_PAST_LAST_ROW, NO_SKIP])
def test_skipped_rows_do_not_change_interpreted_conditions(pattern, mode):
    rng = random.Random(pattern)
    tree, labels = tree_of(pattern)
    for _ in range(12):
        _, rows = random_case(rng)
        rows = replace(rows, limit=None)
        conditions = tuple(random_condition(rng) if rng.random() < 0.5 else None for _ in labels)
        task = any_task(tree, labels, conditions=conditions, skip=Skip(mode), bits=(0, 9, 1)[: len(labels)])
        expected = outcome(match(replace(task, strategy="reference"), rows))
        assert outcome(match(task, rows)) == expected, (task, rows)
