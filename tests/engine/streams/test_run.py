"""`sqlext run --available-now` runs streaming tables until they have read all rows that exist."""

from __future__ import annotations

import pytest

from sqlext.cli.main import main

pytestmark = pytest.mark.spark

FILE = """
CREATE TABLE run_events AS SELECT * FROM VALUES
  (TIMESTAMP '2026-01-01 00:00:00', 'A'), (TIMESTAMP '2026-01-01 00:00:01', 'B'),
  (TIMESTAMP '2026-01-01 00:01:00', 'C') AS event(ts, c);
CREATE TABLE run_pair AS SELECT 'A' AS first, 'B' AS then;
CREATE STREAMING TABLE run_pairs AS
  SELECT * FROM STREAM run_events WATERMARK ts DELAY OF INTERVAL 1 SECONDS
  MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(c) AS c PATTERN (A B)
    DEFINE A AS c IN (SELECT first FROM run_pair), B AS B.c <> A.c AND B.c = (SELECT max(then) FROM run_pair));
SELECT * FROM run_pairs;
DROP TABLE run_pairs;
DROP TABLE run_events;
DROP TABLE run_pair;
"""


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_statement_after_a_streaming_table_sees_its_rows(spark, tmp_path, capsys):
    file = tmp_path / "stream.sql"
    file.write_text(FILE)
    warehouse = spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:")
    try:
        assert main(["run", str(file), "--available-now", "--warehouse", warehouse]) == 0
    finally:
        spark.conf.unset("sqlext.stream.trigger")
    assert capsys.readouterr().out.splitlines() == ["c", "B"]


JOB = """
CREATE TABLE IF NOT EXISTS job_events (ts TIMESTAMP);
INSERT INTO job_events VALUES (TIMESTAMP '2026-01-01');
CREATE STREAMING TABLE {} job_rows AS SELECT ts FROM STREAM job_events;
"""
NIGHTS = [  # the words of each night, and what is printed of the table
    ("IF NOT EXISTS", "job_rows, started, batch 0: 1 rows"),
    ("IF NOT EXISTS", "sqlext: the streaming table job_rows is there and stopped, so CREATE STREAMING TABLE IF NOT "
     "EXISTS did nothing, and no new rows were processed: leave IF NOT EXISTS out, which resumes the query, or write "
     "REFRESH STREAMING TABLE job_rows."),
    ("IF NOT EXISTS", "job_rows, exists, nothing done"),
    ("", "job_rows, resumed, batch 1: 3 rows"),
    ("", "job_rows, in all: 1 rows read, 1 rows written"),
]  # fmt: skip


def test_a_nightly_job_says_what_became_of_each_streaming_table(spark, tmp_path, capsys):
    warehouse = spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:")
    file = tmp_path / "job.sql"
    try:
        for words, printed in NIGHTS:
            file.write_text(JOB.format(words))
            assert main(["run", str(file), "--available-now", "--warehouse", warehouse]) == 0
            assert printed in capsys.readouterr().err
    finally:
        spark.conf.unset("sqlext.stream.trigger")
        for table in ("job_rows", "job_events"):
            spark.sql(f"DROP TABLE IF EXISTS {table}")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("options", [["--available-now"], []])
def test_a_stream_that_fails_ends_the_run_with_its_error(spark, tmp_path, capsys, options):
    file = tmp_path / "stream.sql"
    file.write_text(
        """CREATE TABLE run_zero AS SELECT TIMESTAMP '2026-01-01' AS ts, 0 AS v;
        SET sqlext.stream.on_data_error = fail;
        CREATE STREAMING TABLE run_failing AS SELECT ts, 1 / v AS x FROM STREAM run_zero"""
    )
    warehouse = spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:")
    try:
        assert main(["run", str(file), "--warehouse", warehouse, *options]) == 1
    finally:
        for name in ("sqlext.stream.trigger", "sqlext.stream.on_data_error"):
            spark.conf.unset(name)
        for table in ("run_failing", "run_zero"):
            spark.sql(f"DROP TABLE {table}")
    assert "DIVIDE_BY_ZERO" in capsys.readouterr().err
