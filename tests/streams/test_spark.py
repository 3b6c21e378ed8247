"""Streams through Spark: files that arrive one by one, restarts, Delta tables, against the batch result."""

from __future__ import annotations

import random
import uuid
import warnings
from datetime import datetime, timedelta, timezone

import pytest

import sqlext

pytestmark = pytest.mark.spark
START = datetime(2026, 1, 1, tzinfo=timezone.utc)
KEYS, FILES = 40, 8  # each key is a case of its own: rows, disorder, portions at random

# name → clause; every one is run on all keys
CLAUSES = {
    "strict": "MEASURES MATCH_NUMBER() AS m, FIRST(i) AS f, LAST(i) AS l PATTERN (A B)",
    "greedy": "MEASURES FIRST(i) AS f, COUNT(*) AS n, array_agg(CLASSIFIER()) AS ls PATTERN (A B+ C?)",
    "rising": "MEASURES FIRST(i) AS f, LAST(i) AS l, AVG(R.v) AS a PATTERN (S R+)",
    "within": "MEASURES FIRST(i) AS f, LAST(i) AS l PATTERN (A B*) WITHIN INTERVAL 30 SECONDS",
    "rows": "MEASURES MATCH_NUMBER() AS m, CLASSIFIER() AS c ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A B+)",
    "next": "MEASURES FIRST(i) AS f, NEXT(LAST(i)) AS x AFTER MATCH SKIP TO NEXT ROW PATTERN (A B)",
}
DEFINE = "DEFINE A AS c = 'A', B AS c = 'B', C AS c = 'C'"
RISING = "DEFINE R AS v > LAST(R.v, 1) OR v > LAST(S.v)"


def query(name: str, relation: str) -> str:
    define = RISING if name == "rising" else DEFINE
    measures = CLAUSES[name].replace("MEASURES ", "MEASURES MATCH_ROWTIME() AS at, ", 1)
    return f"SELECT * FROM {relation} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts {measures} {define})"


def rows(seed: int) -> list[tuple]:
    """(k, ts, c, v, i), in the order in which they arrive: at most ten seconds late."""
    chance = random.Random(seed)
    made = []
    for k in range(KEYS):
        at = START + timedelta(seconds=chance.randint(0, 60))
        for i in range(chance.randint(1, 40)):
            at += timedelta(seconds=chance.choice([0, 1, 3, 10]))
            made.append((k, at, chance.choice("ABBC"), chance.randint(0, 9), i))
    return sorted(made, key=lambda row: row[1] + timedelta(seconds=chance.uniform(0, 9)))


@pytest.fixture(scope="module")
def arrivals(spark, tmp_path_factory):
    """A folder of files, in the order of their arrival, and the stream over it."""
    folder = tmp_path_factory.mktemp("arrivals")
    made = rows(1)
    size = -(-len(made) // FILES)
    schema = "k INT, ts TIMESTAMP, c STRING, v INT, i INT"
    for n in range(FILES):
        part = spark.createDataFrame(made[n * size : (n + 1) * size], schema).coalesce(1)
        part.write.mode("append").parquet(str(folder))
    spark.read.schema(schema).parquet(str(folder)).createOrReplaceTempView("arrived")
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    stream.createOrReplaceTempView("arriving")
    yield folder
    spark.catalog.dropTempView("arrived")
    spark.catalog.dropTempView("arriving")


def found(frame) -> list[str]:
    return sorted(str(row) for row in frame.collect())


@pytest.mark.parametrize("name", CLAUSES)
def test_a_stream_gives_the_batch_result_as_far_as_it_is_decided(spark, arrivals, tmp_path, name):
    table = f"out_{uuid.uuid4().hex[:8]}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = spark.sql(query(name, "STREAM arriving WATERMARK ts DELAY OF INTERVAL 10 SECONDS"))
    writer = frame.writeStream.format("delta").option("checkpointLocation", str(tmp_path / "checkpoint"))
    stream = writer.trigger(availableNow=True).toTable(table)
    stream.awaitTermination()
    watermark = stream.lastProgress["eventTime"]["watermark"]
    expected = spark.sql(f"SELECT * FROM ({query(name, 'arrived')}) WHERE at <= TIMESTAMP '{watermark}'")
    assert found(spark.table(table)) == found(expected)
    assert expected.count() > KEYS
    assert sqlext.state(stream).late_rows == 0
    spark.sql(f"DROP TABLE {table}")
