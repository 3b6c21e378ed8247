"""Rows near the end of time: a bound or a window beyond it ends with it, and no value of data ends a query."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sqlext.operators.emit.assigners import assign
from sqlext.operators.emit.operator import EmitOperator
from sqlext.operators.emit.plan import Assigner
from sqlext.operators.rows.arrow import shown_value
from sqlext.operators.rows.columns import WITHIN_END
from sqlext.operators.stateful.bucket import Bucket
from sqlext.pattern.task.event_time import BEGINNING, NEVER, later
from tests.operators.driven import Driven
from tests.operators.match.stream_cases import Case, decided_by_law, random_case

from .model import windows_of
from .test_golden_windows import PLANS, SCHEMA, plan_of

CASES = 150
TIMES = [BEGINNING, BEGINNING + 1, BEGINNING + 7, -8, -1, 0, 12, NEVER - 8, NEVER - 7, NEVER - 1, NEVER]


def at_the_end(case: Case, chance: random.Random) -> Case:
    """The same rows at the end of time, where the bounds of some of them are beyond it; the last row may be the very
    last time, which no watermark passes."""
    table, name = case.rows, case.stream.time
    times = table.column(name).cast(pa.int64()).to_numpy()
    times = times + (NEVER - 1001 - int(times.max()))
    if chance.random() < 0.3:
        times = np.where(times == times.max(), NEVER, times)
    columns = {name: times}
    if WITHIN_END in table.column_names:
        columns[WITHIN_END] = later(times, chance.randint(1001, 1300))
    for column, values in columns.items():
        at = table.schema.get_field_index(column)
        table = table.set_column(at, table.schema.field(at), pa.array(values).view(table.schema.field(at).type))
    return replace(case, rows=table)


@pytest.mark.random(every=2)
@pytest.mark.parametrize("part", range(8))
def test_the_law_of_streams_holds_at_the_end_of_time(part):
    chances = [random.Random(seed) for seed in range(part, CASES, 8)]
    assert sum(decided_by_law(at_the_end(random_case(chance), chance), chance) for chance in chances)


@pytest.mark.parametrize("kind, numbers", [
    ("TUMBLE", {"size": 10, "offset": 3}), ("HOP", {"size": 10, "step": 4, "offset": 3}),
    ("HOP", {"size": 2, "step": 5}), ("CUMULATE", {"size": 12, "step": 4, "offset": 1}),
])  # fmt: skip
def test_windows_are_those_of_the_definition_within_the_range_of_times(kind, numbers):
    windows = assign(Assigner(kind=kind, **numbers), np.array(TIMES))
    for i, time in enumerate(TIMES):
        shown = sorted(zip(*(column[windows.row == i].tolist() for column in (windows.start, windows.end))))
        size, step, offset = (numbers.get(name, 0) for name in ("size", "step", "offset"))
        exact = windows_of([kind.lower(), *([step, size] if step else [size]), offset], time)
        assert shown == sorted({(max(start, BEGINNING), min(end, NEVER)) for start, end in exact}), time


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", PLANS)
def test_windows_fire_over_all_times_in_batch_and_on_streams(name):
    """Each row is in a firing of the batch result; on a stream nothing fires with a time that its watermark lacks."""
    operator = EmitOperator(windows=replace(plan_of(name), skips_failures=True))
    kind = SCHEMA.field("time").type
    columns = [
        pa.array(["x"] * len(TIMES)), pa.array(TIMES).view(kind), pa.array(range(len(TIMES))),
        pa.nulls(len(TIMES), SCHEMA.field("d").type), pa.array([float(i) * 9e307 for i in range(len(TIMES))]),
        pa.array([None] * len(TIMES), pa.string()),
    ]  # fmt: skip
    rows = pa.table(columns, schema=SCHEMA)
    fired = Driven(operator, watermark=BEGINNING).step(NEVER, rows=rows)
    assert fired.late.num_rows == 0 and sum(batch.num_rows for _, batch in fired.results) > 5
    driven = Driven(operator)
    for watermark in (5, NEVER - 900, NEVER - 807):
        step = driven.step(watermark, rows=rows if watermark == 5 else rows.slice(0, 0))
        assert all((times <= watermark).all() for times, _ in step.results)
    frame = Bucket(operator=operator, fingerprint="").report_frame(0, step, driven.stored, 1, NEVER)
    assert not frame["at"].isna().any()


def test_times_beyond_the_years_of_python_are_shown_in_messages():
    stamps = pa.array([NEVER, BEGINNING, None]).view(pa.timestamp("us", "UTC"))
    days = pa.array([2**31 - 1, -(2**31)], pa.int32()).view(pa.date32())
    assert [shown_value(x) for x in (*stamps, *days)] == [
        "+294247-01-10 04:00:54.775807+00:00", "-290308-12-21 19:59:05.224192+00:00", None, "+5881580-07-11",
        "-5877641-06-23",
    ]  # fmt: skip
