"""ON DELTA and EVICT KEEP DELTA over NULL, NaN and infinities: any micro-batches, and states of earlier versions.

`python -m tests.operators.emit.test_distances` writes the golden files that do not exist yet.
"""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlext.aggregates.bind import BoundAggregate
from sqlext.operators.emit import parts as e
from sqlext.operators.emit.operator import EmitOperator
from sqlext.operators.emit.plan import Assigner, EmitOperatorPlan
from sqlext.operators.stateful.state_log import Stored
from tests.operators.driven import Driven, read_golden, write_golden

GOLDEN = Path(__file__).parent / "golden"
SCHEMA = pa.schema([("k", pa.string()), ("time", pa.timestamp("us", "UTC")), ("v", pa.float64()), ("id", pa.int64())])
NAN, INF = math.nan, math.inf
VALUES = st.lists(st.sampled_from([None, NAN, INF, -INF, 1.0, 2.0, 9.0]), max_size=8)
# the values of the rows 1, 2, …; the rows on which ON DELTA(v) > 2 fires, those that KEEP DELTA(v) < 2 keeps in the end
CASES = [
    ([1, 2, 9, 9], [3], [3, 4]),
    ([1, NAN, NAN, 1], [2, 4], [1, 4]),
    ([NAN, 5, 6], [2], [2, 3]),
    ([None, NAN, None, 5], [4], [4]),
    ([NAN, 1, NAN], [2, 3], [1, 3]),
    ([1, INF, INF, -INF, NAN], [2, 4, 5], [5]),
    ([INF, 1, INF], [2, 3], [1, 3]),
    ([None, 5, 6, 8], [4], [4]),
    ([5, None], [], []),
]  # fmt: skip


def distance(a: float, b: float) -> float:
    """Spark orders numbers so: all NaN are equal, and larger than any other number."""
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0
    return INF if math.isnan(a) or math.isnan(b) else abs(a - b)


def model(values: list) -> tuple[list[int], list[int]]:
    """The two lists of rows of a case, by its values."""
    fires, last = [], None
    for i, v in enumerate(values, 1):
        if v is not None and (last is None or distance(v, last) > 2):
            fires += [i] if last is not None else []
            last = v
    of_last = values[-1] if values else None
    is_kept = [v is not None and of_last is not None and distance(v, of_last) < 2 for v in values]
    return fires, [i for i, kept in enumerate(is_kept, 1) if kept]


def operator_of(emit: e.Emit) -> EmitOperator:
    ids = BoundAggregate(function="array_agg", types=("bigint",), result="array<bigint>")
    return EmitOperator(windows=EmitOperatorPlan(
        schema=SCHEMA, time="time", keys=("k",), sort=(), emit=emit, keeps_rows=True,
        assigner=Assigner(kind=e.GLOBAL, size=0, step=0, offset=0),
        aggregates=(e.FiringAggregate(call=ids, columns=("id",)),),
    ))  # fmt: skip


ON_DELTA = operator_of(e.Emit(triggers=(e.Trigger(e.ON_DELTA, 2, "v"),)))
KEEP_DELTA = operator_of(e.Emit(triggers=(e.Trigger(e.EVERY_ROWS, 1),), evictor=e.Evictor(e.KEEP_DELTA, 2, "v")))


def firings(operator: EmitOperator, values: list, steps: list[int], stored: Stored | None = None, first: int = 1):
    """The rows that each firing sees, and the driven operator; each step brings so many of the rows `first`, …"""
    driven, ids = Driven(operator, stored), list(range(first, first + len(values)))
    for n in steps:
        part = [(i, values[i - first]) for i in ids[:n]]
        columns = [["x"] * len(part), [i for i, _ in part], [v for _, v in part], [i for i, _ in part]]
        table = pa.table([pa.array(c).cast(f.type) for c, f in zip(columns, SCHEMA)], schema=SCHEMA)
        driven.step(max([i for i, _ in part], default=0), rows=table)
        ids = ids[n:]
    return [row[f"{e.AGGREGATE}0"] for _, batch in driven.results for row in batch.to_pylist()], driven


@pytest.mark.parametrize("values, fires, kept", CASES)
def test_the_model_has_the_rows_of_the_cases(values, fires, kept):
    assert model(values) == (fires, kept)


@pytest.mark.parametrize("values", [values for values, _, _ in CASES])
def test_not_a_number_is_not_null(values):
    check(values)


@pytest.mark.random
@given(values=VALUES)
def test_distances_are_those_of_the_model(values):
    check(values)


def check(values: list) -> None:
    fires, kept = model(values)
    for steps in ([1] * len(values), [len(values)] if values else []):
        assert [rows[-1] for rows in firings(ON_DELTA, values, steps)[0]] == fires
        assert [rows or [] for rows in firings(KEEP_DELTA, values, steps)[0]][-1:] == [kept][: len(values)]


@pytest.mark.parametrize(
    "name, values, after, fires",
    [
        ("null_delta", [None, None], [5, 6, 9], [5]),  # written before the state knew NaN
        ("number_delta", [5, 6], [6, NAN, NAN], [4]),  # the same
        ("nan_delta", [5, NAN], [NAN, 6, NAN], [4, 5]),
    ],
)
def test_stored_values_are_resumed(name, values, after, fires):
    stored = read_golden(GOLDEN / f"{name}_v2")
    expected = firings(ON_DELTA, values, [2])[1].stored
    for state in (stored, expected):
        assert [rows[-1] for rows in firings(ON_DELTA, after, [1, 1, 1], state, first=3)[0]] == fires


if __name__ == "__main__":
    for name, values in {"null_delta": [None, None], "number_delta": [5, 6], "nan_delta": [5, NAN]}.items():
        if not (GOLDEN / f"{name}_v2").exists():
            write_golden(GOLDEN / f"{name}_v2", firings(ON_DELTA, values, [2])[1].stored)
