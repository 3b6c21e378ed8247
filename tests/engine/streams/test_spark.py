"""Streams through Spark against the batch result: files arrive one by one, and the query stops and resumes."""

from __future__ import annotations

import os
import random
import warnings
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlext
from sqlext.engine.match.run_batch import unsorted_query
from sqlext.engine.match.run_stream import kept_columns
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.statements.plan_statement import plan_statement
from sqlext.operators.match.stream_plan import StreamMatchPlan
from sqlext.pattern.strategy import choose_on_stream
from sqlext.rewriter.lowering.operator_plan import stream_plan
from sqlext.sessions.hook import unhooked
from sqlext.spark.versions import arrow_schema

pytestmark = pytest.mark.spark
START = datetime(2026, 1, 1, tzinfo=timezone.utc)
KEYS, FILES = 50, 4  # each key is a case of its own: rows, disorder, portions at random
SCHEMA = "k INT, ts TIMESTAMP, c STRING, v INT, i INT"

LETTERS = "A AS c = 'A', B AS c = 'B'"
# name → measures, the rest of the clause, DEFINE; one query runs them all
CLAUSES = {
    "dependent": ("FIRST(i) AS f, COUNT(R.*) AS n", "PATTERN (S R+)", "R AS v >= FIRST(S.v) AND COUNT(*) < 5"),
    "within": ("FIRST(i) AS f, LAST(i) AS l", "PATTERN (A B*) WITHIN INTERVAL 30 SECONDS", LETTERS),
    "rows": (
        "MATCH_NUMBER() AS m, CLASSIFIER() AS c2",
        "ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A B+)",
        LETTERS,
    ),
    "followed": (
        "FIRST(i) AS f, LAST(i) AS l, COUNT(*) AS n",
        "PATTERN (A (-> B)+ !-> N -> C) WITHIN INTERVAL 30 SECONDS",
        f"{LETTERS}, C AS c = 'C', N AS v = 9",
    ),
    "absent": (
        "FIRST(i) AS f, LAST(i) AS l",
        "PATTERN (A B* !-> C) WITHIN INTERVAL 10 SECONDS",
        f"{LETTERS}, C AS c = 'C'",
    ),
    "every": (
        "MATCH_NUMBER() AS m, FIRST(i) AS f, LAST(i) AS l, COUNT(*) AS n, MATCH_TIMED_OUT() AS o",
        "ONE ROW PER MATCH SHOW TIMEOUT MATCHES AFTER MATCH NO SKIP PATTERN (A -> B ->> C) WITHIN INTERVAL 10 SECONDS",
        f"{LETTERS}, C AS c = 'C'",
    ),
    "out": (
        "MATCH_NUMBER() AS m, FIRST(i) AS f, LAST(i) AS l, MATCH_TIMED_OUT() AS o",
        "ONE ROW PER MATCH SHOW TIMEOUT MATCHES PATTERN (A -> B -> C) WITHIN INTERVAL 5 SECONDS BETWEEN ROWS",
        f"{LETTERS}, C AS c = 'C'",
    ),
    "skipped": (
        "MATCH_NUMBER() AS m",
        "ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A -> C)",
        "A AS c = 'A', C AS c = 'C'",
    ),
    "next": ("FIRST(i) AS f, NEXT(LAST(i)) AS x", "AFTER MATCH SKIP TO NEXT ROW PATTERN (A B)", LETTERS),
}
STREAM = "STREAM arriving WATERMARK ts DELAY OF INTERVAL 10 SECONDS"


def query(relation: str) -> str:
    """A query of all clauses: for each result row the name of the clause, its time and all columns."""
    parts = []
    for name, (measures, pattern, define) in CLAUSES.items():
        clause = f"PARTITION BY k ORDER BY ts MEASURES MATCH_ROWTIME() AS at, {measures} {pattern} DEFINE {define}"
        parts.append(
            f"SELECT '{name}' AS name, at, to_json(struct(*)) AS row FROM {relation} MATCH_RECOGNIZE ({clause})"
        )
    return "\nUNION ALL\n".join(parts)


