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


def test_values_of_rows_are_exact(spark):
    text = sqlext.why(
        """SELECT shop, sum(price) AS total, max(none) AS none, min(ts) AS first FROM TUMBLE(TABLE (
             SELECT 'a' AS shop, 16.00BD AS price, CAST(NULL AS STRING) AS none, 1L << 60 AS id,
               TIMESTAMP '2026-01-01 10:00:00.123456' AS ts, '2026-01-01T10:00:00.120000Z' AS written),
             DESCRIPTOR(ts), INTERVAL '5' MINUTES)
           GROUP BY shop, window_start, window_end EMIT AFTER WATERMARK""",
        "price > 0",
        spark=spark,
    )
    assert text.splitlines()[0] == (
        'Row {"shop":"a","price":16.00,"none":null,"id":1152921504606846976,"ts":"2026-01-01T10:00:00.123456Z",'
        '"written":"2026-01-01T10:00:00.120000Z"}'
    )
    assert '{"shop":"a","total":16.00,"none":null,"first":"2026-01-01T10:00:00.123456Z"}' in text
