"""Buckets of keys: one for each partition of the state, as many as the checkpoint began with."""

from __future__ import annotations

import warnings

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException

from sqlext.operators.stateful.operator import ROWS
from sqlext.operators.stateful.parcels import BUCKET, BUCKETS_SETTING, bucket_numbers, pack, partition_of, tables_of

PARTITIONS = "spark.sql.shuffle.partitions"
CLAUSE = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES MATCH_ROWTIME() AS at, FIRST(i) AS f, LAST(i) AS l
  PATTERN (A B+ C) DEFINE A AS i % 3 = 0, B AS i % 3 = 1, C AS i % 3 = 2)"""
KEYS = 40
TYPES = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
  MEASURES FIRST(concat('x', i)) AS s, array_agg(i) AS a, FIRST(ts) AS t, FIRST(CAST(i AS DECIMAL(20, 3))) AS d,
    FIRST(struct(i, ts)) AS st, FIRST(date(ts)) AS day, COUNT(B.*) AS n, FIRST(NULLIF(i, 3)) AS x
  PATTERN (A B+ C) DEFINE A AS i % 3 = 0, B AS i % 3 = 1, C AS i % 3 = 2)"""


@pytest.mark.parametrize("count, partitions", [(1, 1), (4, 4), (3, 8), (16, 5), (200, 200)])
def test_buckets_are_spread_evenly_over_the_partitions(count, partitions):
    numbers = bucket_numbers(count, partitions).tolist()
    assert len(set(numbers)) == count
    assert [partition_of(x, partitions) for x in numbers] == [i % partitions for i in range(count)]


@pytest.mark.spark
def test_the_partition_of_a_bucket_is_the_one_that_spark_chooses(spark):
    numbers = [0, 1, 12, 400, 1402, 2**31 - 1]
    columns = ", ".join(f"pmod(hash({x}), 7)" for x in numbers)
    assert list(spark.sql(f"SELECT {columns}").first()) == [partition_of(x, 7) for x in numbers]


def test_parcels_hold_each_row_once_with_its_key_in_one_bucket():
    rows = pa.record_batch({BUCKET: pa.array([7, -3, 7, 2, -3], pa.int32()), "x": [1, 2, 3, 4, 5]})
    empty, *parcels = pack(iter([rows, rows.slice(0, 0), rows]), buckets=4)
    assert empty.column(0).to_pylist() == bucket_numbers(4, 1).tolist() and empty.column(1).null_count == 4
    contents = [
        tables_of([p], {ROWS: pa.schema([("x", pa.int64())])})[ROWS]["x"].to_pylist()
        for b in parcels
        for p in b[1].to_pylist()
    ]
    assert sorted(contents) == [[1, 3, 1, 3], [2, 5, 2, 5], [4, 4]]


@pytest.fixture
def events(spark):
    """A table of events with a stream over it; the tables of a test are dropped."""
    before = {t.name for t in spark.catalog.listTables()}
    kept = spark.conf.get(PARTITIONS)
    spark.sql("CREATE TABLE events (k INT, ts TIMESTAMP, i INT)")
    spark.conf.set("sqlext.stream.trigger", "available-now")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield spark
    spark.conf.set(PARTITIONS, kept)
    for name in ("sqlext.stream.trigger", BUCKETS_SETTING):
        spark.conf.unset(name)
    for table in spark.catalog.listTables():
        if table.name not in before:
            spark.sql(f"DROP TABLE {table.name}")


def arrive(spark, first: int, stop: int) -> None:
    """Rows first to stop (exclusive), a second apart, each of every key."""
    spark.sql(f"""INSERT INTO events SELECT k.id, timestamp_seconds(1767225600 + i.id), i.id
      FROM range({KEYS}) AS k CROSS JOIN range({first}, {stop}) AS i""")


def run(spark, clause: str = CLAUSE) -> None:
    stream = "STREAM events WATERMARK ts DELAY OF INTERVAL 0 SECONDS"
    spark.sql(f"CREATE OR REFRESH STREAMING TABLE decided AS SELECT * FROM {stream} {clause}")


def test_a_stream_resumes_under_another_number_of_partitions(events):
    for partitions, (first, stop) in {3: (0, 4), 5: (4, 8), 1: (8, 12)}.items():
        events.conf.set(PARTITIONS, str(partitions))
        arrive(events, first, stop)
        run(events)
    result = sorted(map(tuple, events.table("decided").collect()))
    assert result == sorted(map(tuple, events.sql(f"SELECT * FROM events {CLAUSE}").collect()))
    assert len(result) == 4 * KEYS


def test_another_number_of_buckets_is_refused(events):
    events.conf.set(BUCKETS_SETTING, "4")
    arrive(events, 0, 4)
    run(events)
    events.conf.set(BUCKETS_SETTING, "3")
    arrive(events, 4, 8)
    with pytest.raises(StreamingQueryException):  # the cause, CHANGED_BUCKETS, is only in the log
        run(events)
    events.conf.set(BUCKETS_SETTING, "4")
    run(events)
    assert events.table("decided").count() == 2 * KEYS


def test_results_without_times_keep_their_types(events):
    arrive(events, 0, 7)
    run(events, TYPES)
    batch = events.sql(f"SELECT * FROM events {TYPES}")
    assert events.table("decided").schema.simpleString() == batch.schema.simpleString()
    assert sorted(map(str, events.table("decided").collect())) == sorted(map(str, batch.collect()))
    assert batch.count() == 2 * KEYS
