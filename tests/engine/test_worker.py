"""A worker's result does not depend on how rows are divided into batches, and its memory stays bounded."""

from __future__ import annotations

import pathlib
import random
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from sqlext.engine.worker.match_rows import match_batches, whole_partitions
from sqlext.engine.worker.worker_plan import WorkerPlan
from sqlext.pattern.ast import Concatenation, Quantified, Variable
from sqlext.pattern.compile import compile_pattern
from sqlext.pattern.task import Aggregate, MatchTask, Navigation
from sqlext.rewriter.match.match_plan import PARTITION_START, Slot

A, B, C = Variable("A"), Variable("B"), Variable("C")


def v_shapes() -> WorkerPlan:
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
    return WorkerPlan(task=task, masks=("m",), carried=("k",), partition_by=("k",), slots=slots)


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


@pytest.mark.parametrize("rows_at_once", [1, 7, 1000])
def test_tables_hold_whole_partitions(rows_at_once):
    whole = rows([3, 1, 40, 2, 2], seed=1)
    tables = list(whole_partitions(iter(cut(whole, [2, 5, 30, 44])), rows_at_once))
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
from sqlext.engine.worker.match_rows import match_batches
from tests.engine.test_worker import rows, v_shapes
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


def test_a_worker_needs_twice_the_arrow_size_of_its_largest_partition_and_16_bytes_a_row():
    root = pathlib.Path(__file__).parents[2]
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
