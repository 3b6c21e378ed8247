"""AFTER MATCH SKIP TO NEXT ROW with long matches: every kind of measure is the same with and without shared labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sqlext.operators.match.match_rows import match_batches
from sqlext.operators.match.plan import MatchOperatorPlan, Slot
from sqlext.operators.match.read_rows import columns_of, read_rows
from sqlext.operators.rows.columns import PARTITION_START
from sqlext.pattern.program.ast import Concatenation, Quantified, Variable
from sqlext.pattern.program.compile import compile_pattern
from sqlext.pattern.strategy import match
from sqlext.pattern.task.skip_mode import SKIP_TO_NEXT_ROW
from sqlext.pattern.task.task import CLASSIFIER, Aggregate, MatchTask, Navigation, Skip

N = 1000
A, B, C = Variable("A"), Variable("B"), Variable("C")
LABEL_A, LABEL_B = (0,), (1,)
PATTERNS = {
    "A B* C": Concatenation((A, Quantified(item=B, at_least=0, at_most=None), C)),
    "A+ C": Concatenation((Quantified(item=A, at_least=1, at_most=None), C)),
    "(A A)+ B? C": Concatenation(
        (Quantified(item=Concatenation((A, A)), at_least=1, at_most=None), Quantified(item=B, at_least=0, at_most=1), C)
    ),
}


def aggregate(function: str, column: str | None, labels=None, **more) -> Slot:
    columns = () if column in (None, "class") else (column,)
    argument = {None: None, "class": CLASSIFIER}.get(column, 0)
    return Slot(
        name=f"{function} {column}",
        kind="aggregate",
        columns=columns,
        aggregate=Aggregate(function=function, argument=argument, labels=labels, **more),
    )


def value(**navigation) -> Slot:
    return Slot(name="value", kind="value", columns=("x",), navigation=Navigation(argument=0, **navigation))


SLOTS = {
    "COUNT(*)": aggregate("count", None),
    "COUNT(A.*)": aggregate("count", None, LABEL_A),
    "COUNT(B.x)": aggregate("count", "x", LABEL_B),
    "COUNT(DISTINCT x)": aggregate("count", "x", is_distinct=True),
    "COUNT(DISTINCT CLASSIFIER())": aggregate("count", "class", is_distinct=True),
    "SUM(x)": aggregate("sum", "x"),
    "SUM(B.x)": aggregate("sum", "x", LABEL_B),
    "SUM(y), rounded": aggregate("sum", "y"),
    "AVG(B.y), rounded": aggregate("avg", "y", LABEL_B),
    "AVG(x)": aggregate("avg", "x"),
    "SUM(DISTINCT y)": aggregate("sum", "y", is_distinct=True),
    "MIN(y)": aggregate("min", "y"),
    "MAX(B.x)": aggregate("max", "x", LABEL_B),
    "LAST(x)": value(),
    "FIRST(x, 7)": value(from_first=True, offset=7),
    "FIRST(B.x)": value(labels=LABEL_B, from_first=True),
    "FIRST(B.x, 3)": value(labels=LABEL_B, from_first=True, offset=3),
    "LAST(B.x, 2)": value(labels=LABEL_B, offset=2),
    "PREV(FIRST(A.x), 2)": value(labels=LABEL_A, from_first=True, step=-2),
    "CLASSIFIER()": Slot(name="label", kind="classifier", columns=(), navigation=Navigation(argument=CLASSIFIER)),
    "FIRST(CLASSIFIER(), 1)": Slot(
        name="label",
        kind="classifier",
        columns=(),
        navigation=Navigation(argument=CLASSIFIER, labels=None, from_first=True, offset=1),
    ),
    "MATCH_NUMBER()": Slot(name="number", kind="match number"),
    "MATCH_SEQUENCE_NUMBER()": Slot(name="place", kind="sequence number"),
    "ARRAY_AGG(A.x)": Slot(
        name="array",
        kind="array",
        columns=("x",),
        aggregate=Aggregate(function="array_agg", argument=0, labels=LABEL_A),
    ),
    "ARRAY_AGG(CLASSIFIER())": Slot(
        name="array",
        kind="array",
        columns=(),
        aggregate=Aggregate(function="array_agg", argument=CLASSIFIER, labels=LABEL_B),
    ),
    "members": Slot(
        name="array",
        kind="members",
        columns=("x", "y"),
        aggregate=Aggregate(function="stddev", argument=0, labels=LABEL_A),
    ),
}


def plan(pattern: str, *slots: Slot, **task) -> MatchOperatorPlan:
    """Every row but the last of each partition is A and B; the last row is C."""
    program = compile_pattern(PATTERNS[pattern], ("A", "B", "C"))
    bits = (0, 1, 2)
    return MatchOperatorPlan(
        task=replace(
            MatchTask(program=program, bits=bits, conditions=(None,) * 3, skip=Skip(SKIP_TO_NEXT_ROW)), **task
        ),
        masks=("m",),
        carried=("x",),
        slots=slots,
    )


def rows(n: int = N) -> pa.RecordBatch:
    """Two partitions, the first with three quarters of the rows; `x` and `y` have NULLs."""
    random = np.random.default_rng(0)
    starts, mask = np.zeros(n, bool), np.full(n, 3, np.int8)
    starts[[0, n * 3 // 4]] = True
    mask[[n * 3 // 4 - 1, n - 1]] = 4
    x = pa.array(random.integers(-50, 50, n), mask=random.random(n) < 0.2)
    y = pa.array(random.normal(0, 1e3, n), mask=random.random(n) < 0.2)
    return pa.RecordBatch.from_arrays([pa.array(mask), x, y, pa.array(starts)], ["m", "x", "y", PARTITION_START])


def answer(plan: MatchOperatorPlan) -> list[tuple]:
    return [tuple(row.values()) for batch in match_batches(iter([rows()]), plan) for row in batch.to_pylist()]


@pytest.mark.random
@pytest.mark.parametrize("pattern", PATTERNS)
def test_measures_of_matches_that_share_labels_are_those_of_the_reference(pattern):
    shared = plan(pattern, *(replace(slot, name=name) for name, slot in SLOTS.items()))
    listed = replace(shared, task=replace(shared.task, strategy="reference"))
    results, expected = answer(shared), answer(listed)
    assert len(results) == len(expected) > N / 3
    for name, values, wanted in zip(("x", *SLOTS), zip(*results), zip(*expected)):
        assert list(map(repr, values)) == list(map(repr, wanted)), name


@pytest.mark.parametrize("pattern", PATTERNS)
def test_these_matches_share_labels(pattern):
    """The first block lists 65,536 labels, so the matches are known to overlap; later blocks share labels."""
    matched = read_rows(columns_of(pa.Table.from_batches([rows()])), plan(pattern))
    blocks = list(match(plan(pattern).task, matched))
    assert [spans.tails is not None for spans in blocks] == [False] + [True] * (len(blocks) - 1)
    assert len(blocks) > 1


def test_overlaps_of_a_hundred_thousand_rows(spark):
    n = 100_000
    result = spark.sql(
        """SELECT count(*), sum(n), sum(b), max(top), min(low) FROM {t} MATCH_RECOGNIZE (
               ORDER BY id MEASURES COUNT(*) AS n, COUNT(B.*) AS b, MAX(A.id) AS top, FIRST(A.id) AS low
               AFTER MATCH SKIP TO NEXT ROW PATTERN (A+ B) DEFINE A AS id < {n}, B AS id = {n})""".replace(
            "{n}", str(n - 1)
        ),
        t=spark.range(n),
    )
    assert tuple(result.first()) == (n - 1, (n + 2) * (n - 1) // 2, n - 1, n - 2, 0)
