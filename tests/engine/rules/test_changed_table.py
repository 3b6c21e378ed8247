"""What somebody may do to a table of rules past the statements: the good rule goes on matching, and no match is lost.

Each step changes the table in a random way and adds a bad row, and then one event arrives that the good rule matches.
Another column of the table is the one change that ends a stream: Delta's source stops, and goes on when it is started
again.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException

from tests.operators.rules.test_rule_fuzz import EXTREMES, HOSTILE, NAMES
from tests.sampling import SAMPLE

STEPS = 28 if SAMPLE == "all" else 2
RULE = "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS v = 7)"
DO_NOT_KEEP = "spark.databricks.delta.retentionDurationCheck.enabled"
CHANGES = (
    "ALTER TABLE {rules} ADD COLUMNS (added_{n} STRING)",
    "ALTER TABLE {rules} ALTER COLUMN comment COMMENT 'step {n}'",
    "ALTER TABLE {rules} ALTER COLUMN author AFTER comment",
    "ALTER TABLE {rules} SET TBLPROPERTIES ('step' = '{n}')",
    "DELETE FROM {rules} WHERE name <> 'good'",
    "DELETE FROM {rules}",
    "TRUNCATE TABLE {rules}",
    "UPDATE {rules} SET clause = 'nonsense'",
    "INSERT INTO {rules} SELECT * FROM {rules}",
    "INSERT OVERWRITE {rules} SELECT * FROM {rules}",
    "OPTIMIZE {rules}",
    "VACUUM {rules} RETAIN 0 HOURS",
    "CREATE OR REPLACE PATTERN RULE other ON {rules} AS MATCH_RECOGNIZE (PATTERN (A B) DEFINE A AS true)",
    "DROP PATTERN RULE IF EXISTS other ON {rules}",
)  # fmt: skip


@pytest.fixture
def tables(spark, tmp_path: Path):
    """The names of a table of events and of one of rules, in a database of their own."""
    before = spark.conf.get(DO_NOT_KEEP, "true")
    spark.conf.set(DO_NOT_KEEP, "false")
    spark.sql(f"CREATE DATABASE changed_db LOCATION '{tmp_path / 'db'}'")
    spark.sql("CREATE TABLE changed_db.ev (k STRING, ts TIMESTAMP, v INT) USING delta")
    yield "changed_db.ev", "changed_db.rules"
    for query in spark.streams.active:
        query.stop()
    spark.conf.set(DO_NOT_KEEP, before)
    spark.sql("DROP DATABASE changed_db CASCADE")


def bad_row(spark, rules: str, chance: random.Random) -> None:
    row = (chance.choice(NAMES), chance.choice(EXTREMES), chance.choice(HOSTILE), chance.choice((None, True, False)))
    if row[0] != "good":
        frame = spark.createDataFrame([row], "name STRING, version BIGINT, clause STRING, enabled BOOLEAN")
        frame.writeTo(rules).append()


def start(spark, events: str, rules: str, checkpoint: Path):
    clause = f"MATCH_RULES (PARTITION BY k ORDER BY ts RULES {rules}) AS m"
    rows = spark.sql(f"SELECT * FROM STREAM {events} WATERMARK ts DELAY OF INTERVAL 0 SECONDS {clause}")
    matches = rows.selectExpr("rule_name", "unix_seconds(first_time) AS at")
    return matches.writeStream.option("checkpointLocation", str(checkpoint)).toTable("changed_db.matches")


def test_no_change_of_the_table_loses_a_match(spark, tables, tmp_path):
    chance, (events, rules) = random.Random(int(SAMPLE) if SAMPLE != "all" else 0), tables
    spark.sql(f"CREATE PATTERN RULE good ON {rules} FOR TABLE {events} AS {RULE}")
    spark.sql(f"ALTER TABLE {rules} UNSET TBLPROPERTIES IF EXISTS ('delta.appendOnly')")
    stream = start(spark, events, rules, tmp_path / "checkpoint")
    stream.processAllAvailable()  # the rule has arrived
    changes, done = chance.sample(CHANGES, len(CHANGES)), []
    for n in range(1, STEPS + 1):
        done.append(changes[n % len(changes)].format(rules=rules, events=events, n=n))
        spark.sql(done[-1])
        bad_row(spark, rules, chance)
        spark.sql(f"INSERT INTO {events} VALUES ('k', timestamp_seconds({n}), 7)")
        try:
            stream.processAllAvailable()
        except StreamingQueryException as e:
            assert "ADD COLUMNS" in done[-1] and "DELTA_SCHEMA_CHANGED" in str(e), done
            stream = start(spark, events, rules, tmp_path / "checkpoint")
            stream.processAllAvailable()
    seen = spark.sql("SELECT at FROM changed_db.matches WHERE rule_name = 'good' ORDER BY at").collect()
    assert [row.at for row in seen] == list(range(1, STEPS + 1)), done
