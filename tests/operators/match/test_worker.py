"""A worker's result does not depend on how rows are divided into batches, and its memory stays bounded."""

from __future__ import annotations

import pathlib
import random
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from sqlext.operators.match.match_rows import match_batches, whole_partitions, with_partition_starts
from sqlext.operators.match.plan import MatchOperatorPlan, Slot
from sqlext.operators.rows.columns import PARTITION_START
from sqlext.operators.rows.limits import Limits
from sqlext.operators.rows.long_columns import bytes_of, concatenated, wide_type
from sqlext.pattern.program.ast import Concatenation, Quantified, Variable
from sqlext.pattern.program.compile import compile_pattern
from sqlext.pattern.task.task import Aggregate, MatchTask, Navigation, Output

A, B, C = Variable("A"), Variable("B"), Variable("C")


def v_shapes() -> MatchOperatorPlan:
    """`A B+ C+`; the key, the top, the bottom and the rows of each match."""
    pattern = Concatenation(
        (A, Quantified(item=B, at_least=1, at_most=None), Quantified(item=C, at_least=1, at_most=None))
    )
    task = MatchTask(
        program=compile_pattern(pattern, ("A", "B", "C")), bits=(None, 0, 1), conditions=(None, None, None)
    )
    slots = (
        Slot(name="top", kind="value", columns=("v",), navigation=Navigation(argument=0, labels=(0,))),
        Slot(name="bottom", kind="value", columns=("v",), navigation=Navigation(argument=0, labels=(1,))),
        Slot(name="n", kind="aggregate", aggregate=Aggregate(function="count")),
        Slot(name="rows", kind="array", columns=("v",), aggregate=Aggregate(function="array_agg", argument=0)),
    )
    return MatchOperatorPlan(task=task, masks=("m",), carried=("k",), partition_by=("k",), slots=slots)


def rows(sizes: list[int], seed: int) -> pa.RecordBatch:
    """Partitions of these sizes with a random walk in each."""
    n = sum(sizes)
    v = np.random.default_rng(seed).integers(0, 10, n)
    step = np.diff(v, prepend=v[:1])
    starts = np.zeros(n, bool)
    starts[np.cumsum([0, *sizes[:-1]])] = True
    mask = ((step < 0) & ~starts) * 1 + ((step > 0) & ~starts) * 2
    columns = [np.repeat(np.arange(len(sizes)), sizes), v, mask.astype(np.int8), starts]
    return pa.RecordBatch.from_arrays([pa.array(c) for c in columns], ["k", "v", "m", PARTITION_START])


def cut(batch: pa.RecordBatch, at: list[int]) -> list[pa.RecordBatch]:
    bounds = [0, *sorted(at), batch.num_rows]
    return [batch.slice(lo, hi - lo) for lo, hi in pairwise(bounds)]


def answer(batches) -> list[dict]:
    return [row for batch in match_batches(iter(batches), v_shapes()) for row in batch.to_pylist()]


@pytest.mark.parametrize("seed", range(20))
def test_the_result_does_not_depend_on_the_batches(seed):
    chance = random.Random(seed)
    sizes = [chance.choice([1, 1, 2, 3, 20, 90]) for _ in range(chance.randint(1, 12))]
    whole = rows(sizes, seed)
    at = [chance.randint(0, whole.num_rows) for _ in range(chance.randint(0, 8))]
    assert answer(cut(whole, at)) == answer([whole])


def texts(sizes: list[int], seed: int) -> pa.RecordBatch:
    """The rows with texts, some of them long, and lists, structs and maps of them."""
    whole, chance = rows(sizes, seed), random.Random(seed)
    s = [None if chance.random() < 0.2 else "é" * chance.choice([0, 1, 5, 300]) for _ in range(whole.num_rows)]
    whole = whole.append_column("s", pa.array(s, pa.string()))
    whole = whole.append_column("l", pa.array([[x, "y"] for x in s], pa.list_(pa.string())))
    whole = whole.append_column("d", pa.array([{"b": x and x.encode()} for x in s], pa.struct([("b", pa.binary())])))
    return whole.append_column("p", pa.array([[("a", x)] for x in s], pa.map_(pa.string(), pa.string())))


def over_texts(limits: Limits) -> MatchOperatorPlan:
    plan = v_shapes()
    top, bottom, n, members = plan.slots
    slots = (replace(top, columns=("l",)), replace(bottom, columns=("s",)), n, replace(members, columns=("s",)))
    task = replace(plan.task, output=Output(is_all_rows=True))
    return replace(plan, task=task, carried=("k", "s", "d", "p"), slots=slots, limits=limits)


