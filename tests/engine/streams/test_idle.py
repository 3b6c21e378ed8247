"""IDLE AFTER: a stream whose last row is an hour old emits all that it has decided, and no backlog is late.

Each run of `availableNow` goes on from the checkpoint of the one before, so the heartbeat resumes each time, too.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlext
from tests.statements.cases import cases, message, settings

SCHEMA = pa.schema([("k", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("v", pa.int64())])
SOURCE = "STREAM calls WATERMARK ts DELAY OF INTERVAL 1 SECOND IDLE AFTER INTERVAL 1 MINUTE"
QUERIES = {
    "firing": f"""SELECT calls.k, sum(v) AS n FROM TUMBLE(TABLE {SOURCE}, DESCRIPTOR(calls.ts), INTERVAL '1' SECOND)
      WHERE v > 1 GROUP BY calls.k, window_start, window_end EMIT AFTER WATERMARK""",
    "match": f"""SELECT * FROM {SOURCE} AS c MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES COUNT(*) AS n
      PATTERN (A+) WITHIN INTERVAL 30 MINUTES DEFINE A AS v > 1)""",
    "join": f"""SELECT l.k, r.v AS n FROM {SOURCE} AS l LEFT INTERVAL JOIN {SOURCE} AS r
      ON l.k = r.k AND r.v < 0 AND r.ts BETWEEN l.ts AND l.ts + INTERVAL 1 MINUTE""",
}
SEVERAL_BATCHES = "spark.sql.streaming.triggerAvailableNowWrapper.enabled"


@pytest.fixture
def folder(spark, tmp_path):
    """The folder of the files of `calls`, one for each micro-batch."""
    folder = tmp_path / "calls"
    folder.mkdir()
    put(folder, 0)
    calls = spark.readStream.schema("k STRING, ts TIMESTAMP, v BIGINT").option("maxFilesPerTrigger", 1)
    calls.parquet(str(folder)).createOrReplaceTempView("calls")
    with settings(spark, {"spark.sql.shuffle.partitions": "1", SEVERAL_BATCHES: "true"}):
        yield folder
    spark.catalog.dropTempView("calls")


def put(folder, number: int, *rows: tuple[str, datetime, int]) -> None:
    columns = zip(*rows) if rows else ([], [], [])
    path = folder / f"{number}.parquet"
    pq.write_table(pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA)], SCHEMA), path)
    os.utime(path, (number + 1, number + 1))


def test_what_is_decided_is_emitted_an_hour_after_the_last_row_and_no_backlog_is_late(spark, folder, tmp_path):
    past = datetime.now(timezone.utc).replace(second=0, microsecond=0) - timedelta(hours=1)
    late = [("a", past, 5), ("a", past + timedelta(minutes=5), 6), ("b", past + timedelta(minutes=6), 7)]
    queries = (f"SELECT '{name}' AS name, * FROM ({query})" for name, query in QUERIES.items())
    assert "follows the clock" in sqlext.explain(f"SELECT * FROM {SOURCE}", spark=spark)
    frame, emitted = spark.sql("\nUNION ALL\n".join(queries)), []
    for run in range(8):
        if run < 2:  # in the second run the heartbeat has beats, which the backlog of two files must hold back
            for number, row in enumerate(late[:1] if run == 0 else late[1:]):
                put(folder, 1 + run + number, row)
        writer = frame.writeStream.foreachBatch(lambda rows, _: emitted.extend(map(tuple, rows.collect())))
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        writer.start().awaitTermination()
        if len(emitted) >= 8:
            break
    assert sorted(emitted, key=str) == [
        ("firing", "a", 5), ("firing", "a", 6), ("firing", "b", 7),
        ("join", "a", None), ("join", "a", None), ("join", "b", None),
        ("match", "a", 2), ("match", "b", 1),
    ]  # fmt: skip


@pytest.mark.parametrize("case", cases("../engine/streams/stream_errors.txt"), ids=str)
def test_what_a_stream_cannot_have_is_told_with_its_place(spark, folder, case):
    lines = case.step.lines
    assert message(lambda: spark.sql(case.step.text)).split("\n")[: len(lines)] == lines
