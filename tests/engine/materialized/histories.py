"""Random histories of the sources of a materialized view, which is refreshed now and then: after each refresh the table
has the rows of its query.

`python -m tests.engine.materialized.histories FIRST STOP` checks the histories of these seeds; with
SQLEXT_TEST_FORMAT=iceberg over tables of Iceberg.
"""

from __future__ import annotations

import os
import random
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.jvm import OPTIONS

KINDS = {
    title: (key, query.strip())
    for title, key, query in re.findall(
        r"^-- ([^\n]+): ([^\n]+)\n(.*?)(?=^-- |\Z)", Path(__file__).with_name("kinds.sql").read_text(), re.M | re.S
    )
    if "each after" not in title
}
EV = "CAST(k AS BIGINT) AS k, ts, CAST(v AS INT) AS v, c FROM VALUES {} AS (k, ts, v, c)"
PX = "CAST(k AS BIGINT) AS k, ts, CAST(p AS DOUBLE) AS p FROM VALUES {} AS (k, ts, p)"
CLASSES = {"plain": "", "feed": "TBLPROPERTIES (delta.enableChangeDataFeed = true)",
           "vectors": "TBLPROPERTIES (delta.enableDeletionVectors = true)",
           "partitioned": "PARTITIONED BY (k)", "clustered": "CLUSTER BY (k)"}  # fmt: skip
ICEBERG_CLASSES = {"plain": "", "partitioned": "PARTITIONED BY (k)", **{
    name: "TBLPROPERTIES ('format-version' = '{}', {})".format(
        version, ", ".join(f"'write.{verb}.mode' = 'merge-on-read'" for verb in ("delete", "update", "merge")))
    for name, version in (("deletes in files", 2), ("vectors", 3))}}  # fmt: skip
# Stored views over the sources; the second reads the first.
VIEWS = {
    "rises": "SELECT k AS card, n AS rise FROM ev MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts, v "
    "MEASURES count(*) AS n PATTERN (A B+) DEFINE B AS v > PREV(v))",
    "quotes": "SELECT card, max(p) AS most FROM (SELECT card, p FROM rises JOIN px ON card = k) AS r "
    "MATCH_RECOGNIZE (PARTITION BY card ORDER BY p ALL ROWS PER MATCH PATTERN (A) DEFINE A AS p IS NOT NULL) "
    "GROUP BY card",
}

ALTERED = "a table whose columns were changed after its last snapshot"  # of Iceberg

# To compile code costs more than to run it on a few rows.
_SMALL = {"spark.driver.extraJavaOptions": OPTIONS,
          "spark.sql.shuffle.partitions": "1", "spark.sql.session.timeZone": "UTC", "spark.ui.enabled": "false",
          "spark.databricks.delta.snapshotPartitions": "1", "spark.sql.codegen.wholeStage": "false",
          "spark.sql.codegen.factoryMode": "NO_CODEGEN", "spark.sql.adaptive.enabled": "false"}  # fmt: skip


def rows_of_ev(rng: random.Random, number: int) -> str:
    def row() -> str:
        k = rng.choice(["NULL", *map(str, range(8))])
        v = rng.choice(["NULL", *map(str, range(9))])
        return f"({k}, timestamp_seconds({rng.randrange(3600)}), {v}, '{rng.choice('abc')}')"

    return ", ".join(row() for _ in range(number))


def rows_of_px(rng: random.Random, number: int) -> str:
    def row() -> str:
        p = rng.choice(["NULL", "0.0D", "-0.0D", "double('NaN')", "1.5D", "2.0D", "7.0D"])
        return f"({rng.choice(['NULL', *map(str, range(8))])}, timestamp_seconds({rng.randrange(3600)}), {p})"

    return ", ".join(row() for _ in range(number))


def format_of_tables() -> str:
    return os.environ.get("SQLEXT_TEST_FORMAT") or "delta"


def compaction(table: str) -> str:
    if format_of_tables() == "delta":
        return f"OPTIMIZE {table}"
    return f"CALL local.system.rewrite_data_files(table => 'default.{table}', options => map('rewrite-all', 'true'))"


def restoration(spark, rng: random.Random) -> str:
    """The statement that takes ev back to an earlier version."""
    if format_of_tables() == "delta":
        return f"RESTORE TABLE ev TO VERSION AS OF {rng.randrange(versions(spark, 'ev') + 1)}"
    snapshots = [row[0] for row in spark.sql("SELECT snapshot_id FROM local.default.ev.snapshots").collect()]
    return f"CALL local.system.set_current_snapshot('default.ev', {rng.choice(sorted(snapshots))})"


