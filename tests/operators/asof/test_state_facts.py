"""The rows that ASOF JOIN announces for a key: each comes at the watermark that is named. The state in words."""

from __future__ import annotations

from collections import Counter

import pytest

from sqlext.operators.asof.operator import AsofOperator
from sqlext.operators.asof.plan import KEY, LEFT, OF_LEFT, OF_RIGHT, RIGHT
from sqlext.operators.asof.state_facts import asof_facts
from sqlext.operators.stateful.key_state import coming, distinct_keys, of_key
from tests.operators.driven import Driven, row_texts
from tests.sampling import sample, seeded

from .test_step import FORMS, history, plan_of, portions, table

NAMES = {f"{LEFT}0": "id", f"{RIGHT}0": "x", f"{RIGHT}1": "y"}


def emitted(step) -> Counter:
    return Counter(
        (time, str(row)) for times, batch in step.results for time, row in zip(times.tolist(), batch.to_pylist())
    )


@pytest.mark.random(every=3)
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_row_that_is_not_yet_there_comes_exactly_at_the_watermark_that_is_named(form):
    announced = 0
    for seed in sample(range(60), 10):
        chance = seeded(seed)
        driven = Driven(AsofOperator(plan=plan_of(*form)))
        steps = portions(list(dict.fromkeys(history(chance))), chance, 0)
        for rows, watermark in steps[: len(steps) // 2]:
            driven.step(watermark, rows=table(rows))
        state, expected = driven.state, Counter()
        keys = distinct_keys([state], [f"{KEY}0"])
        for i in range(keys.num_rows):
            for row in coming(driven.operator, of_key(state, [f"{KEY}0"], keys.slice(i, 1))):
                expected[row.time, str(row.rows.slice(row.row, 1).to_pylist()[0])] += 1
        announced += expected.total()
        for time in sorted({time for time, _ in expected}):
            assert time > state.watermark
            assert not emitted(driven.step(time - 1, rows=table([])))
            due = Counter({row: n for row, n in expected.items() if row[0] == time})
            assert emitted(driven.step(time, rows=table([]))) == due
        assert not emitted(driven.step(2**62, rows=table([])))
    assert announced or not form[2]  # an inner join, in which few rows have a partner


def facts(form: tuple, watermark: int, rows: list) -> list[tuple]:
    driven = Driven(AsofOperator(plan=plan_of(*form)))
    driven.step(watermark, rows=table(rows))
    texts = row_texts(NAMES)  # the columns of the other relation are NULL
    return [tuple(fact) for fact in asof_facts(driven.operator, driven.state, texts, texts, str)]


ROWS = [
    (OF_LEFT, 4, "a", 1, None, None),
    (OF_RIGHT, 3, "a", None, 7, "x"),
    (OF_LEFT, 9, "a", 2, None, None),
    (OF_RIGHT, 8, "a", None, 8, "y"),
]


def test_the_rows_of_a_key_say_what_they_wait_for():
    assert facts((">=", 5, True), 5, ROWS) == [
        ("row", 3, '{"x":7,"y":"x"}; right row, kept because a left row up to 8 may take it'),
        ("row", 8, '{"x":8,"y":"y"}; right row, the watermark has not passed it'),
        ("row", 9, '{"id":2}; left row, decided when the watermark reaches 9: a nearer right row may come before'),
    ]
    assert facts(("<=", 5, True), 5, ROWS)[0] == (
        "row", 4, '{"id":1}; left row, no right row that it may take has passed: decided by the first one, or without '
        "a partner at 9",
    )  # fmt: skip
    assert facts(("NEAREST", 5, True), 5, ROWS)[1] == (
        "row", 4, '{"id":1}; left row, decided when the watermark reaches 9: a nearer right row may come before',
    )  # fmt: skip
