"""EXPLAIN MATCH WHY of EMIT without Spark: the text about a row, and what the model says of it."""

from __future__ import annotations

import pytest

from sqlext.engine.emit.why_row import EmitWords, FiringResult, row_lines
from sqlext.operators.emit.trace import SEES, trace
from tests.operators.emit.test_step import plan_of, table

ROWS = [("a", 1, 7, 1), ("a", 5, 8, 2), ("a", 6, 9, 3), ("b", 2, 0, 4)]


def lines(row: int, **parts) -> list[str]:
    case = {"assigner": ("tumble", 10, 0), "triggers": [], "discarding": False, "lateness": 0, "evict": None, **parts}
    words = EmitWords(
        window="TUMBLE",
        time="ts",
        evictor="EVICT KEEP LAST 1 ROW",
        having="n > 1",
        show=str,
        time_of=lambda i: ROWS[i][1],
        result=lambda point: FiringResult(f"result {point}", holds=point != 1),
    )
    return list(row_lines(trace(table(ROWS), plan_of(case, keeps_rows=True)), row, words))


LATE = "On a stream it is late, and in no firing, if the watermark has reached {} when it arrives."
CASES = [
    (
        "before and after a trigger",
        1,
        {"triggers": [("every_time", 4)]},
        ["It is in 2 of 3 firings of 1 window.", "In the window from 0 to 10 it is row 2 of 3.",
         "  Firing 1, at 3, does not see it: the row comes later.",
         "  Firing 2, EARLY, at 7: sees it, but is not in the result, because HAVING n > 1 is false: result 1",
         "  Firing 3, ON_TIME, at 9: sees it, result 2", LATE.format(5)],
    ),
    (
        "DISCARDING",
        0,
        {"triggers": [("count", 1)], "discarding": True},
        ["It is in 1 of 3 firings of 1 window.", "In the window from 0 to 10 it is row 1 of 3.",
         "  Firing 1, EARLY, at 1: sees it, result 0",
         "  Firings 2 to 3 do not see it: with DISCARDING only firing 1 may see it.", LATE.format(1)],
    ),
    (
        "evicted, and late rows are allowed",
        1,
        {"evict": ("count", 1), "lateness": 4},
        ["It is in 0 of 1 firing of 1 window.", "In the window from 0 to 10 it is row 2 of 3.",
         "  Firing 1, ON_TIME, at 9: does not see it: EVICT KEEP LAST 1 ROW keeps only the rows from 6 on.",
         LATE.format(9)],
    ),
    (
        "between two windows",
        2,
        {"assigner": ("hop", 5, 1, 0)},
        ["It is in no window of TUMBLE: the one before ends at 6, and the next one begins at 10."],
    ),
]  # fmt: skip


@pytest.mark.parametrize("title, row, parts, expected", CASES, ids=[case[0] for case in CASES])
def test_the_text_about_a_row(title, row, parts, expected):
    assert lines(row, **parts) == expected


def test_the_text_names_the_firings_that_see_the_row():
    found = trace(table(ROWS), plan_of({
        "assigner": ("hop", 2, 6, 0), "triggers": [("count", 2)], "discarding": False, "lateness": 0, "evict": None,
    }, keeps_rows=True))  # fmt: skip
    for row in range(len(ROWS)):
        seen = sum(firing.verdict == SEES for pane in found.windows_of(row) for firing in pane.firings)
        text = lines(row, assigner=("hop", 2, 6, 0), triggers=[("count", 2)])
        assert text[0].startswith(f"It is in {seen} of ")
        assert sum("sees it" in line for line in text) == seen
