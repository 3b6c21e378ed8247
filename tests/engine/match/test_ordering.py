"""Who orders the rows of a clause, as EXPLAIN MATCH shows it."""

from __future__ import annotations

import pytest

import sqlext
from tests.statements.cases import settings

pytestmark = pytest.mark.spark
WORKERS = "workers order the rows, which Spark only shuffles by their keys"
SPARK = "Spark sorts the rows, "
CASES = [
    ("auto", "PARTITION BY k ORDER BY t", f"{WORKERS}."),
    ("worker", "PARTITION BY k, s ORDER BY t DESC NULLS LAST, d, s", f"{WORKERS}, sqlext.order is worker."),
    ("auto", "PARTITION BY t, d ORDER BY length(s), f", f"{WORKERS}."),
    ("spark", "PARTITION BY k ORDER BY t", f"{SPARK}sqlext.order is spark."),
    ("auto", "ORDER BY t", f"{SPARK}there is no PARTITION BY."),
    ("worker", "ORDER BY t", f"{WORKERS}, sqlext.order is worker."),
    ("worker", "PARTITION BY f ORDER BY t", f"{SPARK}a window over whole partitions is needed."),
    ("worker", "PARTITION BY c ORDER BY t", f"{SPARK}a window over whole partitions is needed."),
    ("auto", "PARTITION BY k ORDER BY t, a", f"{SPARK}only it orders values of the type array<int>, as a has."),
    ("auto", "PARTITION BY k ORDER BY array(t)",
     f"{SPARK}only it orders values of the type array<timestamp>, as array(t) has."),
    ("auto", "PARTITION BY k ORDER BY c",
     f"{SPARK}only it orders values of the type string collate UTF8_LCASE, as c has."),
]  # fmt: skip
ROWS = """(SELECT id % 2 AS k, timestamp_seconds(id) AS t, CAST(id AS STRING) AS s, CAST(id AS DECIMAL(30, 2)) AS d,
    CAST(id AS DOUBLE) AS f, CAST(id AS STRING) COLLATE UTF8_LCASE AS c, array(1) AS a FROM range(9))"""


def test_explain_names_who_orders_the_rows(spark):
    reasons = []
    for order, clause, _ in CASES:
        with settings(spark, {"sqlext.order": order, "sqlext.parallel": "off"}):
            pattern = "MEASURES COUNT(*) AS n PATTERN (A B+) DEFINE B AS f > 1"
            text = sqlext.explain(f"SELECT * FROM {ROWS} MATCH_RECOGNIZE ({clause} {pattern})", spark=spark)
        reasons.append(next(line for line in text.splitlines() if line.startswith("order: ")))
    assert reasons == [f"order: {reason}" for _, _, reason in CASES]
