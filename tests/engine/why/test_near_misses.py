"""Near misses, as pictures show them: what lacked one row, and what refused that row."""

from __future__ import annotations

import pytest

from sqlext.engine.why.near_misses import near_misses

from .harness import partition_why
from .test_random_rows import about, case

PRICES = """SELECT * FROM t MATCH_RECOGNIZE (
  ORDER BY day {rest} DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price))"""
CASES = [
    (
        "PATTERN (S DOWN+ UP)", [9, 8, 8, 7, 9],
        ["S1 DOWN2, 3 no UP: price > PREV(price) is false (price = 8, PREV(price) = 8)"],
    ),
    (
        "PATTERN (S DOWN{2} UP)", [9, 8, 7, None],
        ["S1 DOWN2 DOWN3, 4 no UP: price > PREV(price) is NULL (price = NULL, PREV(price) = 7)"],
    ),
    (
        "PATTERN (S DOWN UP) WITHIN 2", [9, 8, 9],
        ["S1 DOWN2, 3 Row 3 (day = 3) is too late for WITHIN 2: it is 2 after row 1"],
    ),
    ("PATTERN (S DOWN UP)", [9, 8], ["S1 DOWN2, 2 The partition ends after row 2, and UP has no row"]),
    ("PATTERN (S DOWN UP)", [9, 8, 9], []),
]  # fmt: skip


@pytest.mark.parametrize(("rest", "prices", "expected"), CASES)
def test_a_near_miss_says_which_row_was_refused_and_why(rest, prices, expected):
    rows = list(enumerate(prices, 1))
    why = partition_why(PRICES.format(rest=rest), {"day": "int", "price": "int"}, rows)
    found = [
        f"{' '.join(f'{name}{row + 1}' for row, name in miss.mapped)}, {miss.refused + 1} {miss.reason}"
        for miss in near_misses(why)
    ]
    assert found == expected


@pytest.mark.random(every=2)
@pytest.mark.parametrize("part", range(2))
def test_near_misses_of_random_clauses_begin_at_rows_without_a_match(part):
    count = 0
    for seed in range(part * 1000, part * 1000 + 60):
        why = about(*case(seed, relaxes=part == 1))
        starts = {match.start for match in why.matches or ()}
        for miss in near_misses(why):
            count += 1
            assert miss.mapped[0][0] not in starts and miss.reason
            assert 0 <= miss.refused < len(why.order)
    assert count > 20
