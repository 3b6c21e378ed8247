"""The life of a streaming table: created, running, stopped, refreshed, replaced, dropped, and failed."""

from __future__ import annotations

import shutil
import warnings
from datetime import timedelta
from pathlib import Path

import pytest

import sqlext
from sqlext.catalog import streams
from sqlext.spark.locations import local_path
from tests.statements.cases import settings

pytestmark = pytest.mark.spark
STREAM = "STREAM life.source WATERMARK ts DELAY OF INTERVAL 0 SECONDS"
QUERY = f"""SELECT k, l FROM {STREAM} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES LAST(i) AS l
  PATTERN (A B) DEFINE A AS i % 2 = 1, B AS i % 2 = 0) WHERE l < 100"""


@pytest.fixture
def life(spark):
    """A schema `life` with a table `source`; everything in it is dropped."""
    spark.sql("CREATE DATABASE life")
    spark.sql("CREATE TABLE life.source (k INT, ts TIMESTAMP, i INT)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield spark
    for query in spark.streams.active:
        query.stop()
    for row in spark.sql("SHOW TABLES IN life").collect():
        if not row.isTemporary:
            spark.sql(f"DROP TABLE life.`{row.tableName}`")
    spark.sql("DROP DATABASE life CASCADE")


def append(spark, *rows: tuple[int, int]) -> None:
    """Rows (k, i), each i seconds after the first."""
    values = ", ".join(f"({k}, TIMESTAMP '2026-01-01' + INTERVAL {i} SECONDS, {i})" for k, i in rows)
    spark.sql(f"INSERT INTO life.source VALUES {values}")


def rows(spark, table: str) -> list[tuple]:
    return sorted(map(tuple, spark.table(table).collect()))


def status(spark, name: str) -> tuple:
    shown = {row.name: row for row in spark.sql("SHOW STREAMING TABLES").collect()}
    return (shown[name].state, shown[name].late_rows) if name in shown else ()


def folder(spark, name: str) -> Path:
    return local_path(spark.sql(f"DESCRIBE DETAIL {name}").collect()[0]["location"])


def test_a_streaming_table_lives_from_create_to_drop(life):
    create = f"CREATE STREAMING TABLE life.`Pairs` AS {QUERY}"
    append(life, (1, 1), (1, 2), (1, 3))
    life.sql(create)
    assert status(life, "life.pairs")[0] == "running"
    with pytest.warns(UserWarning, match=r"life\.pairs is running.*; the statement started nothing"):
        life.sql(create.lower())
    life.sql("REFRESH STREAMING TABLE LIFE.pairs")  # waits until the running query has read all rows
    assert rows(life, "life.pairs") == [(1, 2)]
    life.sql("CREATE STREAMING TABLE IF NOT EXISTS life.pairs AS SELECT * FROM STREAM life.source")
    life.sql("STOP STREAMING TABLE life.pairs")
    assert status(life, "life.pairs") == ("stopped", 0)
    with pytest.warns(UserWarning, match="was not running"):
        life.sql("STOP STREAMING TABLE life.pairs")
    append(life, (1, 4), (1, 9))
    life.sql("refresh streaming table life.pairs")  # by the recorded statement
    assert rows(life, "life.pairs") == [(1, 2), (1, 4)]
    described = dict(map(tuple, life.sql("DESCRIBE STREAMING TABLE life.pairs").collect()))
    assert (described["state"], described["late_rows"], described["statement"]) == ("stopped", "0", create)
    before = {row.name: row for row in life.sql("SHOW STREAMING TABLES LIKE 'life.p*|x'").collect()}["life.pairs"]
    assert before.watermark == "2026-01-01 00:00:09" and (before.lag, before.rows_kept) > (timedelta(0), 0)
    life.sql("REFRESH STREAMING TABLE life.pairs")  # without new rows
    assert [before] == life.sql("SHOW STREAMING TABLES LIKE 'LIFE.p*|x'").collect() and before.as_of is not None
    assert life.sql("SHOW STREAMING TABLES LIKE 'pairs'").collect() == []
    extended = dict(map(tuple, life.sql("DESC STREAMING TABLE EXTENDED life.pairs").collect()))
    assert "DeltaSource" in extended["source 1"] and '"reservoirVersion":' in extended["source 1"]
    with pytest.raises(sqlext.BindError, match="other text here: 100") as changed:
        life.sql(create.replace("100", "50"))
    assert changed.value.error_class == "SQLEXT_CHANGED_QUERY" and changed.value.place.excerpt().endswith("^^")
    with settings(life, {"sqlext.stream.trigger": "available-now"}):
        life.sql(create.replace("CREATE", "CREATE OR REPLACE").replace("100", "3"))
    assert rows(life, "life.pairs") == [(1, 2)]
    life.sql(create.replace("CREATE", "CREATE OR REFRESH").replace("100", "3"))
    files = folder(life, "life.pairs")
    life.sql("DROP TABLE life.pairs")
    assert not life.streams.active and not files.exists() and status(life, "life.pairs") == ()
    with pytest.raises(sqlext.BindError, match="there is no streaming table"):
        life.sql("DESCRIBE STREAMING TABLE life.pairs")
    (files / "_checkpoints" / "stream").mkdir(parents=True)
    (files / "_checkpoints" / "stream" / "metadata").write_text("{}")
    with pytest.raises(sqlext.BindError, match="holds a checkpoint") as leftovers:
        life.sql(create)
    assert leftovers.value.error_class == "SQLEXT_LEFTOVERS"
    life.sql(create.replace("CREATE", "CREATE OR REPLACE"))
    life.sql("DROP TABLE life.pairs")
    life.sql("CREATE TABLE life.plain AS SELECT 1 AS k, 2 AS l")
    with pytest.raises(sqlext.BindError, match="no streaming table has written"):
        life.sql(f"CREATE STREAMING TABLE life.plain AS {QUERY}")


def test_the_numbers_of_another_process_come_from_the_checkpoint(life):
    append(life, (1, 1), (1, 2), (1, 5), (2, 7))
    life.sql(f"CREATE STREAMING TABLE life.others OPTIONS ('trigger' = 'available-now') AS {QUERY}")
    append(life, (1, 3), (1, 11))
    life.sql("REFRESH STREAMING TABLE life.others")
    own = life.sql("SHOW STREAMING TABLES").first()
    streams.forget("life.others")  # what a process knows that has not run it
    other = life.sql("SHOW STREAMING TABLES").first()
    assert (
        own[:3] + own[4:8] == other[:3] + other[4:8] == ("life.others", "stopped", "2026-01-01 00:00:11", 2, 1, 0, None)
    )
    assert abs(other.as_of - own.as_of) < timedelta(seconds=1)  # Spark reads the clock twice
    streams.forget("life.others")
    described = dict(map(tuple, life.sql("DESCRIBE STREAMING TABLE EXTENDED life.others").collect()))
    assert described["rows_kept"] == "2" and described["bytes_kept"] is None
    assert '"reservoirVersion":' in described["source 1"]


def test_a_stream_that_fails_is_shown_with_its_error(life):
    append(life, (1, 1), (1, 2), (1, 3))
    failing = f"CREATE STREAMING TABLE life.broken AS {QUERY.replace('LAST(i)', '1 / (LAST(i) - 2)')}"
    with settings(life, {"sqlext.stream.on_data_error": "fail"}):
        life.sql(failing)
    query = next(q for q in life.streams.active if q.name == "life.broken")
    with pytest.raises(Exception, match=r"STREAM_FAILED|DIVIDE"):
        query.processAllAvailable()
    shown = {row.name: row for row in life.sql("SHOW STREAMING TABLES").collect()}["life.broken"]
    assert shown.state == "failed" and "DIVIDE_BY_ZERO" in shown.last_error
    extended = dict(map(tuple, life.sql("DESCRIBE STREAMING TABLE EXTENDED life.broken").collect()))
    assert extended["last_error"] == shown.last_error and "\n\tat " in extended["whole_error"]


HOSTILE_RECORDS = [
    b"", b"{", b"null", b"[]", b'"text"', b"{}", b"\xff\xfe", b'{"clauses": 1}', b'{"clauses": [1]}', b"[" * 100_000,
    b'{"clauses": [{"text": "x", "other": 1}]}', b'{"clauses": [], "upsert_key": 3}',
]  # fmt: skip


def test_a_stream_that_is_odd_hides_no_other_from_show_and_describe(life):
    """A watermark in the year 57971, as of milliseconds taken for seconds; damaged records; a folder that is gone."""
    life.sql("INSERT INTO life.source VALUES (1, CAST(1767225600000 AS TIMESTAMP), 1)")
    append(life, (1, 1), (1, 2))
    create = f"CREATE STREAMING TABLE life.odd OPTIONS ('trigger' = 'available-now') AS {QUERY}"
    life.sql(create)
    life.sql("CREATE STREAMING TABLE life.plain AS SELECT k FROM STREAM life.source")
    files = folder(life, "life.odd")
    folders = [files.parents[1] / f"hostile_{i}" for i in range(len(HOSTILE_RECORDS))]
    try:
        for hostile, record in zip(folders, HOSTILE_RECORDS):
            (hostile / "_delta_log").mkdir(parents=True)
            (hostile / "_delta_log" / "0.json").touch()
            (hostile / "_checkpoints" / "stream").mkdir(parents=True)
            (hostile / "_checkpoints" / "stream" / "sqlext.json").write_bytes(record)
        shown = {row.name: row for row in life.sql("SHOW STREAMING TABLES").collect()}
    finally:
        for hostile in folders:
            shutil.rmtree(hostile)
    errors = [shown[hostile.name].last_error for hostile in folders]
    assert all(error.startswith("SQLEXT_CHECKPOINT_RECORD: ") for error in errors)
    assert shown["life.plain"].state == "running"
    odd = shown["life.odd"]
    assert (odd.state, odd.watermark, odd.lag.days < -20_000_000) == ("stopped", "+57971-02-25 00:00:00", True)
    (record,) = files.glob("_checkpoints/*/sqlext.json")
    statement = record.read_bytes()
    record.write_bytes(HOSTILE_RECORDS[1])
    described = dict(map(tuple, life.sql("DESCRIBE STREAMING TABLE life.odd").collect()))
    assert (described["watermark"], described["statement"]) == ("+57971-02-25 00:00:00", None)
    assert "CHECKPOINT_RECORD" in described["last_error"] and str(files) in described["checkpoint"]
    with pytest.raises(sqlext.DataError, match="cannot be read"):
        life.sql(create)
    record.write_bytes(statement)
    shutil.rmtree(files)  # as another tool drops a table
    assert status(life, "life.odd") == ("stopped", 0)
    assert dict(map(tuple, life.sql("DESCRIBE STREAMING TABLE life.odd").collect()))["checkpoint"] is None
