"""The firings that EMIT announces for a key: each comes exactly at the watermark that is named. The state in words."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sqlext.operators.emit import parts as e
from sqlext.operators.emit.operator import EmitOperator
from sqlext.operators.emit.state_facts import emit_facts
from sqlext.operators.emit.trace import trace_state
from sqlext.operators.stateful.key_state import coming, distinct_keys, of_key
from sqlext.pattern.task.event_time import BEGINNING
from tests.operators.driven import Driven, row_texts

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


@pytest.mark.random(every=5)
@pytest.mark.parametrize("part", range(10))
def test_a_firing_is_said_to_see_the_rows_that_it_then_sees(part):
    firings = 0
    for case in BY_EVENTS[part::10]:
        plan = plan_of(case, keeps_rows=True)
        driven, steps = Driven(EmitOperator(windows=plan), watermark=BEGINNING), micro_batches(case["script"])
        for rows, watermark, clock in steps[: 1 + len(steps) // 2]:
            driven.step(watermark, now=clock, rows=table(rows))
        keys = distinct_keys([driven.state], ["key"])
        for i in range(keys.num_rows):
            state = of_key(driven.state, ["key"], keys.slice(i, 1))
            trace, ids = trace_state(state, plan), np.array(state.rows["id"].to_pylist())
            panes = range(len(trace.windows.panes))
            said = [(firing.time, sorted(ids[firing.sees])) for pane in panes for firing in trace.firings(pane)]
            came = [
                (row.time, sorted(row.rows.column(f"{e.AGGREGATE}0")[row.row].as_py() or []))
                for row in coming(EmitOperator(windows=plan), state)
            ]
            assert sorted(said) == sorted(came)
            firings += len(came)
    assert firings


FACTS = {
    "tumble": (
        {"assigner": ("tumble", 10, 0), "triggers": [("every_time", 4)]},
        [("a", 1, 7, 1), ("a", 5, 8, 2), ("a", 12, 9, 3), ("b", 1, 0, 4)],
        5,
        [
            'row 12: {"v":9}; the watermark has not passed it, the firing of its window from 10 to 20 at 15 sees it',
            "window 0: to 10: 2 rows, fired 1 time; it fires next (EARLY) when the watermark reaches 7",
            "window 10: to 20: it opens when the watermark passes its first row; it fires next (EARLY) when the "
            "watermark reaches 15",
        ],
    ),
    "cumulate": (
        {"assigner": ("cumulate", 5, 10, 0), "triggers": []},
        [("a", 1, 7, 1)],
        2,
        [
            "window 0: to 5: 1 row, fired 0 times; it fires next (ON_TIME) when the watermark reaches 4",
            "window 0: to 10: 1 row, fired 0 times; it fires next (ON_TIME) when the watermark reaches 9",
        ],
    ),
    "session": (
        {"assigner": ("session", 10), "triggers": []},
        [("a", 1, 7, 1), ("a", 8, 8, 2), ("a", 30, 9, 3)],
        5,
        [
            'row 8: {"v":8}; the watermark has not passed it, the firing of its window from 1 to 18 at 18 sees it',
            'row 30: {"v":9}; the watermark has not passed it, the firing of its window from 30 to 40 at 40 sees it',
            "window 1: to 11, or to 18 with the rows that the watermark has not passed: 1 row, fired 0 times; it fires "
            "next (ON_TIME) when the watermark reaches 18",
            "window 30: to 40: it opens when the watermark passes its first row; it fires next (ON_TIME) when the "
            "watermark reaches 40",
        ],
    ),
    "session that late rows may join": (
        {"assigner": ("session", 10), "triggers": [], "lateness": 20},
        [("a", 1, 7, 1)],
        12,
        [
            'row 1: {"v":7}; no firing of its window from 1 to 11 sees it unless a further row comes',
            "window 1: to 11: 1 row, fired 1 time, complete; no firing follows unless a further row comes; late rows "
            "may join it until the watermark reaches 31",
        ],
    ),
    "global": (
        {"assigner": ("global",), "triggers": [("count", 4), ("delta", 5)], "evict": ("count", 2)},
        [("a", 1, 7, 1), ("a", 2, 8, 2), ("a", 3, 9, 3), ("a", 9, 10, 4), ("a", 11, 11, 5)],
        5,
        [
            'row 2: {"v":8}; EVICT leaves it out of the firing of its window at 9',
            'row 3: {"v":9}; the firing of its window at 9 sees it',
            'row 9: {"v":10}; the watermark has not passed it, the firing of its window at 9 sees it',
            'row 11: {"v":11}; the watermark has not passed it, no firing of its window sees it unless a further row '
            "comes",
            "window None: 3 rows, fired 0 times; it fires next (EARLY) when the watermark reaches 9, and EVICT then "
            "leaves out the row of 2; EVERY 4 ROWS fires after 3 further rows; ON DELTA fires after a row whose value "
            "differs by more than 5 from 7",
        ],
    ),
}


@pytest.mark.parametrize("name", FACTS)
def test_the_rows_and_windows_of_a_key_say_what_becomes_of_them(name):
    case, rows, watermark, expected = FACTS[name]
    case = {"discarding": False, "lateness": 0, "evict": None, **case}
    operator = EmitOperator(windows=plan_of(case, keeps_rows=bool(case["evict"] or case["lateness"])))
    driven = Driven(operator, watermark=BEGINNING)
    driven.step(watermark, rows=table(rows))
    of_a = of_key(driven.state, ["key"], distinct_keys([driven.state], ["key"]).slice(0, 1))
    facts = emit_facts(operator, of_a, row_texts({"value": "v"}), str)
    assert [f"{fact.kind} {fact.time}: {fact.text}" for fact in facts] == expected
