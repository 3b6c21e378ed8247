"""Conditions on neighbours have the same value for all rows at once as row by row in the slow evaluator."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from sqlext.errors import DataError
from sqlext.pattern.conditions.columnar import is_columnar, truth
from sqlext.pattern.conditions.conditions import Path, evaluate
from sqlext.pattern.task.task import Aggregate, Condition, MachineCall, Navigation, Operand, Rows, Values

from .test_threads_random import random_bool, random_rows


def around_the_row(condition: Condition, rng: random.Random) -> Condition:
    """The condition with every operand replaced by one that reads the row or a neighbour."""
    if isinstance(condition, MachineCall):
        arguments = tuple(around_the_row(a, rng) for a in condition.arguments)
        is_ansi = condition.is_ansi or condition.function in ("add", "subtract")
        return replace(condition, arguments=arguments, is_ansi=is_ansi)
    if isinstance(condition, Operand):
        column = {"int": [0, 1], "float": [2, 3], "bool": [4]}[condition.kind]
        missing = None if isinstance(condition.source, Aggregate) else condition.missing
        return Operand(
            Navigation(argument=rng.choice(column), step=rng.choice([0, -1, -1, 1, -2, 3])), condition.kind, missing
        )
    return condition


def by_the_evaluator(condition: Condition, rows: Rows) -> list[bool]:
    partitions = [bounds for bounds in pairwise(rows.bounds.tolist()) for _ in range(*bounds)]
    paths = [
        Path(rows=rows, names=("A",), partition=partition, start=i, labels=(0,), number=1)
        for i, partition in enumerate(partitions)
    ]
    return [evaluate(condition, path) is True for path in paths]


@pytest.mark.parametrize("seed", range(4))
def test_all_rows_at_once_have_the_values_of_single_rows(seed):
    rng, compared = random.Random(seed), 0
    while compared < 500:
        condition, rows = around_the_row(random_bool(rng, 3), rng), random_rows(rng, is_within=False)
        if not is_columnar(condition):
            continue
        try:
            truths = truth(condition, rows).tolist()
        except DataError:
            continue  # for a single row, AND may skip the argument with the error
        assert truths == by_the_evaluator(condition, rows), condition
        compared += 1


@pytest.mark.parametrize(("bits", "fits", "does_not"), [(8, 127, 128), (32, 2**31 - 1, 2**31), (64, 2**63 - 1, None)])
def test_a_sum_that_does_not_fit_is_an_error(bits, fits, does_not):
    one, value = (Operand(Navigation(argument=i), "int") for i in (0, 1))
    condition = MachineCall(
        function="less",
        arguments=(one, MachineCall(function="add", arguments=(value, one), kind="int", bits=bits)),
        kind="bool",
    )

    def rows(number: int) -> Rows:
        columns = Values(np.array([1])), Values(np.array([number - 1]))
        return Rows(bounds=np.array([0, 1]), mask=np.zeros((1, 1), np.uint8), columns=columns)

    assert truth(condition, rows(fits)).tolist() == [True]
    with pytest.raises(DataError, match="ARITHMETIC_OVERFLOW"):
        truth(
            condition,
            rows(does_not)
            if does_not
            else replace(rows(2**63 - 1), columns=(Values(np.array([2])), rows(2**63 - 1).columns[1])),
        )
