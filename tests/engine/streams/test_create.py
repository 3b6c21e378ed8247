"""CREATE STREAMING TABLE takes what CREATE TABLE takes, and checks everything before the table and its folder exist."""

from __future__ import annotations

import pytest

import sqlext
from sqlext.catalog.warehouse import table_folder
from tests.statements.cases import settings

pytestmark = pytest.mark.spark
QUERY = "SELECT k, i FROM STREAM events"
REFUSED = [  # the statement, where its error points, the error's class
    (f"CREATE STREAMING TABLE seen AS {QUERY}", "seen", "TABLE_IS_VIEW"),
    (f"CREATE STREAMING TABLE `a-b` AS {QUERY}", "`a-b`", "TABLE_NAME"),
    (f"CREATE STREAMING TABLE nowhere.t AS {QUERY}", "nowhere.t", "SCHEMA_NOT_FOUND"),
    (f"CREATE STREAMING TABLE bad (a, b, c) AS {QUERY}", "c", "COLUMN_COUNT"),
    (f"CREATE STREAMING TABLE bad (a, b, A) AS {QUERY}", "A", "DUPLICATE_COLUMN"),
    (f"CREATE STREAMING TABLE bad (a STRING, b DATE NOT NULL) AS {QUERY}", "DATE", "DATATYPE_MISMATCH"),
    (f"CREATE STREAMING TABLE bad (a BIGNT, b) AS {QUERY}", "BIGNT", "UNSUPPORTED_DATATYPE"),
    (f"CREATE STREAMING TABLE bad (a INT PRIMARY KEY, b) AS {QUERY}", "PRIMARY KEY", "STREAM_OPTION"),
    (f"CREATE STREAMING TABLE bad USING parquet AS {QUERY}", "parquet", "STREAM_OPTION"),
    (f"CREATE STREAMING TABLE `bad/folder` AS {QUERY}", "`bad/folder`", "TABLE_NAME"),
    (f"CREATE STREAMING TABLE bad CLUSTER BY (nothing) AS {QUERY}", "bad", "UNSUPPORTED_FEATURE"),
    ("CREATE STREAMING TABLE bad AS SELECT k, NULL AS i FROM STREAM events", "bad", "VOID_COLUMN"),
    ("CREATE OR REPLACE STREAMING TABLE kept AS SELECT k, array() AS i FROM STREAM events", "kept", "VOID_COLUMN"),
    (f"CREATE OR REPLACE STREAMING TABLE kept PARTITIONED BY (nothing) AS {QUERY}", "kept", "ANALYSIS"),
    ("CREATE OR REPLACE STREAMING TABLE kept AS SELECT k AS `a b` FROM STREAM events", "kept", "DELTA_INVALID"),
]


def error(spark, text: str) -> sqlext.SqlExtError:
    with pytest.raises(sqlext.SqlExtError) as refused:
        spark.sql(text)
    return refused.value


def test_a_refused_statement_leaves_neither_table_nor_folder_and_replaces_nothing(events):
    events.sql("CREATE OR REPLACE TEMP VIEW seen AS SELECT 1 AS k, 2 AS i")
    events.sql("CREATE TABLE kept AS SELECT 1 AS k, 2 AS i")
    try:
        errors = [error(events, text) for text, _, _ in REFUSED]
    finally:
        events.catalog.dropTempView("seen")
    wrong = [
        (str(e), where) for e, (_, where, name) in zip(errors, REFUSED)
        if not e.error_class.startswith(f"SQLEXT_{name}") or e.place.text[e.place.start : e.place.stop] != where
    ]  # fmt: skip
    assert wrong == []
    assert "name them with AS: a b." in str(errors[-1])
    with settings(events, {"sqlext.stream.trigger": "bogus"}), pytest.raises(sqlext.BindError, match="is bogus"):
        events.sql(f"CREATE STREAMING TABLE bad AS {QUERY}")
    folders = {row.name for row in (table_folder(events, events.sql, ("kept",)).parent).iterdir()}
    assert not folders & {"a-b", "bad", "seen", "kept_sqlext_rehearsal"} and "kept" in folders
    assert [tuple(row) for row in events.table("kept").collect()] == [(1, 2)]


def test_a_streaming_table_has_the_columns_and_clauses_of_create_table(events, tmp_path):
    events.sql("INSERT INTO events VALUES (1, TIMESTAMP '2026-01-01', 'A', 5)")
    create = f"""CREATE STREAMING TABLE defined (key BIGINT NOT NULL COMMENT 'the key', i COMMENT 'a number')
      PARTITIONED BY (key) COMMENT 'what it is' LOCATION '{tmp_path}/defined'
      TBLPROPERTIES ('delta.appendOnly' = 'true') OPTIONS ('trigger' = 'AVAILABLE-NOW') AS {QUERY}"""
    for _ in range(2):  # the second time it resumes
        events.sql(create)
    frame = events.table("defined")
    assert frame.schema.simpleString() == "struct<key:bigint,i:int>" and [*map(tuple, frame.collect())] == [(1, 5)]
    assert [f.metadata["comment"] for f in frame.schema.fields] == ["the key", "a number"]
    detail = events.sql("DESCRIBE DETAIL defined").first()
    assert (detail.partitionColumns, detail.description) == (["key"], "what it is")
    assert detail.properties["delta.appendOnly"] == "true" and detail.location.endswith(f"{tmp_path}/defined")
    stream = "STREAM events WATERMARK ts DELAY OF INTERVAL 1 SECOND"
    events.sql(
        f"CREATE STREAMING TABLE clustered (key, ts) UPSERT KEY (key) CLUSTER BY (key) AS SELECT k, ts FROM {stream}"
    )
    assert events.sql("DESCRIBE DETAIL clustered").first().clusteringColumns == ["key"]


