"""A view is a part of the query of a streaming table: another meaning is another query, a new process is not."""

from __future__ import annotations

import json

import pytest

import sqlext
from sqlext.engine.streams.checkpoint_folders import stream_checkpoint
from sqlext.engine.views.view_plans import view_meanings
from tests.operators.match.event_rows import append, lines

pytestmark = pytest.mark.spark
CLAUSE = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(i) AS f, LAST(i) AS l
  PATTERN (A B) DEFINE A AS c = 'A', B AS c = 'B')"""
CREATE = (
    f"CREATE STREAMING TABLE pairs AS SELECT k, f, l FROM STREAM v WATERMARK ts DELAY OF INTERVAL 5 SECONDS {CLAUSE}"
)
VIEW = "CREATE OR REPLACE {} VIEW v AS SELECT * FROM {} WHERE i > 1"
SAME = [  # what a new process may write otherwise: (the view, what it reads)
    ("TEMP", "STREAM events WITH (maxFilesPerTrigger = 1)"),
    ("TEMP", "STREAM events"),
]


def refused(spark, statement: str) -> str:
    with pytest.raises(sqlext.BindError) as error:
        spark.sql(statement)
    assert error.value.error_class == "SQLEXT_CHANGED_QUERY"
    return error.value.message


@pytest.fixture
def view(events):
    """The table `pairs` over a temporary view."""
    append(events, "1 0 A 1", "1 1 B 2", "1 10 A 3", "1 11 B 4", "1 30 C 5")
    events.sql(VIEW.format(*SAME[0]))
    events.sql(CREATE)
    yield events
    for name in ("v", "w"):
        events.catalog.dropTempView(name)


def test_a_temporary_view_is_made_again_and_not_changed(view):
    for kind, source in SAME:
        view.sql(VIEW.format(kind, source))
        view.sql(CREATE)
    view.sql("ALTER TABLE events ADD COLUMN extra STRING")
    view.sql(VIEW.format(*SAME[1]))
    view.sql(CREATE)
    assert lines(view, "pairs") == ["1 3 4"]
    view.sql(VIEW.format(*SAME[1]).replace("i > 1", "i <= 60"))
    message = refused(view, CREATE)
    assert "the view v means something else" in message and "(i > 1); now: Filter (i <= 60)" in message
    view.sql("CREATE OR REPLACE TEMP VIEW v AS SELECT k, ts, c, i + 1 AS i FROM STREAM events WHERE i > 1")
    assert "(i + 1) AS i" in refused(view, CREATE)
    view.sql("CREATE OR REPLACE TEMP VIEW w AS SELECT * FROM STREAM events WHERE i > 1")
    view.sql("CREATE OR REPLACE TEMP VIEW v AS SELECT * FROM STREAM w WHERE k < 5")  # a nested view
    refused(view, CREATE)
    record = stream_checkpoint(view, ("pairs",), view.sql("DESCRIBE DETAIL pairs").first().location)
    fields = json.loads(record.record)
    record.write(json.dumps({name: value for name, value in fields.items() if name not in ("views", "spark")}))
    view.sql(CREATE)  # the record of an earlier version
    assert "the view v" in refused_after(view)


def refused_after(spark) -> str:
    spark.sql(VIEW.format(*SAME[1]))
    return refused(spark, CREATE)


def test_views_of_dataframes_and_stored_views(events):
    append(events, "1 0 A 1", "1 1 B 2", "1 30 C 5")
    frame = events.readStream.table("events")
    meanings = []
    for rows in (frame.where("i > 1"), frame.where("i > 1"), frame.where("i > 2"), frame.withColumn("i", -frame.i)):
        rows.createOrReplaceTempView("v")
        meanings.append(view_meanings(events, CREATE))
    events.catalog.dropTempView("v")
    assert meanings[0] == meanings[1] and len({str(meaning) for meaning in meanings}) == 3
    events.sql("CREATE VIEW stored AS SELECT * FROM events WHERE i > 1")
    first = view_meanings(events, "SELECT * FROM STREAM stored")
    events.sql("CREATE OR REPLACE VIEW stored AS SELECT * FROM events WHERE i > 2")
    assert first["view stored"] != view_meanings(events, "SELECT * FROM STREAM stored")["view stored"]
    events.sql("DROP VIEW stored")
    extended = f"CREATE OR REPLACE VIEW matches AS SELECT * FROM events {CLAUSE} WHERE f > 1"
    events.sql(extended)
    first = view_meanings(events, "SELECT * FROM matches")
    events.sql(extended.replace("f > 1", "f > 2"))
    assert first["view matches"] != view_meanings(events, "SELECT * FROM matches")["view matches"]
    events.sql("DROP VIEW matches")
    rand = "SELECT a.k FROM events AS a JOIN events AS b ON {} WHERE rand() < 2"
    texts = ("a.i < b.i", "a.i < b.i", "b.i < a.i")
    kinds = []
    for text in texts:
        events.sql(f"CREATE OR REPLACE TEMP VIEW w AS {rand.format(text)}")
        kinds.append(view_meanings(events, "SELECT * FROM w"))
    events.catalog.dropTempView("w")
    assert kinds[0] == kinds[1] != kinds[2]


def test_functions_of_another_body_are_another_query(events):
    create = "CREATE STREAMING TABLE counted AS SELECT in_sql(i) AS i, in_python(k) AS k FROM STREAM events"
    sql = "CREATE OR REPLACE TEMPORARY FUNCTION in_sql(x INT) RETURNS INT RETURN x + {}"
    append(events, "1 0 A 1")
    for _ in range(2):
        events.sql(sql.format(1))
        events.udf.register("in_python", lambda x: x + 1, "int")
        events.sql(create)
    events.udf.register("in_python", lambda x: x + 2, "int")
    assert "in_python means something else" in refused(events, create)
    events.udf.register("in_python", lambda x: x + 1, "int")
    events.sql(sql.format(2))
    assert "function in_sql means something else" in refused(events, create)
    events.sql(sql.format(1))
    events.sql(create)
    for name in ("in_sql", "in_python"):
        events.sql(f"DROP TEMPORARY FUNCTION {name}")


def test_an_insert_is_refused_with_a_way_that_drops_nothing(events):
    append(events, "1 0 A 1")
    events.sql("CREATE TABLE both (k INT, f INT, l INT)")
    insert = CREATE.replace("CREATE STREAMING TABLE pairs AS", "INSERT INTO both").replace("STREAM v", "STREAM events")
    events.sql(insert)
    with pytest.raises(sqlext.BindError) as error:
        events.sql(insert.replace("c = 'B'", "c = 'C'"))
    assert "SET sqlext.stream.name = a new name" in error.value.hint and "REPLACE" not in error.value.hint


def test_the_form_of_the_state_is_named_when_it_differs(events):
    setting = "spark.sql.streaming.stateStore.checkpointFormatVersion"
    events.sql("CREATE OR REPLACE TEMP VIEW v AS SELECT * FROM STREAM events")
    append(events, "1 0 A 1", "1 1 B 2", "1 30 C 5")
    events.conf.set(setting, "2")
    try:
        events.sql(CREATE)
        events.conf.set(setting, "1")
        assert f"with {setting} = 2, and now it is 1" in refused(events, CREATE)
        events.conf.set(setting, "2")
        append(events, "1 40 A 6", "1 41 B 7", "1 60 C 8")
        events.sql(CREATE)
        assert lines(events, "pairs") == ["1 1 2", "1 6 7"]
        events.conf.set(setting, "1")
        events.sql(CREATE.replace("pairs", "others"))
        events.conf.set(setting, "2")
        assert "checkpointFormatVersion = 1, and now it is 2" in refused(events, CREATE.replace("pairs", "others"))
    finally:
        events.conf.unset(setting)
        events.catalog.dropTempView("v")


def test_stream_before_a_stored_view_is_an_error_that_says_where_it_belongs(events):
    events.sql("CREATE VIEW growing AS SELECT * FROM STREAM events")
    with pytest.raises(sqlext.BindError, match="growing is a stored view") as error:
        events.sql(f"SELECT k FROM STREAM growing {CLAUSE}")
    assert error.value.error_class == "SQLEXT_NOT_A_STREAM"
    assert events.sql(f"SELECT k FROM growing WATERMARK ts DELAY OF INTERVAL 5 SECONDS {CLAUSE}").isStreaming
    events.sql("DROP VIEW growing")
