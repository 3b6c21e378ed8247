"""The law: at watermark W a stream has given out exactly the rows of the batch result with MATCH_ROWTIME() <= W."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from stream_cases import batch_rows, random_case, stream_rows

from sqlext.errors import DataError

CASES = 2400
PARTS = 12


@pytest.mark.parametrize("part", range(PARTS))
def test_a_stream_gives_out_what_batch_says_is_decided(part):
    found = 0
    for seed in range(part, CASES, PARTS):
        chance = random.Random(seed)
        case = random_case(chance)
        try:
            expected = batch_rows(case)
        except DataError as error:
            assert error.error_class == "SQLEXT_STEP_BUDGET"
            continue
        for watermark, given_out in stream_rows(case, chance):
            wanted: Counter = Counter()
            for (time, row), n in expected.items():
                if time is not None and time <= watermark:
                    wanted[(time if case.stream.tells_times else 0, row)] += n
            assert given_out == wanted, f"case {seed} at {watermark}"
        found += sum(n for (time, _), n in expected.items() if time is not None)
    assert found > 2 * CASES // PARTS
