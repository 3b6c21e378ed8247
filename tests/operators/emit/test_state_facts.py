"""The firings that EMIT announces for a key: each comes exactly at the watermark that is named. The state in words."""

from __future__ import annotations

from collections import Counter

import pytest

from sqlext.operators.emit import parts as e
from sqlext.operators.emit.operator import EmitOperator
from sqlext.operators.emit.state_facts import emit_facts
from sqlext.operators.stateful.key_state import coming, distinct_keys, of_key
from sqlext.pattern.task.event_time import BEGINNING
from tests.operators.driven import Driven

from .test_model import CASES
from .test_step import micro_batches, plan_of, table

ON_CLOCK = {"every_proc", "delay_proc"}
BY_EVENTS = [case for case in CASES if not ON_CLOCK & {kind for kind, *_ in case["triggers"]}]


def emitted(step) -> Counter:
    return Counter(str(row) for _, batch in step.results for row in batch.to_pylist())


def announced(case: dict, steps: list) -> int:
    """How many firings are announced after these steps. Asserts that each of them comes at its watermark."""
    operator = EmitOperator(windows=plan_of(case, bool(case["lateness"] or case["evict"])))
    driven = Driven(operator, watermark=BEGINNING)
    for rows, watermark, clock in steps:
        driven.step(watermark, now=clock, rows=table(rows))
    state, expected = driven.state, dict[int, Counter]()
    keys = distinct_keys([state], ["key"])
    for i in range(keys.num_rows):
        for row in coming(operator, of_key(state, ["key"], keys.slice(i, 1))):
            expected.setdefault(row.time, Counter())[str(row.rows.slice(row.row, 1).to_pylist()[0])] += 1
    for time in sorted(expected):
        assert time > state.watermark
        assert not emitted(driven.step(time - 1, rows=table([])))
        assert emitted(driven.step(time, rows=table([]))) == expected[time]
    assert not emitted(driven.step(2**62, rows=table([])))
    return sum(firings.total() for firings in expected.values())


@pytest.mark.random(every=5)
@pytest.mark.parametrize("part", range(10))
def test_a_firing_that_is_not_yet_there_comes_exactly_at_the_watermark_that_is_named(part):
    cases = [(case, micro_batches(case["script"])) for case in BY_EVENTS[part::10]]
    assert sum(announced(case, steps[: 1 + len(steps) // 2]) for case, steps in cases if steps)


def test_the_windows_of_a_key_say_when_they_fire_next():
    case = {
        "assigner": ("tumble", 10, 0), "triggers": [("every_time", 4)], "discarding": False, "lateness": 0,
        "evict": None,
    }  # fmt: skip
    operator = EmitOperator(windows=plan_of(case, keeps_rows=False))
    driven = Driven(operator, watermark=BEGINNING)
    driven.step(5, rows=table([("a", 1, 7, 1), ("a", 5, 8, 2), ("a", 12, 9, 3), ("b", 1, 0, 4)]))
    of_a = of_key(driven.state, ["key"], distinct_keys([driven.state], ["key"]).slice(0, 1))
    assert [tuple(fact) for fact in emit_facts(operator, of_a, {"value": "v"}, str)] == [
        ("row", 12, '{"v":9}; the watermark has not passed it'),
        ("window", 0, f"to 10: 2 rows, fired 1 time; it fires next ({e.EARLY}) when the watermark reaches 7"),
        ("window", 10, f"it opens when the watermark passes its first row; it fires next ({e.EARLY}) when the "
                       "watermark reaches 15"),
    ]  # fmt: skip
