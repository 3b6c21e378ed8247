"""The rows that INTERVAL JOIN … AGGREGATE announces for a key: each comes at the watermark that is named. The state in
words."""

from __future__ import annotations

from collections import Counter

import pytest

from sqlext.operators.interval.aggregates_plan import OF_RIGHT
from sqlext.operators.interval.state_facts import aggregates_facts
from sqlext.operators.stateful.key_state import coming, distinct_keys, of_key
from tests.operators.driven import Driven, row_texts
from tests.sampling import sample, seeded

from .test_step import Form, V, history, left_row, operator_of, portions, random_form, table


def emitted(step) -> Counter:
    return Counter(
        (time, str(row)) for times, batch in step.results for time, row in zip(times.tolist(), batch.to_pylist())
    )


@pytest.mark.random
@pytest.mark.parametrize("seed", sample(range(200), 10))
def test_a_row_that_is_not_yet_there_comes_exactly_at_the_watermark_that_is_named(seed):
    chance = seeded(seed)
    form = random_form(chance)
    driven = Driven(operator_of(form))
    steps = portions(history(chance, form), chance, 0)
    for rows, watermark in steps[: len(steps) // 2]:
        driven.step(watermark, rows=table(rows))
    state, expected = driven.state, Counter()
    keys = distinct_keys([state], ["__key0"])
    for i in range(keys.num_rows):
        for row in coming(driven.operator, of_key(state, ["__key0"], keys.slice(i, 1))):
            expected[row.time, str(row.rows.slice(row.row, 1).to_pylist()[0])] += 1
    for time in sorted({time for time, _ in expected}):
        assert time > state.watermark
        assert not emitted(driven.step(time - 1, rows=table([])))
        due = Counter({row: n for row, n in expected.items() if row[0] == time})
        assert emitted(driven.step(time, rows=table([]))) == due
    assert not emitted(driven.step(2**62, rows=table([])))


def test_the_rows_of_a_key_say_what_they_wait_for():
    form = Form(before=-3, after=2, is_prevailing=True)
    driven = Driven(operator_of(form))
    rights = [(OF_RIGHT, t, None, None, "a", None, t, None, True, None) for t in (1, 2, 8)]
    rows = [*rights, left_row(1, 4, "a", form, None), left_row(2, 7, "a", form, None), left_row(3, 9, None, form, None)]
    driven.step(5, rows=table(rows))
    texts = row_texts({"__left0": "id", V: "v"})
    assert [tuple(fact) for fact in aggregates_facts(driven.operator, driven.state, texts, texts, str)] == [
        ("row", 1, '{"v":1}; right row, kept because a left row may need it'),
        ("row", 2, '{"v":2}; right row, kept because a left row may need it'),
        ("row", 4, '{"id":1}; left row, decided when the watermark reaches 6: its range is 1 to 6'),
        ("row", 7, '{"id":2}; left row, decided when the watermark reaches 9: its range is 4 to 9'),
        ("row", 8, '{"v":8}; right row, the watermark has not passed it'),
        ("row", 9, '{"id":3}; left row without a range, because of a NULL or a condition on it: decided at 9'),
    ]