def statements(rng: random.Random, restore: str) -> str:
    """A statement that changes a source; `restore`: the one that takes ev back to an earlier version."""
    k = rng.randrange(8)
    return rng.choice([
        f"INSERT INTO ev VALUES {rows_of_ev(rng, rng.randrange(1, 5))}",
        f"INSERT INTO px (k, ts, p) VALUES {rows_of_px(rng, rng.randrange(1, 5))}",
        f"UPDATE ev SET v = v + 1 WHERE k = {k}",
        f"UPDATE ev SET k = {rng.randrange(8)} WHERE k = {k} AND v > 4",
        f"UPDATE px SET p = -p WHERE k = {k}",
        f"DELETE FROM ev WHERE k = {k} OR v = {rng.randrange(9)}",
        "DELETE FROM px WHERE k IS NULL OR p = 2",
        f"MERGE INTO ev USING (SELECT {k}L AS k, explode(array('a', 'b')) AS c) AS s ON ev.k = s.k AND ev.c = s.c "
        "WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED THEN INSERT (k, ts, v, c) VALUES (s.k, timestamp_seconds(7), 1, s.c)",
        f"INSERT OVERWRITE ev VALUES {rows_of_ev(rng, 20)}",
        compaction("ev"),
        compaction("px"),
        restore,
        f"ALTER TABLE px ADD COLUMN extra_{rng.randrange(10**6)} INT",
        f"ALTER TABLE ev SET TBLPROPERTIES (note = '{k}')",
    ])  # fmt: skip


def rows(spark, query: str) -> Counter[str]:
    """The rows of a query as a bag, in which 0.0 and -0.0 differ."""
    return Counter(map(repr, spark.sql(query).collect()))


def create_sources(spark, rng: random.Random, clauses: str) -> None:
    for name, query, values in (("ev", EV, rows_of_ev(rng, 40)), ("px", PX, rows_of_px(rng, 20))):
        spark.sql(f"DROP TABLE IF EXISTS {name}")
        spark.sql(f"CREATE TABLE {name} USING {format_of_tables()} {clauses} AS SELECT {query.format(values)}")
    for name, query in VIEWS.items():
        spark.sql(f"CREATE OR REPLACE VIEW {name} AS {query}")


def versions(spark, table: str) -> int:
    if format_of_tables() == "iceberg":
        return spark.sql(f"SELECT * FROM local.default.{table}.history").count()
    return spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").first().version


def difference(spark, query: str) -> str:
    """The rows that the view has more or less than its query; "" if there are none."""
    view, now = rows(spark, "SELECT * FROM mv"), rows(spark, query)
    return "" if view == now else f"too many: {view - now}, missing: {now - view}"


def described(spark) -> dict[str, str]:
    return {row.property: row.value for row in spark.sql("DESCRIBE MATERIALIZED VIEW mv").collect()}


def drop_all(spark) -> None:
    for kind, names in (("MATERIALIZED VIEW", ["mv"]), ("VIEW", VIEWS), ("TABLE", ["ev", "px"])):
        for name in names:
            spark.sql(f"DROP {kind} IF EXISTS {name}")


def check_history(spark, rng: random.Random, seed: int) -> None:
    """The law for a history; the seed chooses the kind of the query. The view and its sources stay."""
    title = list(KINDS)[seed % len(KINDS)]
    key, query = KINDS[title]
    classes = CLASSES if format_of_tables() == "delta" else ICEBERG_CLASSES
    create_sources(spark, rng, classes[rng.choice(list(classes))])
    spark.sql(f"SET sqlext.read = {rng.choice(['auto', 'spark'])}")
    spark.sql(f"CREATE MATERIALIZED VIEW mv AS {query}")
    for _ in range(3):
        changes = [statements(rng, restoration(spark, rng)) for _ in range(rng.randrange(1, 4))]
        for change in changes:
            spark.sql(change)
        if rng.random() < 0.2:
            with ThreadPoolExecutor(2) as two:
                list(two.map(spark.sql, ["REFRESH MATERIALIZED VIEW mv"] * 2))
        else:
            spark.sql("REFRESH MATERIALIZED VIEW mv")
        assert difference(spark, query) == "", (title, changes)
    refreshed = described(spark)["refreshed"]
    if ALTERED not in refreshed:
        assert refreshed.startswith(f"by key: {key}" if key != "full" else "in full: ")


def main(seeds: range) -> None:
    import sqlext

    warnings.simplefilter("ignore")  # full refreshes warn
    with tempfile.TemporaryDirectory() as folder:
        spark = sqlext.session("histories", "local[2]", folder, format=format_of_tables(), **_SMALL)
        for seed in seeds:
            before = time.perf_counter()
            check_history(spark, random.Random(seed), seed)
            drop_all(spark)
            print(f"seed {seed} holds, {time.perf_counter() - before:.1f} s", flush=True)
        spark.stop()


if __name__ == "__main__":
    main(range(int(sys.argv[1]), int(sys.argv[2])))
