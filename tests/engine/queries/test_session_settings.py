"""Settings of a session as Spark reads them."""

from __future__ import annotations

import pytest

from sqlext.errors import DataError
from tests.statements.cases import settings

pytestmark = pytest.mark.spark
SUMS = """SELECT s FROM VALUES (1, 2147483647), (2, 1) AS t(i, v) MATCH_RECOGNIZE (ORDER BY i
    MEASURES COUNT(*) AS s PATTERN (A B) DEFINE B AS LAST(A.v) + B.v > 0)"""


@pytest.mark.parametrize("value", ["true", "TRUE", "True"])
def test_ansi_mode_is_on_however_it_is_written(spark, value):
    with (
        settings(spark, {"spark.sql.ansi.enabled": value}),
        pytest.raises(DataError, match="ARITHMETIC_OVERFLOW"),
    ):
        spark.sql(SUMS).collect()


def test_without_ansi_mode_a_sum_wraps(spark):
    with settings(spark, {"spark.sql.ansi.enabled": "FALSE"}):
        assert spark.sql(SUMS).collect() == []
