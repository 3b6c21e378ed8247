"""Workers get all rows of a key where Spark could leave out the shuffle by the keys.

Spark leaves it out over a bucketed table and over a join by the keys. It then reads the files of the table in any
order, and splits a skewed partition of the join.
"""

from __future__ import annotations

import pytest

from tests.statements.cases import settings

pytestmark = pytest.mark.spark
PARTITIONS = "8"  # as many as buckets, or Spark shuffles anyway
SETTINGS = {
    "spark.sql.shuffle.partitions": PARTITIONS,
    "spark.sql.files.maxPartitionBytes": "40kb",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "10kb",
    "spark.sql.adaptive.skewJoin.skewedPartitionFactor": "1.5",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "20kb",
}
MATCH = "MEASURES A.v AS a, B.v AS b PATTERN (A B) DEFINE B AS B.v > A.v"
STATEMENTS = {
    "MATCH_RECOGNIZE": f"SELECT * FROM {{}} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts {MATCH})",
    "a row pattern in a window": """SELECT k, ts, x OVER w FROM {} WINDOW w AS (PARTITION BY k ORDER BY ts
        MEASURES B.v AS x ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B) DEFINE B AS B.v > A.v)""",
    "EMIT": """SELECT k, window_end, sum(v) AS s FROM TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL 5 MINUTES)
        GROUP BY k, window_start, window_end EMIT EVERY 2 ROWS""",
    "ASOF JOIN": "SELECT a.k, a.ts, b.ts AS u FROM {} a ASOF JOIN {} b MATCH_CONDITION (a.ts > b.ts) ON a.k = b.k",
    "MATCH_RULES": "SELECT * FROM {} MATCH_RULES (PARTITION BY k ORDER BY ts RULES whole_keys.rules)",
}


@pytest.fixture(scope="module")
def tables(spark):
    """Two tables with the same rows, of which `bucketed` has each key in several files of a bucket, and a table of the
    keys; where it is joined, the partition of key 1 is skewed."""
    spark.sql("CREATE SCHEMA whole_keys")
    with settings(spark, SETTINGS):
        rows = """SELECT IF(id % 10 < 5, 1, id % 100) AS k, timestamp_seconds(id) AS ts, id % 7 AS v
            FROM range({}, {}, 1, 4)"""
        spark.sql(f"""CREATE TABLE whole_keys.bucketed (k BIGINT, ts TIMESTAMP, v BIGINT) USING parquet
            CLUSTERED BY (k) INTO {PARTITIONS} BUCKETS""")
        for start in (0, 12_000, 24_000):
            spark.sql(f"INSERT INTO whole_keys.bucketed {rows.format(start, start + 12_000)}")
        spark.sql(f"CREATE TABLE whole_keys.plain USING delta AS {rows.format(0, 36_000)}")
        spark.sql("CREATE TABLE whole_keys.keys USING delta AS SELECT id AS k FROM range(100)")
        rule = MATCH.replace("DEFINE", "DEFINE A AS v > 3,")
        spark.sql(f"CREATE PATTERN RULE r ON whole_keys.rules FOR TABLE whole_keys.plain AS MATCH_RECOGNIZE ({rule})")
        yield spark
    spark.sql("DROP SCHEMA whole_keys CASCADE")


def rows_of(spark, statement: str, relation: str) -> list[tuple]:
    return sorted(map(tuple, spark.sql(statement.replace("{}", relation)).collect()), key=str)


@pytest.mark.parametrize("kind, order", [*((kind, "auto") for kind in STATEMENTS), ("MATCH_RECOGNIZE", "spark")])
def test_rows_are_those_of_a_table_that_is_not_distributed(tables, kind, order):
    joined = "(SELECT p.k, p.ts, p.v FROM whole_keys.plain p JOIN whole_keys.keys USING (k))"
    with settings(tables, {"sqlext.order": order}):
        expected = rows_of(tables, STATEMENTS[kind], "whole_keys.plain")
        assert expected
        for relation in ("whole_keys.bucketed", joined):
            assert rows_of(tables, STATEMENTS[kind], relation) == expected, relation