@pytest.mark.parametrize(
    "query",
    [
        "FROM {stream} MATCH_RECOGNIZE (ORDER BY `event.time` MEASURES LAST(i) AS i PATTERN (A B) DEFINE A AS i > 0)",
        "SELECT count(*) AS n FROM TUMBLE(TABLE {stream}, DESCRIPTOR(`event.time`), INTERVAL 1 HOUR) "
        "GROUP BY window_start, window_end EMIT EVERY 1 ROWS",
    ],
)
def test_the_watermark_column_may_have_a_dot_in_its_name(spark, query):
    spark.sql("CREATE OR REPLACE TABLE dotted AS SELECT TIMESTAMP '2026-01-01' AS `event.time`, 1 AS i")
    try:
        stream = "STREAM dotted WATERMARK `event.time` DELAY OF INTERVAL 1 SECOND"
        assert f"input {stream}" in sqlext.explain(query.format(stream=stream), spark=spark)
    finally:
        spark.sql("DROP TABLE dotted")


ROWS = """FROM STREAM events WATERMARK ts DELAY OF INTERVAL 0 SECONDS
  MATCH_RECOGNIZE (ORDER BY ts MEASURES A.k AS k, A.ts AS at, A.i AS i PATTERN (A) DEFINE A AS i > 0)"""


def test_an_insert_leaves_out_what_delta_computes_and_names_columns_in_any_order(events):
    events.sql(
        "CREATE TABLE computed (n BIGINT GENERATED ALWAYS AS IDENTITY, k INT, at TIMESTAMP, "
        "day DATE GENERATED ALWAYS AS (CAST(at AS DATE)), kind STRING NOT NULL DEFAULT 'new', note STRING, "
        "i INT NOT NULL) USING delta TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"
    )
    for name, columns, day in ("named", "(I, at, k)", 1), ("by_name", "BY NAME", 3), ("named", "(I, at, k)", 5):
        events.sql(
            f"INSERT INTO events SELECT 1, TIMESTAMP '2026-01-0{day}' + make_dt_interval(id), 'A', 5 - 5 * id "
            "FROM range(2)"
        )
        with settings(events, {"sqlext.stream.name": name, "sqlext.stream.trigger": "available-now"}):
            events.sql(f"INSERT INTO computed {columns} SELECT i, at, k {ROWS}")
    with settings(events, {"sqlext.stream.name": "named"}), pytest.raises(sqlext.BindError) as changed:
        events.sql(f"INSERT INTO computed (k, at, i) SELECT i, at, k {ROWS}")
    assert "wrote the columns i, at, k" in str(changed.value) and changed.value.error_class == "SQLEXT_CHANGED_QUERY"
    rows = events.sql("SELECT k, CAST(at AS STRING), CAST(day AS STRING), kind, note, i FROM computed").collect()
    days = [f"2026-01-0{day}" for day in (1, 1, 3, 3, 5)]
    assert sorted(map(tuple, rows)) == [(1, f"{day} 00:00:00", day, "new", None, 5) for day in days]
    assert len({row.n for row in events.table("computed").collect()}) == 5


NOT_INSERTED = [  # the INSERT after `INSERT INTO kept`, where its error points, the error's class
    (f"(k, nope) SELECT k, i {ROWS}", "nope", "UNKNOWN_COLUMN"),
    (f"(k, K) SELECT k, i {ROWS}", "K", "DUPLICATE_COLUMN"),
    (f"(k, i) SELECT k {ROWS}", "i", "COLUMN_COUNT"),
    (f"(i) SELECT i {ROWS}", "kept", "COLUMN_COUNT"),
    (f"BY NAME SELECT i, k AS key {ROWS}", "kept", "UNKNOWN_COLUMN"),
    (f"SELECT i {ROWS}", "kept", "COLUMN_COUNT"),
    (f"REPLACE WHERE k = 1 SELECT k, i {ROWS}", "REPLACE WHERE k = 1", "STREAM_INSERT"),
]


def test_an_insert_that_cannot_be_written_says_why_before_it_begins(events):
    events.sql("CREATE TABLE kept (k INT NOT NULL, i INT) USING delta")
    wrong = []
    for text, where, name in NOT_INSERTED:
        e = error(events, f"INSERT INTO kept {text}")
        found = e.place.text[e.place.start : e.place.stop]
        if (found, e.error_class) != (where, f"SQLEXT_{name}"):
            wrong.append(f"{text}: {e}")
    assert wrong == []
