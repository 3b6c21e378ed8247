"""ASOF JOIN where the left relation is a stream: what Spark runs of it; its rows are tested in tests/operators/asof."""

from __future__ import annotations

from itertools import chain

import pytest

import sqlext
from tests.statements.cases import message, settings

from .streams import Stream, run

pytestmark = pytest.mark.spark
WATERMARK = "WATERMARK at DELAY OF INTERVAL 2 SECONDS"
# (key, id, seconds) of the left and of the right stream, by file
LEFTS = [
    [("a", 1, 10), ("b", 2, 11), (None, 3, 12)],
    [("a", 4, 30), ("a", 5, 20)],
    [("c", 6, 5), ("b", 7, 33)],  # 6 is late
    [("z", 8, 100)],
]
RIGHTS = [
    [("a", 12, 10), ("a", 11, 10), ("b", 13, 1)],
    [("a", 14, 25), ("a", 15, 19), (None, 16, 12)],
    [("b", 17, 34), ("b", 18, 32)],
    [("z", 19, 100)],
]


@pytest.fixture
def streams(spark, tmp_path):
    with settings(spark, {"spark.sql.shuffle.partitions": "2"}):
        yield [Stream(spark, name, tmp_path) for name in ("asof_l", "asof_r")]
    for name in ("asof_l", "asof_r"):
        spark.catalog.dropTempView(name)


def test_streams_give_the_rows_of_batch_and_resume(spark, streams, tmp_path):
    text = f"""SELECT l.id, r.id AS partner, r.k FROM STREAM asof_l {WATERMARK} AS l
        LEFT ASOF JOIN STREAM asof_r {WATERMARK} AS r MATCH_CONDITION (l.at >= r.at) WITHIN INTERVAL 15 SECONDS
        ON l.k = r.k AND l.id <> 2"""
    explained = spark.sql(f"EXPLAIN MATCH {text}").first()[0]
    assert "nearest row by l.at >= r.at within INTERVAL 15 SECONDS, keys l.k = r.k" in explained
    assert "the last one of each key" in explained
    frame, rows = spark.sql(text), []
    for left, right in zip(LEFTS, RIGHTS):
        for stream, part in zip(streams, (left, right)):
            stream.add(part)
        rows += run(frame, tmp_path / "checkpoint").rows
    expected = {(1, 11, "a"), (2, None, None), (3, None, None), (5, 15, "a"), (4, 14, "a"), (7, 18, "b")}
    assert len(rows) == len(expected)
    assert set(rows) == expected


def test_a_star_shows_the_columns_of_both_relations(spark, streams):
    text = f"""SELECT * FROM STREAM asof_l {WATERMARK} AS l ASOF JOIN STREAM asof_r {WATERMARK} AS r
        MATCH_CONDITION (NEAREST (l.at, r.at)) WITHIN INTERVAL 1 DAY ON l.k <=> r.k"""
    assert spark.sql(text).columns == ["k", "id", "at"] * 2
    assert spark.sql(f"SELECT b, f FROM ({text}) AS j (a, b, c, d, e, f)").columns == ["b", "f"]


# (condition, further condition in ON)
CONDITIONS = (
    ("(l.at >= r.at)", ""), ("(l.at > r.at) WITHIN INTERVAL 5 SECONDS", ""), ("(l.at <= r.at)", ""),
    ("(r.at > l.at)", ""), ("(NEAREST (l.at, r.at))", ""), ("(NEAREST (l.at, r.at)) WITHIN INTERVAL 1 SECOND", ""),
    ("(l.at >= r.at)", "AND r.at >= l.at - INTERVAL 3 SECONDS"),
    ("(r.at >= l.at)", "AND l.at + INTERVAL 5 SECONDS > r.at"),
)  # fmt: skip


