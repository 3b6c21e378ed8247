"""Ranges matched by many tasks return what one task returns, however rows are divided into ranges and batches."""

from __future__ import annotations

import random
import warnings
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sqlext
from sqlext.operators.match.match_ranges import match_range, match_seams
from sqlext.operators.match.match_rows import match_batches
from sqlext.operators.match.plan import Bound, MatchOperatorPlan, OperandColumn, Slot
from sqlext.operators.rows.limits import Limits
from sqlext.pattern.program.compile import compile_pattern
from sqlext.pattern.task.skip_mode import SKIP_TO_LAST, SKIP_TO_NEXT_ROW
from sqlext.pattern.task.task import Aggregate, MachineCall, MatchTask, Navigation, Operand, Output, Skip
from sqlext.rewriter.match.parse_pattern import parse_pattern
from tests.statements.cases import results_of, settings

V, KEY, BEFORE, TWO_LATER = (Operand(Navigation(argument=0, step=step), "int") for step in (0, 0, -1, 2))
FALLS, RISES = (
    MachineCall(function="less", arguments=(V, BEFORE), kind="bool"),
    MachineCall(function="less", arguments=(BEFORE, V), kind="bool"),
)
AHEAD = MachineCall(function="less", arguments=(V, TWO_LATER), kind="bool")
SLOTS = (
    Slot(name="first", kind="value", columns=("i",), navigation=Navigation(argument=0, from_first=True)),
    Slot(name="last", kind="value", columns=("i",), navigation=Navigation(argument=0)),
    Slot(name="n", kind="aggregate", aggregate=Aggregate(function="count")),
    Slot(name="sum", kind="aggregate", columns=("v",), aggregate=Aggregate(function="sum", argument=0, labels=(1,))),
    Slot(name="label", kind="classifier", navigation=Navigation(argument=-1)),
    Slot(name="row", kind="sequence number"),
    Slot(name="members", kind="array", columns=("i",), aggregate=Aggregate(function="array_agg", argument=0)),
)
AROUND = (
    Slot(name="before", kind="value", columns=("i",), navigation=Navigation(argument=0, from_first=True, step=-3)),
    Slot(name="behind", kind="value", columns=("i",), navigation=Navigation(argument=0, step=2)),
)
# A holds for every row; B, C and D are bits 0 to 2, and B and C may also read neighbours.
PATTERNS = [
    "A B+ C+", "B C", "A B* C", "A B*", "B+ C+ D", "(B | C)+ D?", "B", "A A A", "{- B -} C*", "(A B | B C D)*?",
    "D? B{2,3}",
]  # fmt: skip
SKIPS = [Skip(), Skip(), Skip(SKIP_TO_NEXT_ROW), Skip(SKIP_TO_LAST, (1,), else_next_row=True)]


def plan_of(chance: random.Random) -> MatchOperatorPlan:
    tree, _ = parse_pattern(pattern := chance.choice(PATTERNS), 0, len(pattern))
    program = compile_pattern(tree, ("A", "B", "C", "D"))
    output = Output(is_all_rows=chance.random() < 0.3, shows_unmatched=chance.random() < 0.5)
    is_within = chance.random() < 0.3
    task = MatchTask(
        program=program,
        bits=(None, 0, 1, 2),
        conditions=(None,) * 4,
        skip=chance.choice(SKIPS),
        output=output,
        is_within=is_within,
    )
    neighbours = chance.choice([(), ((0, FALLS), (1, RISES)), ((0, AHEAD),), ((0, FALLS), (1, AHEAD))])
    keys = ("k",) if chance.random() < 0.6 else ()
    slots = SLOTS + (AROUND if chance.random() < 0.4 else ())
    bounds = (Bound(key="i", end="end", is_inclusive=chance.random() < 0.5),) if is_within else ()
    return MatchOperatorPlan(
        task=task,
        masks=("m",),
        neighbours=neighbours,
        operands=(OperandColumn("v", "bigint", "int"),),
        carried=("i", *keys),
        partition_by=keys,
        slots=slots,
        bounds=bounds,
    )


def rows_of(chance: random.Random) -> pa.RecordBatch:
    """One partition, or several long and short ones."""
    sizes = [chance.choice([1, 2, 5, 30, 80]) for _ in range(chance.choice([1, 1, 2, 6]))]
    n = sum(sizes)
    numbers = np.random.default_rng(chance.randint(0, 1 << 30))
    v = numbers.integers(0, chance.choice([3, 10]), n)
    dense = numbers.random((n, 3)) < chance.choice([0.3, 0.6, 0.9])
    columns = {"i": np.arange(n), "k": np.repeat(np.arange(len(sizes)), sizes), "v": v}
    columns |= {"m": (dense @ [1, 2, 4]).astype(np.int8), "end": np.arange(n) + chance.randint(1, 9)}
    return pa.RecordBatch.from_pydict({name: pa.array(column) for name, column in columns.items()})


