"""The stored state of the current version is read, and the stream resumes from it.

`python -m tests.operators.match.test_golden` writes the files of the current version, which must not exist yet.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from sqlext.errors import DataError
from sqlext.operators.match.operator import MatchOperator
from sqlext.operators.match.plan import MatchOperatorPlan, Slot
from sqlext.operators.match.stream_plan import StreamMatchPlan
from sqlext.operators.rows.columns import ROW_TIME, SortKey
from sqlext.operators.stateful import state_log
from sqlext.pattern.program.compile import compile_pattern
from sqlext.pattern.task.task import MatchTask, Navigation
from sqlext.rewriter.match.parse_pattern import parse_pattern
from tests.operators.driven import Driven, read_golden, write_golden

GOLDEN = Path(__file__).parent / "golden"
LETTERS = "ABC"
SCHEMA = pa.schema([("k", pa.string()), ("mask", pa.int8()), ("i", pa.int64()), (ROW_TIME, pa.timestamp("us", "UTC"))])
# (key, letter, time), in two portions, each with the watermark after it; the state is stored between them
BEFORE = [("x", "A", 1), ("x", "B", 2), ("y", "A", 2), ("x", "C", 3), ("y", "B", 5), (None, "A", 4)], 4
AFTER = [("y", "B", 6), ("y", "C", 7), (None, "B", 8), (None, "C", 9), ("x", "A", 9)], 9
FIRST, SECOND = ["x 0 1"], ["None 5 8", "y 2 6"]


def operator() -> MatchOperator:
    tree, _ = parse_pattern("A B+", 0, 4)
    task = MatchTask(program=compile_pattern(tree, ("A", "B")), bits=(0, 1), conditions=(None, None))
    slots = tuple(
        Slot(name=name, kind="value", columns=("i",), navigation=Navigation(argument=0, from_first=first))
        for name, first in (("f", True), ("l", False))
    )
    worker = MatchOperatorPlan(task=task, masks=("mask",), carried=("k",), partition_by=("k",), slots=slots)
    plan = StreamMatchPlan(worker=worker, schema=SCHEMA, time=ROW_TIME, sort=(SortKey("i"),), counts_matches=True)
    return MatchOperator(plan=plan)


def step(stored, portion, first: int):
    rows, watermark = portion
    columns = [
        [k for k, _, _ in rows], [1 << LETTERS.index(c) for _, c, _ in rows],
        list(range(first, first + len(rows))), [t for _, _, t in rows],
    ]  # fmt: skip
    table = pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA)], schema=SCHEMA)
    driven = Driven(operator(), stored)
    driven.step(watermark, rows=table)
    lines = [" ".join(map(str, row.values())) for _, batch in driven.results for row in batch.to_pylist()]
    return driven.stored, sorted(lines)


def folder(version: int) -> Path:
    return GOLDEN / f"state_v{version}"


def test_a_stream_resumes_from_stored_state():
    stored = read_golden(folder(state_log.VERSION))
    assert stored.header.plan == "golden"
    assert step(stored, AFTER, len(BEFORE[0]))[1] == SECOND


def test_results_do_not_depend_on_storing_the_state():
    stored, lines = step(None, BEFORE, 0)
    assert lines == FIRST
    assert step(stored, AFTER, len(BEFORE[0]))[1] == SECOND


def test_state_of_an_unknown_version_is_refused():
    stored, _ = step(None, BEFORE, 0)
    with pytest.raises(DataError, match="state of version 99"):
        state_log.read(bytes([99]) + stored.header_bytes()[1:], lambda number: b"")


if __name__ == "__main__":
    write_golden(folder(state_log.VERSION), step(None, BEFORE, 0)[0])
