"""A row without a partner that an INTERVAL JOIN of streams announces for a key comes exactly at the watermark that is
named: Spark decides when, so Spark runs."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

import sqlext
from sqlext.catalog.checkpoint import Checkpoint
from tests.sampling import SAMPLE, seeded
from tests.statements.cases import settings

from .streams import START, Stream

pytestmark = pytest.mark.spark

RELATIONS = ("STREAM l_stream WATERMARK at DELAY OF INTERVAL 0 SECONDS AS l",
             "STREAM r_stream WATERMARK at DELAY OF INTERVAL 0 SECONDS AS r")  # fmt: skip
RANGE = "r.at BETWEEN l.at - INTERVAL 2 SECONDS AND l.at + INTERVAL 4 SECONDS"
EXCLUSIVE = "r.at > l.at - INTERVAL '1.5' SECOND AND l.at + INTERVAL '2.0004' SECOND > r.at"
TURNED = "l.at BETWEEN r.at - INTERVAL 3 SECONDS AND r.at - INTERVAL 1 SECOND"
JOINS = {
    "LEFT": ("LEFT", RANGE, 2),
    "RIGHT, bounds excluded": ("RIGHT", EXCLUSIVE, 3),
    "FULL, rows that cannot have a partner": ("FULL", f"r.id % 4 > 0 AND {TURNED}", 2),
    "ANTI": ("LEFT ANTI", RANGE, 3),
    "equal times": ("FULL", "l.at = r.at", 2),
    "the later of two ends": ("LEFT", f"{RANGE} AND r.at - INTERVAL 1 SECOND < l.at + INTERVAL 7 SECONDS", 3),
}  # the join, ON besides the keys, the format of the state of Spark's join
LAST = 1001  # the id of the rows that move the watermark
MILLI = 1000  # in microseconds; Spark's watermarks are in milliseconds


@pytest.fixture
def streams(spark, tmp_path):
    """Two streams."""
    with settings(spark, {"spark.sql.shuffle.partitions": "1", "sqlext.stream.trigger": "available-now"}):
        yield Stream(spark, "l_stream", tmp_path), Stream(spark, "r_stream", tmp_path)
    spark.sql("DROP TABLE IF EXISTS waiting")
    for name in ("l_stream", "r_stream"):
        spark.catalog.dropTempView(name)


def add_history(streams, chance: random.Random) -> None:
    """Rows of few keys and times in three micro-batches, in the last one also of a key of one stream alone."""
    for first in (0, 6, 12):
        for stream, ids in zip(streams, (0, 100)):
            seconds = [first + chance.randrange(6) + chance.choice((0, 0, 0.25, 0.0004)) for _ in range(3)]
            rows = [(chance.choice("ab"), ids + first + i, second) for i, second in enumerate(seconds)]
            stream.add([*rows, (str(stream.folder), ids + 20, 16)] if first == 12 else rows)


def move_watermark(streams, time: int) -> None:
    for stream in streams:
        stream.add([("end", LAST, (time - 1_000_000 * START.timestamp()) / 1_000_000)])


def announced(spark) -> Counter:
    """The watermark and the id of each row that is not yet there."""
    waits = sqlext.state("waiting", key="true", spark=spark).where("fact = 'not yet'")
    rows = waits.selectExpr("unix_micros(CAST(time AS TIMESTAMP)) AS time", "text", "clause").collect()
    assert {row.clause for row in rows} == {"INTERVAL JOIN in line 2"}
    shown = [
        (row.time, row.text.partition(" the result then has ")[2].removesuffix(" without a partner")) for row in rows
    ]
    return Counter((time, json.loads(row)["id"]) for time, row in shown)


def emitted(spark, text: str, checkpoint: Path) -> Counter:
    """The same of the rows without a partner that the query emits when it goes on."""
    rows: list[tuple[int, int | None, int | None]] = []
    writer = spark.sql(text).writeStream.foreachBatch(
        lambda batch, n: rows.extend((n, *row) for row in batch.collect())
    )
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    watermarks = {n: Checkpoint(spark, str(checkpoint)).batch(n).watermark_us for n, *_ in rows}
    alone = [(n, right if left is None else left) for n, left, right in rows if None in (left, right)]
    return Counter((watermarks[n], row) for n, row in alone if row != LAST)


@pytest.mark.random(every=3)
@pytest.mark.parametrize("name", JOINS)
def test_a_row_that_is_not_yet_there_comes_exactly_at_the_watermark_that_is_named(spark, streams, name):
    kind, condition, state_format = JOINS[name]
    add_history(streams, seeded(int(SAMPLE) if SAMPLE.isdigit() else 0))
    right = "CAST(NULL AS INT)" if kind == "LEFT ANTI" else "r.id"
    left_relation, right_relation = RELATIONS
    text = f"""SELECT l.id AS l, {right} AS r
      FROM {left_relation} {kind} INTERVAL JOIN {right_relation} ON l.k = r.k AND {condition}"""
    of_state = "2" if spark.version < "4.1" else str(state_format)
    with settings(spark, {"spark.sql.streaming.join.stateFormatVersion": of_state}):
        spark.sql(f"CREATE STREAMING TABLE waiting AS {text}")
    folder = Path(spark.sql("DESCRIBE DETAIL waiting").first()["location"].removeprefix("file:"))
    (checkpoint,) = (folder / "_checkpoints").iterdir()
    expected = announced(spark)
    for time in sorted({time for at, _ in expected for time in (at - MILLI, at)}):
        move_watermark(streams, time)
    move_watermark(streams, max(time for time, _ in expected) + 60_000_000)  # so that the last one is reached
    assert emitted(spark, text, checkpoint) == expected
