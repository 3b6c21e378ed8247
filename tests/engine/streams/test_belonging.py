"""A table and a checkpoint of which one is an older copy, or is gone, are refused, and go on when both are there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import sqlext
from sqlext.formats.delta_batches import log_of
from sqlext.spark.locations import local_path
from tests.operators.match.event_rows import STREAM, append, lines
from tests.statements.cases import settings

pytestmark = pytest.mark.spark
QUERY = f"""SELECT k, at, f, l FROM {STREAM} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
  MEASURES MATCH_ROWTIME() AS at, FIRST(i) AS f, LAST(i) AS l PATTERN (A B) DEFINE A AS c = 'A', B AS c = 'B')"""
STATEMENTS = {
    "append": f"CREATE STREAMING TABLE sink AS {QUERY}",
    "upsert": f"CREATE STREAMING TABLE sink UPSERT KEY (l) AS {QUERY}",
    "insert": f"INSERT INTO sink {QUERY}",
}
ALL = ["1 1 2", "1 3 4", "1 5 6", "1 7 8"]


class Sink:
    """The table `sink`, which gets a row in each run."""

    def __init__(self, spark, kind: str) -> None:
        self.spark, self.statement, self.rows = spark, STATEMENTS[kind], 0
        if kind == "insert":
            spark.sql("CREATE TABLE sink (k INT, at TIMESTAMP, f INT, l INT)")

    def run(self) -> list[str]:
        """Add a match to the source, run the query, and return the rows of the sink."""
        at, i = 10 * self.rows, 2 * self.rows + 1
        self.rows += 1
        append(self.spark, f"1 {at} A {i}", f"1 {at + 1} B {i + 1}", f"2 {at + 9} C 0")
        return self.again()

    def again(self) -> list[str]:
        self.spark.sql(self.statement)
        self.spark.sql("SELECT k, f, l FROM sink").createOrReplaceTempView("shown")
        result = lines(self.spark, "shown")
        self.spark.catalog.dropTempView("shown")
        return result

    def refused(self) -> tuple[str, str]:
        with pytest.raises(sqlext.DataError) as error:
            self.again()
        assert error.value.place.excerpt().splitlines()[-1].split() == ["|", "^^^^"]
        return error.value.error_class.removeprefix("SQLEXT_"), error.value.hint

    @property
    def folder(self) -> Path:
        return local_path(self.spark.sql("DESCRIBE DETAIL sink").first().location)


@pytest.mark.random(every=3)
@pytest.mark.parametrize("kind", STATEMENTS)
def test_an_older_copy_of_the_checkpoint_is_refused(events, tmp_path, kind):
    sink = Sink(events, kind)
    for _ in range(2):
        sink.run()
    checkpoints = sink.folder / "_checkpoints"
    shutil.copytree(checkpoints, tmp_path / "older")
    for _ in range(2):
        sink.run()
    shutil.move(checkpoints, tmp_path / "newest")
    shutil.copytree(tmp_path / "older", checkpoints)
    error, hint = sink.refused()
    assert error == "CHECKPOINT_BEHIND"
    assert ("sqlext.stream.name" if kind == "insert" else "CREATE OR REPLACE STREAMING TABLE") in hint
    shutil.rmtree(checkpoints)
    shutil.move(tmp_path / "newest", checkpoints)
    assert sink.again() == ALL


@pytest.mark.random(every=3)
@pytest.mark.parametrize("kind", STATEMENTS)
def test_rows_that_restore_has_taken_back_are_not_missed(events, kind):
    sink = Sink(events, kind)
    for _ in range(3):
        sink.run()
    history = events.sql("DESCRIBE HISTORY sink").collect()
    newest = history[0].version
    events.sql(f"RESTORE TABLE sink TO VERSION AS OF {newest - 2}")
    error, hint = sink.refused()
    assert error == "CHECKPOINT_AHEAD"
    events.sql(hint.split(" brings")[0])
    assert sink.run() == ALL
    events.sql("OPTIMIZE sink")
    events.sql(f"RESTORE TABLE sink TO TIMESTAMP AS OF '{history[1].timestamp}'")
    assert sink.refused()[0] == "CHECKPOINT_AHEAD"


@pytest.mark.random(every=3)
@pytest.mark.parametrize("kind", STATEMENTS)
def test_an_older_copy_of_the_table_is_refused(events, tmp_path, kind):
    sink = Sink(events, kind)
    for _ in range(2):
        sink.run()
    shutil.copytree(sink.folder, tmp_path / "older")
    for _ in range(2):
        sink.run()
    shutil.rmtree(tmp_path / "older" / "_checkpoints")
    shutil.copytree(sink.folder / "_checkpoints", tmp_path / "older" / "_checkpoints")
    folder = sink.folder
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "older", folder)
    events.sql("REFRESH TABLE sink")
    assert sink.refused()[0] == "CHECKPOINT_AHEAD"


def test_an_insert_whose_checkpoint_is_gone_does_not_write_all_rows_again(events):
    sink = Sink(events, "insert")
    for _ in range(2):
        sink.run()
    shutil.rmtree(sink.folder / "_checkpoints")
    error, hint = sink.refused()
    assert error == "CHECKPOINT_GONE" and "SET sqlext.stream.name" in hint
    with settings(events, {"sqlext.stream.name": "again"}):
        assert sink.again() == sorted(2 * ALL[:2])
    events.sql("TRUNCATE TABLE sink")
    assert sink.again() == ALL[:2]


def test_the_last_micro_batch_is_found_after_a_checkpoint_of_the_log(events):
    sink = Sink(events, "append")
    events.sql("ALTER TABLE events SET TBLPROPERTIES ('delta.checkpointInterval' = '2')")
    sink.run()
    events.sql("ALTER TABLE sink SET TBLPROPERTIES ('delta.checkpointInterval' = '1')")
    query = next(iter(sink.folder.glob("_checkpoints/*"))) / "metadata"
    identifier = query.read_text().split('"')[3]
    last = log_of(events, str(sink.folder), identifier).last_batch
    for number in range(3):
        events.sql(f"ALTER TABLE sink SET TBLPROPERTIES ('x' = '{number}')")
    for file in sorted((sink.folder / "_delta_log").glob("*.json"))[:-2]:
        file.unlink()  # as Delta cleans its log
    assert last is not None and log_of(events, str(sink.folder), identifier).last_batch == last
