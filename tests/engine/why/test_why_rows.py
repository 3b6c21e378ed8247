"""EXPLAIN MATCH WHY of rows, without Spark: the whole answer."""

from __future__ import annotations

import pytest

from .report_cases import cases
from .test_questions import answer

CASES = cases("why_rows.txt")


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_the_whole_answer(case):
    _, columns, rows, row, clause, *expected = case
    lines = answer({"columns": columns, "rows": rows, "row": row, "clause": clause})
    assert lines == [line.removeprefix("=> ") for line in expected]
