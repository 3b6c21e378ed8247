"""The law: at watermark W a stream has emitted exactly the rows of the batch result with MATCH_ROWTIME() <= W."""

from __future__ import annotations

import pytest

from tests.sampling import seeded

from .stream_cases import decided_by_law, random_case

CASES = 2400
PARTS = 96


@pytest.mark.random(every=6)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_stream_emits_the_rows_that_are_decided_in_batch(part):
    chances = (seeded(seed) for seed in range(part, CASES, PARTS))
    assert sum(decided_by_law(random_case(chance), chance) for chance in chances)