@pytest.mark.parametrize("limits", [Limits(rows=3), Limits(bytes=1), Limits(bytes=1000), Limits(bytes=20_000)])
def test_long_values_are_matched_and_shown_within_the_limits(limits):
    whole = texts([1, 20, 3, 90, 2, 7], seed=3)
    expected = list(match_batches(iter([whole]), over_texts(Limits())))
    batches = list(match_batches(iter(cut(whole, [0, 0, 30, 60])), over_texts(limits)))
    assert [row for b in batches for row in b.to_pylist()] == [row for b in expected for row in b.to_pylist()]
    for batch in batches:
        size = sum(int(bytes_of(c, np.array([0]), np.array([len(c)]))[0]) for c in batch.columns)
        assert batch.num_rows == 1 or (batch.num_rows <= limits.rows and size <= limits.bytes)


def test_columns_with_64_bit_offsets_give_rows_with_those_of_spark():
    whole = texts([1, 20, 3, 90, 2, 7], seed=3)
    wide = pa.RecordBatch.from_arrays([c.cast(wide_type(c.type)) for c in whole.columns], whole.schema.names)
    (expected,), (result,) = (list(match_batches(iter([b]), over_texts(Limits()))) for b in (whole, wide))
    assert wide.schema != whole.schema and (result.schema, result.to_pylist()) == (
        expected.schema,
        expected.to_pylist(),
    )


def test_columns_are_joined_with_64_bit_offsets_where_32_bits_are_not_enough():
    whole = texts([5, 5], seed=1)
    for column in whole.columns[4:]:
        joined = concatenated([column.slice(0, 4), column.slice(4)], most_bytes=10)
        assert joined.type == wide_type(column.type) and joined.to_pylist() == column.to_pylist()
        again = concatenated([joined.slice(3), column.slice(0, 2)])
        assert again.to_pylist() == [*column.to_pylist()[3:], *column.to_pylist()[:2]]


def test_an_empty_batch_has_the_columns_of_the_others():
    whole = rows([3, 1], seed=1).drop_columns([PARTITION_START])
    batches = list(with_partition_starts(iter([whole.slice(0, 0), whole, whole.slice(0, 0)]), ("k",)))
    assert {batch.schema for batch in batches} == {batches[1].schema}


@pytest.mark.parametrize("limits", [Limits(rows=1), Limits(rows=7), Limits(), Limits(bytes=1), Limits(bytes=100)])
def test_columns_hold_whole_partitions(limits):
    whole = rows([3, 1, 40, 2, 2], seed=1)
    tables = list(map(pa.table, whole_partitions(iter(cut(whole, [2, 5, 30, 44])), limits)))
    assert pa.concat_tables(tables).to_pylist() == whole.to_pylist()
    assert all(table.column(PARTITION_START)[0].as_py() for table in tables)


@pytest.mark.parametrize("seed", range(5))
def test_partitions_begin_where_keys_change_if_spark_does_not_mark_them(seed):
    chance = random.Random(seed)
    whole = rows([chance.choice([1, 2, 30]) for _ in range(20)], seed)
    keys = pa.array([None if k == 7 else k for k in whole.column("k").to_pylist()])
    whole = whole.set_column(0, "k", keys)
    at = [chance.randint(0, whole.num_rows) for _ in range(6)]
    assert answer(cut(whole.drop_columns([PARTITION_START]), at)) == answer([whole])


def test_no_rows_give_no_rows():
    assert answer([]) == answer([rows([1], 0).slice(0, 0)]) == []


MEMORY = """
import resource
import numpy as np
import pyarrow as pa
from sqlext.operators.match.match_rows import match_batches
from tests.operators.match.test_worker import rows, v_shapes
from dataclasses import replace

plan = v_shapes()
plan = replace(plan, slots=plan.slots[:3])
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
walk = rows([10_000], 0)
later = walk.set_column(3, "__first", pa.array(np.zeros(10_000, bool)))
for _ in match_batches(iter([walk, later]), plan): pass
before = peak()
for _ in match_batches((pa.RecordBatch.from_pydict({name: pa.array(np.array((walk if i == 0 else later).column(name)))
                        for name in walk.schema.names}) for i in range(400)), plan): pass
print(peak() - before, 400 * walk.nbytes)
"""


@pytest.mark.slow
def test_a_worker_needs_twice_the_arrow_size_of_its_largest_partition_and_16_bytes_a_row():
    root = pathlib.Path(__file__).parents[3]
    process = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True, cwd=root)
    extra, arrow = map(int, process.stdout.split())
    assert extra <= 2 * arrow + 16 * 4_000_000


def test_one_key_with_a_million_rows(spark):
    """Values fall and rise in turn, so there is a match every four rows."""
    frame = spark.range(1_000_000).selectExpr(
        "0 AS k", "id", "CASE id % 4 WHEN 0 THEN 9 WHEN 1 THEN 5 WHEN 2 THEN 2 ELSE 7 END AS v"
    )
    result = spark.sql(
        """SELECT count(*), sum(drop), min(n), max(n) FROM {t} MATCH_RECOGNIZE (
               PARTITION BY k ORDER BY id MEASURES A.v - LAST(B.v) AS drop, COUNT(*) AS n
               PATTERN (A B+ C) DEFINE B AS v < PREV(v), C AS v > PREV(v))""",
        t=frame,
    )
    assert tuple(result.first()) == (250_000, 250_000 * 7, 4, 4)