def cut(batch: pa.RecordBatch, chance: random.Random, most: int) -> list[pa.RecordBatch]:
    at = sorted(chance.randint(0, batch.num_rows) for _ in range(chance.randint(0, most)))
    return [batch.slice(lo, hi - lo) for lo, hi in pairwise([0, *at, batch.num_rows])]


def in_ranges(ranges: list[list[pa.RecordBatch]], plan: MatchOperatorPlan, piece_rows: int) -> list[dict]:
    plan = replace(plan, limits=Limits(rows=piece_rows))
    parcels = [p for i, batches in enumerate(ranges) for p in match_range(iter(batches), plan, i)]
    return rows(match_seams(iter(parcels), plan))


def rows(batches) -> list[dict]:
    results = [row for batch in batches for row in batch.to_pylist()]
    return sorted(results, key=lambda row: (row["i"], str(row)))


@pytest.mark.random(every=2)
@pytest.mark.parametrize("part", range(50))
def test_ranges_return_what_one_task_returns(part):
    for seed in range(part * 10, part * 10 + 10):
        chance = random.Random(seed)
        plan, whole = plan_of(chance), rows_of(chance)
        ranges = [cut(batch, chance, 4) for batch in cut(whole, chance, 5)]
        assert in_ranges(ranges, plan, chance.choice([1, 7, 30, 1000])) == rows(match_batches(iter([whole]), plan)), (
            seed
        )


def test_no_rows_give_no_rows():
    plan = plan_of(random.Random(0))
    assert in_ranges([[], []], plan, 10) == []


# --- whole clauses ----------------------------------------------------------------------------------------------------

BLOCKS = ("\n" + (Path(__file__).parent / "ranges.txt").read_text("utf-8")).split("\n== ")[1:]
CASES = [(title, " ".join(clause), outcome) for title, *clause, outcome in (b.strip("\n").split("\n") for b in BLOCKS)]
FOUR = {"spark.sql.shuffle.partitions": "4", "spark.sql.adaptive.coalescePartitions.enabled": "false"}
AT_ONCE = 8  # clauses in one statement


@pytest.fixture(scope="module")
def facts(spark):
    """The session with the table of ranges.txt."""
    chance = random.Random(1)
    spark.createDataFrame([fact(chance, i) for i in range(300)], SCHEMA).createOrReplaceTempView("ranged")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield spark
    spark.catalog.dropTempView("ranged")


SCHEMA = "i INT, j INT, t TIMESTAMP, v INT, s STRING, x DOUBLE, k INT, d DOUBLE"


def fact(chance: random.Random, i: int) -> tuple:
    t = datetime(2024, 1, 1) + timedelta(minutes=chance.randint(0, 900))
    v, s, k = chance.choice([*range(10), None]), chance.choice("abc"), chance.choice([1] * 9 + [2, 3, None])
    x = chance.choice([float("nan"), None, chance.random()])
    return i, i // 4, chance.choice([t, t, t, None]), v, s, x, k, chance.choice([0.0, -0.0, float("nan")])


def query(clause: str) -> str:
    return f"SELECT * FROM ranged MATCH_RECOGNIZE ({clause})"


@pytest.mark.parametrize("title, clause, outcome", CASES, ids=[title for title, *_ in CASES])
def test_which_clauses_are_run_in_ranges(facts, title, clause, outcome):
    with settings(facts, {"sqlext.parallel": "on"}):
        text = sqlext.explain(query(clause), spark=facts)
    why = next(line for line in text.splitlines() if line.startswith("parallel: "))
    sentence = (
        "ranges of the order are matched at once, sqlext.parallel is on." if outcome == "parallel" else f"no, {outcome}"
    )
    assert why == f"parallel: {sentence}"


@pytest.mark.random(every=2)
@pytest.mark.parametrize("first", range(0, len(CASES), AT_ONCE))
def test_clauses_in_ranges_give_their_rows(facts, first):
    clauses = [clause for _, clause, outcome in CASES[first : first + AT_ONCE] if outcome == "parallel"]
    answers = {}
    for parallel in ("on", "off"):
        with settings(facts, {"sqlext.parallel": parallel, **FOUR}):
            answers[parallel] = results_of(facts.sql, map(query, clauses))
    assert answers["on"] == answers["off"]
    assert len(answers["on"]) == len(clauses)
