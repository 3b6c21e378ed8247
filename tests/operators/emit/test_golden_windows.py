"""The stored windows of the current version are read: partial aggregates, and rows of an evictor and of sessions.

`python -m tests.operators.emit.test_golden_windows` writes the files of the current version that do not exist yet.
"""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from sqlext.aggregates.bind import BoundAggregate
from sqlext.errors import DataError
from sqlext.operators.emit import parts as e
from sqlext.operators.emit.operator import EmitOperator
from sqlext.operators.emit.plan import Assigner, EmitOperatorPlan
from sqlext.operators.rows.columns import SortKey
from sqlext.operators.stateful import state_log
from sqlext.operators.stateful.operator import KEYS
from sqlext.operators.stateful.state_log import Log, Stored
from tests.operators.driven import Driven, read_golden, write_golden

GOLDEN = Path(__file__).parent / "golden"
SCHEMA = pa.schema([
    ("k", pa.string()), ("time", pa.timestamp("us", "UTC")), ("v", pa.int64()), ("d", pa.decimal128(10, 2)),
    ("f", pa.float64()), ("s", pa.string()),
])  # fmt: skip
# (key, time, value), in two portions, each with the watermark after it; the state is stored between them
BEFORE = [("x", 1, 5), ("x", 2, None), ("y", 3, 7), ("x", 7, 2), (None, 4, 1), ("y", 12, 9)], 6
AFTER = [("x", 8, 3), ("y", 5, 4), (None, 9, 6), ("y", 13, 8), ("x", 25, 1)], 24


def aggregate(function: str, column: str, kind: str, result: str = "", **more) -> e.FiringAggregate:
    call = BoundAggregate(function=function, types=(kind,), result=result or kind, **more)
    return e.FiringAggregate(call=call, columns=(column,))


AGGREGATES = (
    e.FiringAggregate(call=BoundAggregate(function="count", types=(), result="bigint"), columns=()),
    aggregate("sum", "v", "bigint"), aggregate("sum", "d", "decimal(10,2)", "decimal(20,2)"),
    aggregate("avg", "f", "double"), aggregate("max", "s", "string"), aggregate("min", "v", "bigint"),
    aggregate("first_value", "v", "bigint", ignores_nulls=True), aggregate("last_value", "s", "string"),
    aggregate("count", "v", "bigint", is_distinct=True), aggregate("stddev", "f", "double"),
    aggregate("median", "f", "double"), aggregate("collect_set", "v", "bigint", "array<bigint>"),
    aggregate("mode", "s", "string"),
)  # fmt: skip
IDS = (aggregate("array_agg", "v", "bigint", "array<bigint>"),)
# States that hold each kind of object: a collection, a set of keys, a sum that has left its type, and an error.
OBJECTS = (
    *IDS, aggregate("count", "s", "string", "bigint", is_distinct=True), aggregate("mode", "d", "decimal(10,2)"),
    aggregate("sum", "d", "decimal(10,2)", "decimal(2,2)"), aggregate("bit_or", "s", "string"),
    aggregate("avg", "d", "decimal(38,2)", is_distinct=True),
)  # fmt: skip
PLANS = {
    "windows": (Assigner(kind=e.HOP, size=10, step=5, offset=0), AGGREGATES, e.Emit(
        triggers=(e.Trigger(e.EARLY_EVERY, 3), e.Trigger(e.EVERY_ROWS, 2), e.Trigger(e.ON_DELTA, 3, "f")),
    )),
    "evicted": (Assigner(kind=e.TUMBLE, size=20, step=0, offset=0), IDS, e.Emit(
        triggers=(e.Trigger(e.EVERY_ROWS, 1),), evictor=e.Evictor(e.KEEP_ROWS, 2),
    )),
    "sessions": (Assigner(kind=e.SESSION, size=4, step=0, offset=0), AGGREGATES[:4], e.Emit(
        triggers=(e.Trigger(e.EARLY_EVERY, 2),), is_discarding=True, lateness=5,
    )),
    # In both, aggregates have states with objects: as pickle writes them, and by the names of `stored_states`.
    "former_states": (Assigner(kind=e.HOP, size=10, step=5, offset=0), OBJECTS, e.Emit()),
    "states": (Assigner(kind=e.HOP, size=10, step=5, offset=0), OBJECTS, e.Emit()),
}  # fmt: skip


def plan_of(name: str) -> EmitOperatorPlan:
    assigner, aggregates, emit = PLANS[name]
    return EmitOperatorPlan(
        schema=SCHEMA, time="time", keys=("k",), sort=(SortKey("v"),), assigner=assigner, emit=emit,
        aggregates=aggregates, keeps_rows=emit.evictor is not None, skips_failures=aggregates is OBJECTS,
    )  # fmt: skip


def step(stored: Stored | None, portion, name: str) -> tuple[Stored, list[str]]:
    rows, watermark = portion
    columns = [
        [k for k, _, _ in rows], [t for _, t, _ in rows], [v for _, _, v in rows],
        [None if v is None else Decimal(v) for _, _, v in rows],
        [None if v is None else v / 2 for _, _, v in rows], [f"{v}" for _, _, v in rows],
    ]  # fmt: skip
    table = pa.table([pa.array(c).cast(f.type) for c, f in zip(columns, SCHEMA)], schema=SCHEMA)
    driven = Driven(EmitOperator(windows=plan_of(name)), stored)
    driven.step(watermark, rows=table)
    lines = [" ".join(map(str, row.values())) for _, batch in driven.results for row in batch.to_pylist()]
    return driven.stored, sorted(lines)


def folder(name: str) -> Path:
    return GOLDEN / f"{name}_v{state_log.VERSION}"


@pytest.mark.parametrize("name", PLANS)
def test_windows_resume_from_stored_state(name):
    stored = read_golden(folder(name))
    fresh, _ = step(None, BEFORE, name)
    expected = step(fresh, AFTER, name)[1]
    assert len(expected) > 3 and step(stored, AFTER, name)[1] == expected


def test_a_checkpoint_runs_no_code(tmp_path):
    stored, mark = read_golden(folder("former_states")), tmp_path / "run"
    (chunk,) = stored.logs[KEYS].chunks
    rows = chunk.rows
    field = rows.schema.names.index("__partial0")
    hostile = pa.chunked_array([[pickle.dumps(Hostile(f"touch {mark}"))] * rows.num_rows], pa.binary())
    log = Log((replace(chunk, rows=rows.set_column(field, rows.schema.field(field), hostile)),))
    with pytest.raises(DataError, match=r"STATE_CONTENT: the checkpoint holds .* not the state of an aggregate: posix"):
        step(replace(stored, logs={**stored.logs, KEYS: log}), AFTER, "former_states")
    assert not mark.exists()


class Hostile(str):
    def __reduce__(self):
        return os.system, (str(self),)


if __name__ == "__main__":
    for name in PLANS:
        if not folder(name).exists():
            write_golden(folder(name), step(None, BEFORE, name)[0])