def test_a_stream_joins_a_table_as_it_joins_in_batch(spark, streams, tmp_path):
    lefts, rights = streams
    lefts.add(chain(*LEFTS))
    rights.add(chain(*RIGHTS))
    for stream, name in zip(streams, ("asof_rows", "asof_table")):
        spark.read.parquet(str(stream.folder)).createOrReplaceTempView(name)
    results = []
    for left in ("STREAM asof_l", "asof_rows"):
        results.append(spark.sql("\nUNION ALL\n".join(
            f"SELECT {i} AS n, l.id, r.id AS partner FROM {left} AS l LEFT ASOF JOIN asof_table AS r"
            f" MATCH_CONDITION {condition} ON l.k = r.k AND l.id <> 2 {bound}"
            for i, (condition, bound) in enumerate(CONDITIONS)
        )))  # fmt: skip
    of_stream, batch = run(results[0], tmp_path / "checkpoint").rows, map(tuple, results[1].collect())
    assert sorted(of_stream, key=str) == sorted(batch, key=str)
    assert len(of_stream) == len(CONDITIONS) * 8
    for name in ("asof_rows", "asof_table"):
        spark.catalog.dropTempView(name)


def test_a_streaming_table_keeps_its_condition_and_writes_late_rows_of_both_sides(spark, streams):
    for left, right in zip(LEFTS, RIGHTS):
        for stream, rows in zip(streams, (left, right)):
            stream.add(rows)
    create = f"""CREATE STREAMING TABLE asof_streaming AS SELECT l.id, r.id AS partner
        FROM STREAM asof_l {WATERMARK} AS l ASOF JOIN STREAM asof_r {WATERMARK} AS r
        MATCH_CONDITION (l.at >= r.at) ON l.k = r.k"""
    with settings(spark, {"sqlext.stream.trigger": "available-now", "sqlext.late_rows": "asof_late"}):
        spark.sql(create)
        rows = spark.table("asof_streaming").collect()
        assert sorted(map(tuple, rows)) == [(1, 11), (2, 13), (4, 14), (5, 15), (7, 18)]
        late = spark.sql("SELECT get_json_object(row, '$.id') AS id, get_json_object(row, '$.k') AS k FROM asof_late")
        assert [tuple(row) for row in late.collect()] == [("6", "c")]
        assert message(lambda: spark.sql(create.replace(">=", ">"))).startswith("SQLEXT_CHANGED_QUERY")
    for name in ("asof_streaming", "asof_late"):
        spark.sql(f"DROP TABLE {name}")


REFUSED = {
    "(l.at <= r.at) ON l.k = r.k": "SQLEXT_STREAM_RANGE",
    "(NEAREST (l.at, r.at)) ON l.k = r.k": "SQLEXT_STREAM_RANGE",
    "(l.at >= r.at) USING (k)": "SQLEXT_STREAM_JOIN: ASOF JOIN of streams takes ON",
    "(l.at >= r.at) ON l.k = r.k AND r.at > l.at - INTERVAL 1 HOUR": "SQLEXT_STREAM_JOIN: on streams WITHIN",
    "(l.id >= r.id) ON l.k = r.k": "SQLEXT_WATERMARK: l.id has no watermark",
}


@pytest.mark.parametrize("criteria", REFUSED)
def test_what_no_watermark_decides_is_refused(spark, streams, criteria):
    text = f"""SELECT * FROM STREAM asof_l {WATERMARK} AS l ASOF JOIN STREAM asof_r {WATERMARK} AS r
        MATCH_CONDITION {criteria}"""
    assert message(lambda: spark.sql(text)).startswith(REFUSED[criteria])


def test_a_key_that_workers_cannot_compare_is_marked(spark, streams):
    text = f"""SELECT * FROM STREAM asof_l {WATERMARK} AS l ASOF JOIN STREAM asof_r {WATERMARK} AS r
        MATCH_CONDITION (l.at >= r.at) ON l.k = r.k AND r.id = CAST(l.id AS DOUBLE)"""
    with pytest.raises(sqlext.UnsupportedError, match="cannot compare keys of type double") as error:
        spark.sql(text)
    assert error.value.place.written == "CAST(l.id AS DOUBLE)"


def test_a_table_does_not_join_a_stream(spark, streams):
    text = f"""SELECT * FROM (SELECT 1 AS k, TIMESTAMP '2024-05-01 10:00:00' AS at) AS l
        ASOF JOIN STREAM asof_r {WATERMARK} AS r MATCH_CONDITION (l.at >= r.at)"""
    assert message(lambda: spark.sql(text)).startswith("SQLEXT_STREAM_JOIN: the left relation is a table")
