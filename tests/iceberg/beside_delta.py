"""Run on Spark 4.1 by test_iceberg.py and by `make test-iceberg`: a catalog of Iceberg beside that of Delta."""

from __future__ import annotations

import os
import textwrap

import pytest

from tests.sessions.programs import printed

pytestmark = pytest.mark.skipif(
    os.environ.get("SQLEXT_TEST_FORMAT") != "iceberg", reason="make test-iceberg starts Iceberg"
)
SESSION = """
    import pyspark, sqlext, warnings
    from sqlext.formats.iceberg import ICEBERG
    from sqlext.formats.known_formats import format_of
    warnings.simplefilter("ignore")
    catalog = "spark.sql.catalog.ice"
    spark = sqlext.session("beside", "local[2]", "tables", **{
        "spark.jars.packages": ICEBERG.package(pyspark.__version__),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension," + ICEBERG.needed["spark.sql.extensions"],
        catalog: "org.apache.iceberg.spark.SparkCatalog", f"{catalog}.type": "hadoop", f"{catalog}.warehouse": "ice",
        f"{catalog}.cache-enabled": "false", "spark.sql.shuffle.partitions": "2"})
    spark.conf.set("sqlext.stream.trigger", "available-now")

    def show(query):
        print(*sorted(map(tuple, spark.sql(query).collect())))

    def append(table, *rows):
        spark.sql(f"INSERT INTO {table} VALUES " + ", ".join(
            f"({k}, timestamp_seconds(1000000 + {second}), '{c}', {i})" for k, second, c, i in rows))

    spark.sql("CREATE NAMESPACE ice.db")
    for table in ("ev", "ice.db.ev"):
        spark.sql(f"CREATE TABLE {table} (k INT, ts TIMESTAMP, c STRING, i INT)")
    append("ev", (1, 0, "A", 1), (1, 1, "B", 2), (2, 1, "A", 3))
    append("ice.db.ev", (1, 0, "A", 10), (2, 3, "A", 20), (2, 4, "B", 30))
    CLAUSE = '''MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.i AS f, B.i AS l PATTERN (A B)
      DEFINE A AS c = 'A', B AS c = 'B')'''
    STREAM = "WATERMARK ts DELAY OF INTERVAL 1 SECONDS"
"""
JOINS = """
    show(f"SELECT m.k, m.f, m.l, o.i FROM ev {CLAUSE} AS m JOIN ice.db.ev AS o ON m.k = o.k")
    show(f"SELECT m.k, m.f, o.i FROM ice.db.ev {CLAUSE} AS m JOIN ev AS o ON m.k = o.k")
    show("SELECT d.i, o.i AS j FROM ev d LEFT ASOF JOIN ice.db.ev o MATCH_CONDITION (d.ts >= o.ts) ON d.k = o.k")
    show(f"SELECT k, f FROM (SELECT * FROM ev UNION ALL SELECT * FROM ice.db.ev WHERE i > 10) AS e {CLAUSE}")
"""
STREAMS = """
    into_iceberg = f"CREATE STREAMING TABLE ice.db.pairs AS SELECT k, f, l FROM STREAM ev {STREAM} {CLAUSE}"
    into_delta = f"CREATE STREAMING TABLE pairs AS SELECT k, f, l FROM STREAM ice.db.ev {STREAM} {CLAUSE}"
    for table in ("ev", "ice.db.ev"):
        append(table, (1, 20, "C", 4))
    for _ in range(2):
        spark.sql(into_iceberg)
        spark.sql(into_delta)
    append("ev", (2, 30, "A", 5), (2, 31, "B", 6), (2, 60, "C", 7))
    append("ice.db.ev", (1, 30, "A", 5), (1, 31, "B", 6), (1, 60, "C", 7))
    for _ in range(2):
        spark.sql(into_iceberg)
        spark.sql("REFRESH STREAMING TABLE pairs")
    show("SELECT * FROM ice.db.pairs")
    show("SELECT * FROM pairs")
    print(*(format_of(spark, name).title for name in (("pairs",), ("ice", "db", "pairs"))))
"""
VIEWS = """
    query = "SELECT d.k, count(*) AS n, max(o.i) AS most FROM ev AS d JOIN ice.db.ev AS o ON d.k = o.k GROUP BY d.k"
    for view in ("mv", "ice.db.mv"):
        spark.sql(f"CREATE MATERIALIZED VIEW {view} AS {query}")
    append("ev", (2, 5, "A", 8))
    spark.sql("DELETE FROM ice.db.ev WHERE i = 10")
    for view in ("mv", "ice.db.mv"):
        print(spark.sql(f"EXPLAIN REFRESH MATERIALIZED VIEW {view}").first()[0].count("changed from version"))
        spark.sql(f"REFRESH MATERIALIZED VIEW {view}")
        show(f"SELECT * FROM {view}")
        print({row.property: row.value for row in spark.sql(f"DESCRIBE MATERIALIZED VIEW {view}").collect()}["kind"])
"""


@pytest.fixture
def run(tmp_path):
    """Runs a program after the session's, and returns what it prints."""
    return lambda program: printed(textwrap.dedent(SESSION) + textwrap.dedent(program), tmp_path)


def test_tables_of_both_formats_are_joined_streamed_and_kept_in_views(run):
    assert run(JOINS + STREAMS + VIEWS) == [
        "(1, 1, 2, 10)",
        "(2, 20, 3)",
        "(1, 10) (2, 10) (3, None)",
        "(1, 1) (2, 20)",
        "(1, 1, 2) (2, 5, 6)",
        "(1, 5, 6) (2, 20, 30)",
        "Delta Iceberg",
        "2",
        "(1, 12, 7) (2, 10, 30)",
        "by key",
        "2",
        "(1, 12, 7) (2, 10, 30)",
        "by key",
    ]
