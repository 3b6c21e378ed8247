"""EXPLAIN MATCH WHY of EMIT on Spark; `test_emit_row.py` has the text about a row, `test_trace.py` what is seen."""

from __future__ import annotations

import pytest

import sqlext

from .report_cases import assert_lines, cases
from .test_analyze_emit import query

CASES = cases("why_emit.txt")


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_which_firings_see_a_row(spark, case):
    _, call, rest, condition, *expected = case
    assert_lines(sqlext.why(query(call, rest), condition, spark=spark), expected)


def test_a_wrong_column_has_a_place(spark):
    with pytest.raises(sqlext.BindError) as error:
        sqlext.why(query(*CASES[0][1:3]), "nothing = 1", spark=spark)
    assert error.value.place.text[error.value.place.start :] == "nothing = 1"