def rows(seed: int) -> list[dict]:
    """The rows in the order in which they arrive, at most ten seconds late."""
    chance = random.Random(seed)
    events = []
    for k in range(KEYS):
        at = START + timedelta(seconds=chance.randint(0, 60))
        for i in range(chance.randint(1, 40)):
            at += timedelta(seconds=chance.choice([0, 1, 3, 10]))
            events.append({"k": k, "ts": at, "c": chance.choice("ABBCX"), "v": chance.randint(0, 9), "i": i})
    events.sort(key=lambda row: row["ts"] + timedelta(seconds=chance.uniform(0, 9)))
    last = max(row["ts"] for row in events) + timedelta(seconds=1)
    return [*events, {"k": 0, "ts": last, "c": "X", "v": 0, "i": 99}]  # some clauses cannot use it


def arrive(folder, events: list[dict], number: int) -> None:
    kinds = [
        ("k", pa.int32()),
        ("ts", pa.timestamp("us", "UTC")),
        ("c", pa.string()),
        ("v", pa.int32()),
        ("i", pa.int32()),
    ]
    path = folder / f"{number}.parquet"
    pq.write_table(pa.Table.from_pylist(events, pa.schema(kinds)), path)
    os.utime(path, (number, number))


@pytest.fixture(scope="module")
def views(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("arrivals")
    arrive(folder, [], 0)
    spark.read.schema(SCHEMA).parquet(str(folder)).createOrReplaceTempView("arrived")
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))
    stream.createOrReplaceTempView("arriving")
    spark.conf.set("sqlext.stream.buckets", "4")
    yield folder
    spark.conf.unset("sqlext.stream.buckets")
    spark.catalog.dropTempView("arrived")
    spark.catalog.dropTempView("arriving")


def result_rows(frame) -> list[str]:
    return sorted(str(tuple(row)) for row in frame.collect())


def test_a_stream_returns_the_batch_result_as_far_as_it_is_decided(spark, views, tmp_path):
    events = rows(1)
    size = -(-len(events) // FILES)
    for first in (0, FILES // 2):
        for n in range(first, first + FILES // 2):
            arrive(views, events[n * size : (n + 1) * size], 1 + n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = spark.sql(query(STREAM))
        writer = frame.writeStream.format("delta").option("checkpointLocation", str(tmp_path / "checkpoint"))
        stream = writer.trigger(availableNow=True).toTable("decided_rows")
        stream.awaitTermination()
        watermark = stream.lastProgress["eventTime"]["watermark"]
        highest = max(row["ts"] for row in events[: (first + FILES // 2) * size])
        assert datetime.fromisoformat(watermark.replace("Z", "+00:00")) == highest - timedelta(seconds=10)
        spark.catalog.refreshTable("arrived")
        expected = spark.sql(f"SELECT * FROM ({query('arrived')}) WHERE at <= TIMESTAMP '{watermark}'")
        assert result_rows(spark.table("decided_rows")) == result_rows(expected)
    assert {row.name for row in expected.groupBy("name").count().where(f"count > {KEYS}").collect()} == set(CLAUSES)
    assert sqlext.state(stream).late_rows == 0
    spark.sql("DROP TABLE decided_rows")


@pytest.mark.parametrize("time", ["MATCH_ROWTIME() AS at, ", ""])
def test_explain_names_the_engine_that_decides(spark, views, time):
    clauses = [f"PARTITION BY k ORDER BY ts MEASURES {time}{m} {p} DEFINE {d}" for m, p, d in CLAUSES.values()]
    text = "\nUNION ALL\n".join(
        f"SELECT to_json(struct(*)) AS row FROM {STREAM} MATCH_RECOGNIZE ({clause})" for clause in clauses
    )
    plan = plan_statement(SqlCall(spark=spark, sql=unhooked(spark), text=text))
    named = [section.partition(":")[0] for section in plan.explanation.split("== Strategy ==\n")[1:]]
    streams = [operator_plan(plan, clause.physical) for clause in plan.relations.values()]
    assert named == [stream.matcher for stream in streams]
    assert named == [choose_on_stream(stream.worker.task, stream.facts)[0] for stream in streams]
    assert len(set(named)) > 3


def operator_plan(plan, clause) -> StreamMatchPlan:
    """What the operator of a planned clause gets."""
    rows = plan.queries.run(unsorted_query(clause.plan))
    return stream_plan(clause.plan, arrow_schema(kept_columns(rows.schema)))
