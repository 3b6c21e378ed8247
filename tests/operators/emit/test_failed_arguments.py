"""An aggregate of EMIT over a row on which an argument could not be computed is NULL, whatever the portions are."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from sqlext.aggregates.bind import BoundAggregate
from sqlext.operators.emit import parts as e
from sqlext.operators.emit import plan as w
from sqlext.operators.emit.operator import EmitOperator
from sqlext.operators.rows.columns import NOT_COMPUTED
from tests.operators.driven import Driven

SECOND = 1_000_000
SCHEMA = pa.schema([("k", pa.string()), ("time", pa.timestamp("us", "UTC")), ("v", pa.float64()), ("f", pa.bool_())])
MARK = NOT_COMPUTED + "v"


def call(function: str, result: str, **others) -> e.FiringAggregate:
    return e.FiringAggregate(
        call=BoundAggregate(function=function, types=("double",), result=result), columns=("v",), **others
    )


CALLS = (
    call("sum", "double"),
    call("count", "bigint"),
    call("max", "double"),
    call("array_agg", "array<double>"),
    call("sum", "double", filter="f"),
    e.FiringAggregate(call=BoundAggregate(function="count", types=(), result="bigint"), columns=()),
)
PLAN = w.EmitOperatorPlan(
    schema=pa.schema([*SCHEMA, (MARK, pa.bool_())]),
    time="time",
    keys=("k",),
    assigner=w.Assigner(kind="TUMBLE", size=10 * SECOND),
    emit=e.Emit(triggers=(), is_discarding=False, lateness=0, evictor=None),
    aggregates=CALLS,
    skips_failures=True,
)
UNMARKED = replace(PLAN, schema=SCHEMA)
# k, second, v, f, whether v could not be computed
EVENTS = [
    ("a", 1, 1.0, True, False), ("a", 2, None, True, True), ("a", 3, 2.0, True, False), ("b", 1, None, False, True),
    ("b", 2, 4.0, True, False), ("c", 4, 3.0, True, False), ("a", 12, 5.0, True, False),
]  # fmt: skip
EXPECTED = [
    ("a", [None, None, None, None, None, 3]),
    ("a", [5.0, 1, 5.0, [5.0], 5.0, 1]),
    ("b", [None, None, None, None, 4.0, 2]),
    ("c", [3.0, 1, 3.0, [3.0], 3.0, 1]),
]


def run(
    portions: list[list[tuple]], first_plan: w.EmitOperatorPlan = PLAN, plan_behind: w.EmitOperatorPlan = PLAN
) -> tuple[list, list[str]]:
    """The firings of all portions, of which the first one may be that of another plan, and what failed."""
    driven = Driven(EmitOperator(windows=first_plan))
    for number, rows in enumerate([*portions, []]):
        columns = list(zip(*((k, SECOND * t, *others) for k, t, *others in rows))) or [[]] * 5
        arrived = pa.table([pa.array(c).cast(f.type) for c, f in zip(columns, PLAN.schema)], schema=PLAN.schema)
        watermark = SECOND * (20 if number == len(portions) else 0)
        driven.step(watermark, rows=arrived)
        driven.operator = EmitOperator(windows=plan_behind)
    fired = [tuple(row.values()) for _, batch in driven.results for row in batch.to_pylist()]
    failed = driven.failures.column("error").to_pylist()
    return sorted([(row[0], list(row[-len(CALLS) :])) for row in fired], key=str), failed


@pytest.mark.parametrize("at", range(len(EVENTS) + 1))
def test_a_failed_row_makes_its_aggregates_null_in_any_portions(at):
    fired, failed = run([EVENTS[:at], EVENTS[at:]])
    assert fired == sorted(EXPECTED, key=str)
    assert len(failed) == 9 and all(text.startswith("SQLEXT_ARGUMENT_FAILED") for text in failed)


def test_the_state_of_a_version_without_marks_is_resumed():
    usual = [event for event in EVENTS if not event[-1]]
    portions = [usual[:2], usual[2:]]
    assert run(portions, UNMARKED) == run(portions, PLAN, UNMARKED) == run(portions)
