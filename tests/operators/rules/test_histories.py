"""Rules that change while the stream runs: the stream, the model and the replay in batch give the same rows."""

from __future__ import annotations

import pytest

from tests.sampling import SAMPLE, seeded

from .rule_histories import expected, random_history, replayed, streamed

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
