"""What a query writes after it has ended does not come back, and a table and a checkpoint of another table are refused.

Spark's maintenance uploads snapshots of the state some time after a query has ended. Here the state of the ended query
is written into its folder again, which is the same.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import sqlext
from sqlext.spark.locations import local_path
from tests.operators.match.event_rows import STREAM, append, lines
from tests.statements.cases import settings

pytestmark = pytest.mark.spark
PAIRS = f"""SELECT k, f, l FROM {STREAM} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
  MEASURES FIRST(i) AS f, LAST(i) AS l PATTERN (A B) DEFINE A AS c = 'A', B AS c = 'B')"""
CREATE = f"CREATE STREAMING TABLE pairs AS {PAIRS}"


@pytest.fixture
def begun(events):
    """A streaming table `pairs` that keeps a row A of key 1."""
    append(events, "1 0 A 1", "1 30 C 2")
    events.sql(CREATE)
    append(events, "1 40 A 3")
    events.sql(CREATE)
    return events


def checkpoint(spark, table: str = "pairs") -> Path:
    described = dict(map(tuple, spark.sql(f"DESCRIBE STREAMING TABLE {table}").collect()))
    return Path(described["checkpoint"])


def kept_state(spark, folder: Path, table: str = "pairs") -> Path:
    """A copy of the state of a table, which a late writer writes into `checkpoint(spark) / "state"`."""
    return Path(shutil.copytree(checkpoint(spark, table) / "state", folder / "state"))


def written_late(state: Path, folder: Path) -> None:
    """The state of an ended query comes into its folder."""
    shutil.copytree(state, folder / "state", dirs_exist_ok=True)


def test_a_table_is_created_again_after_a_late_write_into_a_dropped_one(begun, tmp_path):
    folder, state = checkpoint(begun), kept_state(begun, tmp_path)
    begun.sql("DROP TABLE pairs")
    written_late(state, folder)
    begun.sql(CREATE)
    written_late(state, folder)
    append(begun, "1 41 B 4", "1 90 A 5", "2 100 A 6")
    begun.sql(CREATE)
    append(begun, "1 101 B 7", "1 200 C 8")
    begun.sql("REFRESH STREAMING TABLE pairs")
    assert lines(begun, "pairs") == ["1 3 4", "1 5 7"]
    begun.sql("DROP TABLE pairs")
    written_late(state, folder)
    begun.sql("CREATE TABLE pairs (k INT)")  # Spark's own statement


@pytest.mark.random(every=2)
@pytest.mark.parametrize("statement", ["CREATE OR REPLACE", "DROP"])
def test_the_state_of_an_earlier_query_is_not_the_state_of_the_next(begun, tmp_path, statement):
    folder, state = checkpoint(begun), kept_state(begun, tmp_path)
    begun.sql("TRUNCATE TABLE events")
    if statement == "DROP":
        begun.sql("DROP TABLE pairs")
    begun.sql("CREATE OR REPLACE TABLE events (k INT, ts TIMESTAMP, c STRING, i INT)")
    append(begun, "1 0 B 11", "1 1 C 12")
    begun.sql(CREATE.replace("CREATE", "CREATE OR REPLACE"))
    append(begun, "1 20 C 13")
    begun.sql(CREATE)
    written_late(state, folder)
    append(begun, "1 41 B 14", "1 90 C 15")
    begun.sql(CREATE)
    append(begun, "1 190 C 16")
    begun.sql(CREATE)
    assert lines(begun, "pairs") == []  # with the old row A of second 40: "1 3 14"


def test_a_checkpoint_of_an_earlier_version_of_sqlext_goes_on(events):
    events.sql(CREATE)
    folder = checkpoint(events)
    record = (folder / "sqlext.json").read_text()
    events.sql("DROP TABLE pairs")
    events.sql("CREATE TABLE pairs (k INT, f INT, l INT)")
    former = folder.parent / "stream"
    former.mkdir(parents=True)
    (former / "sqlext.json").write_text(record)
    append(events, "1 0 A 1", "1 30 C 2", "1 40 A 3")
    events.sql(CREATE)
    append(events, "1 41 B 4", "1 90 A 5")
    events.sql("REFRESH STREAMING TABLE pairs")
    assert checkpoint(events) == former and lines(events, "pairs") == ["1 3 4"]
    assert events.sql("DESCRIBE STREAMING TABLE pairs FOR KEY (k = 1)").count() > 3
    events.sql(CREATE.replace("CREATE", "CREATE OR REPLACE"))
    assert checkpoint(events) != former and not former.exists() and lines(events, "pairs") == ["1 3 4"]


def test_a_query_goes_on_in_the_folder_of_a_renamed_table(begun, tmp_path):
    begun.conf.unset("sqlext.stream.trigger")
    begun.sql(CREATE)
    former, state = checkpoint(begun), kept_state(begun, tmp_path)
    with pytest.warns(UserWarning, match="the streams into pairs were stopped to rename it"):
        begun.sql("ALTER TABLE pairs RENAME TO couples")
    written_late(state, former)
    append(begun, "1 41 B 4", "1 90 A 5")
    begun.sql("REFRESH STREAMING TABLE couples")
    assert not begun.streams.active and lines(begun, "couples") == ["1 3 4"]
    assert [row.name for row in begun.sql("SHOW STREAMING TABLES LIKE 'pairs|couples'").collect()] == ["couples"]
    begun.conf.set("sqlext.stream.trigger", "available-now")
    begun.sql(CREATE)
    begun.sql(CREATE.replace("pairs", "couples"))
    assert lines(begun, "pairs") == lines(begun, "couples") == ["1 3 4"]


@pytest.mark.random(every=2)
@pytest.mark.parametrize("created", ["CREATE OR REPLACE STREAMING TABLE", "CREATE STREAMING TABLE IF NOT EXISTS"])
def test_refresh_goes_on_however_the_table_was_created(events, created):
    append(events, "1 0 A 1", "1 1 B 2", "1 30 C 3")
    events.sql(CREATE.replace("CREATE STREAMING TABLE", created))
    events.sql("TRUNCATE TABLE events")
    append(events, "1 40 A 4", "1 41 B 5", "1 90 C 6")
    with pytest.raises(Exception, match="STREAM_FAILED"):
        events.sql("REFRESH STREAMING TABLE pairs")  # of the rows that are gone; the table is not replaced
    assert lines(events, "pairs") == ["1 1 2"]


def test_a_checkpoint_in_another_place_is_that_of_one_table(events, tmp_path):
    place = tmp_path / "place"
    create = CREATE.replace(" AS", f" OPTIONS ('checkpointLocation' = '{place}') AS", 1)
    append(events, "1 0 A 1", "1 1 B 2", "1 30 C 3")
    events.sql(create)
    events.sql(create.replace("CREATE", "CREATE OR REPLACE"))
    append(events, "1 60 A 4")
    events.sql(create)
    assert lines(events, "pairs") == ["1 1 2"]
    events.sql("DROP TABLE pairs")
    events.sql(create)
    assert lines(events, "pairs") == ["1 1 2"]
    events.sql("DROP TABLE pairs")
    next(place.iterdir()).rename(tmp_path / "former")
    with pytest.raises(sqlext.BindError, match="holds a checkpoint, from which a query would go on") as refused:
        events.sql(create.replace("place", "former"))
    assert refused.value.error_class == "SQLEXT_LEFTOVERS"
    events.sql(create.replace("place", "former").replace("CREATE", "CREATE OR REPLACE"))
    assert lines(events, "pairs") == ["1 1 2"]


def test_each_insert_into_a_table_has_its_checkpoint(events, tmp_path):
    insert = f"INSERT INTO both {PAIRS}"
    append(events, "1 0 A 1", "1 1 B 2", "1 30 C 3")
    events.sql("CREATE TABLE both (k INT, f INT, l INT)")
    for name in ("", "second"):
        with settings(events, {"sqlext.stream.name": name}):
            events.sql(insert)
            events.sql(CREATE)  # which has no other name
    location = local_path(events.sql("DESCRIBE DETAIL both").first().location)
    state = shutil.copytree(next((location / "_checkpoints").glob("insert*")) / "state", tmp_path / "state")
    folder = next((location / "_checkpoints").glob("insert*"))
    assert lines(events, "both") == ["1 1 2", "1 1 2"] and lines(events, "pairs") == ["1 1 2"]
    events.sql("DROP TABLE both")
    written_late(state, folder)
    events.sql("CREATE TABLE both (k INT, f INT, l INT)")
    written_late(state, folder)
    events.sql(insert)
    append(events, "1 60 A 4", "1 61 B 5", "1 90 C 6")
    events.sql(insert)
    assert lines(events, "both") == ["1 1 2", "1 4 5"]
