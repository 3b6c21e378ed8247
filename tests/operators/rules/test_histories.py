"""Rules that change while the stream runs: the stream, the model and the replay in batch give the same rows."""

from __future__ import annotations

import pytest

from tests.sampling import SAMPLE, seeded

from .rule_histories import around_a_change, expected, random_history, replayed, streamed

HISTORIES, PARTS = 160, 16
FIRST = 0 if SAMPLE == "all" else HISTORIES * int(SAMPLE)  # other histories each day


@pytest.mark.random(every=2)
@pytest.mark.parametrize("part", range(PARTS))
def test_stream_model_and_replay_agree(part):
    rows = sum(compared(seed) for seed in range(FIRST + part, FIRST + HISTORIES, PARTS))
    assert rows


def compared(seed: int) -> int:
    """The number of result rows of a random history, after the comparison."""
    history = random_history(seeded(seed))
    emitted, versions, events = streamed(history)
    model = expected(events, versions, history[-1].watermark)
    assert sorted(map(repr, emitted)) == sorted(map(repr, model)), f"history {seed}"
    whole = expected(events, versions, None)
    assert sorted(map(repr, replayed(events, versions))) == sorted(map(repr, whole)), f"history {seed}"
    return len(emitted)


@pytest.mark.random(every=2)
@pytest.mark.parametrize("part", range(PARTS))
def test_durations_of_rules_are_those_of_utc_where_clocks_change(part):
    """The clauses read no local times: what is left that a time zone could change are the bounds of WITHIN."""
    rows = 0
    for seed in range(FIRST + part, FIRST + HISTORIES, PARTS):
        chance = seeded(seed)
        zone, history = around_a_change(random_history(chance), chance)
        emitted, versions, events = streamed(history, zone)
        model = expected(events, versions, history[-1].watermark)  # in UTC
        assert sorted(map(repr, emitted)) == sorted(map(repr, model)), f"history {seed} in {zone}"
        whole = sorted(map(repr, expected(events, versions, None)))
        assert sorted(map(repr, replayed(events, versions, zone))) == whole, f"history {seed} in {zone}"
        rows += len(emitted)
    assert rows
