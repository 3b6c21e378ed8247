"""INTERVAL JOIN over streams: it emits what a table of the same rows gives, in whatever micro-batches they come.

J1 to J14 name the behaviours of Flink's interval join that are easy to get wrong; those of batch are in interval.txt.
"""

from __future__ import annotations

import random

import pytest

from tests.statements.cases import cases, message, settings

from .streams import START, Stream, run

pytestmark = pytest.mark.spark

LEFT = "STREAM {0} WATERMARK at DELAY OF INTERVAL 0 SECONDS AS l"
RIGHT = "STREAM {1} WATERMARK at DELAY OF INTERVAL 0 SECONDS AS r"
JOINS = {
    "l.k = r.k AND r.id % 4 > 0 AND ": ("", "FULL", "LEFT SEMI", "LEFT ANTI"),
    "": ("LEFT", "RIGHT", "FULL", "LEFT ANTI"),
}
RANGE = "r.at BETWEEN l.at - INTERVAL 5 SECONDS AND l.at + INTERVAL 10 SECONDS"
END, LAST = 100_000, 1001  # the time and the id of rows behind all others, to move the watermark


@pytest.fixture
def streams(spark, tmp_path):
    """Two streams, `l_stream` and `r_stream`."""
    # Each state store costs a commit for each micro-batch; format 3 has one store for each task, format 2 has four.
    few_stores = {"spark.sql.shuffle.partitions": "1", "spark.sql.streaming.join.stateFormatVersion": "3"}
    with settings(spark, {**few_stores, "spark.sql.codegen.wholeStage": "false"}):
        yield Stream(spark, "l_stream", tmp_path), Stream(spark, "r_stream", tmp_path)
    for name in ("l_stream", "r_stream"):
        spark.catalog.dropTempView(name)


def query(join: str, condition: str, left: str = LEFT, right: str = RIGHT, number: int = 0) -> str:
    """The ids of both rows; SEMI and ANTI have no right one."""
    other = "NULL" if join in ("LEFT SEMI", "LEFT ANTI") else "r.id"
    relations = f"{left} {join} INTERVAL JOIN {right}".format("l_stream", "r_stream")
    return f"SELECT {number} AS n, l.id AS l, {other} AS r FROM {relations} ON {condition}"


def pairs(emitted) -> list[tuple]:
    return sorted((row[1:] for row in emitted), key=str)


@pytest.mark.parametrize("key", JOINS, ids=["keys", "no key"])
def test_it_emits_what_a_table_gives_also_after_a_restart(spark, streams, tmp_path, key):
    rng = random.Random(len(key))
    sides = [sorted(rng.sample(range(120), 24)) for _ in streams]
    rows = [[(rng.choice("ab"), i, second) for i, second in enumerate(times)] for times in sides]
    text = "\nUNION ALL\n".join(query(join, key + RANGE, number=i) for i, join in enumerate(JOINS[key]))
    emitted = []
    for lo, hi in ((0, 50), (50, 90), (90, 120)):
        for stream, of_side in zip(streams, rows):
            stream.add(row for row in of_side if lo <= row[2] < hi)
        if hi > 50:  # the query has stopped in between
            emitted += run(spark.sql(text), tmp_path / "checkpoint").rows
    for end in (END, 2 * END):  # the first moves the watermark, which the micro-batch of the second takes
        for stream in streams:
            stream.add([("end", LAST, end)])
    last = run(spark.sql(text), tmp_path / "checkpoint")
    emitted = [row for row in emitted + last.rows if LAST not in row]
    left, right = (f"(SELECT * FROM parquet.`{stream.folder}` WHERE id < {LAST})" for stream in streams)
    text = text.replace(LEFT.format("l_stream"), f"{left} AS l").replace(RIGHT.format("", "r_stream"), f"{right} AS r")
    assert sorted(emitted, key=str) == sorted((tuple(row) for row in spark.sql(text).collect()), key=str)
    assert last.state <= 3 * 2 * len(JOINS[key])  # the last two rows of each side, and their copies


def test_j5_rows_behind_the_last_watermark_are_dropped_before_the_join_where_flink_joins_them(spark, streams, tmp_path):
    left, right = streams
    left.add([("a", 1, 100)]), right.add([("a", 11, 95), ("a", 12, 100)])
    left.add([("a", 2, 90), ("a", 3, 101)]), right.add([])  # behind it, but not behind that of the micro-batch before
    left.add([("a", 5, 92), ("a", 6, 102)]), right.add([])
    left.add([("a", 4, END)]), right.add([("a", 13, END)])
    for join in ("", "LEFT"):
        emitted = run(spark.sql(query(join, f"l.k = r.k AND {RANGE}")), tmp_path / f"checkpoint{join}")
        assert pairs(emitted.rows) == [(1, 11), (1, 12), (2, 11), (2, 12), (3, 12), (4, 13), (6, 12)]  # no 5


def test_j6_a_row_is_padded_when_no_partner_can_come_and_not_before(spark, streams, tmp_path):
    left, right = streams
    frame, checkpoint = spark.sql(query("LEFT", f"l.k = r.k AND {RANGE}")), tmp_path / "checkpoint"
    left.add([("a", 1, 100), ("b", 2, 100)]), right.add([("b", 11, 100)])
    left.add([("c", 3, 110)]), right.add([("c", 12, 110)])
    assert pairs(run(frame, checkpoint).rows) == [(2, 11), (3, 12)]  # at watermark 110 a partner at 110 may come
    left.add([("c", 4, 120)]), right.add([("c", 13, 111)])
    frame = spark.sql(query("LEFT", f"l.k = r.k AND {RANGE}"))
    assert pairs(run(frame, checkpoint).rows) == [(1, None), (3, 13)]


def test_j8_the_slower_stream_holds_the_watermark(spark, streams, tmp_path):
    left, right = streams
    left.add([("a", 1, 100)]), right.add([("a", 11, 100)])
    left.add([("a", 2, 500)]), right.add([("b", 12, 101)])
    left.add([]), right.add([("a", 13, 501)])
    emitted = run(spark.sql(query("LEFT", f"l.k = r.k AND {RANGE}")), tmp_path / "checkpoint")
    assert pairs(emitted.rows) == [(1, 11), (2, 13)]  # row 1 matched, row 2 waited for 13


def test_j9_padded_rows_are_not_late_for_a_join_behind(spark, streams, tmp_path):
    left, right = streams
    left.add([("a", 1, 0), ("b", 2, 1)]), right.add([("b", 11, 5), ("c", 12, 2)])
    left.add([("a", 3, 60)]), right.add([("a", 13, 61)])
    for end in (END, 2 * END, 3 * END):
        left.add([("end", LAST, end)]), right.add([("end", LAST, end)])
    third = "LEFT INTERVAL JOIN STREAM r_stream WATERMARK at DELAY OF INTERVAL 0 SECONDS AS m"
    text = query(
        "LEFT", f"l.k = r.k AND {RANGE} {third} ON m.k = l.k AND m.at BETWEEN l.at AND l.at + INTERVAL 5 SECONDS"
    )
    emitted = run(spark.sql(text.replace("r.id AS r", "m.id AS r")), tmp_path / "checkpoint").rows
    assert pairs(row for row in emitted if LAST not in row) == [(1, None), (2, 11), (3, 13)]


def test_j10_a_range_that_ends_before_it_begins_only_pads(spark, streams, tmp_path):
    left, right = streams
    left.add([("a", 1, 0)]), right.add([("a", 11, 0)])
    for end in (END, 2 * END):
        left.add([("end", LAST, end)]), right.add([("end", LAST, end)])
    for join, wanted in (("", []), ("FULL", [(1, None), (None, 11)])):
        condition = "l.k = r.k AND r.at BETWEEN l.at + INTERVAL 1 SECOND AND l.at - INTERVAL 1 SECOND"
        emitted = run(spark.sql(query(join, condition)), tmp_path / f"checkpoint{join}").rows
        assert pairs(row for row in emitted if LAST not in row) == wanted


def test_the_state_does_not_grow(spark, streams, tmp_path):
    left, right = streams
    sizes = []
    for lo in (0, 300, 600):
        for second in range(lo, lo + 300, 100):
            left.add([("a", second + i, second + i) for i in range(0, 100, 2)])
            right.add([("a", second + i, second + i) for i in range(1, 100, 2)])
        sizes.append(run(spark.sql(query("", f"l.k = r.k AND {RANGE}")), tmp_path / "checkpoint").state)
    assert sizes[0] == sizes[1] == sizes[2] <= 40


def test_j13_times_before_1970_are_late_since_spark_begins_its_watermark_there(spark, streams, tmp_path):
    left, right = streams
    before = -int(START.timestamp())
    left.add([("a", 1, before - 5), ("a", 2, before + 5)]), right.add([("a", 11, before - 5), ("a", 12, before + 5)])
    emitted = run(spark.sql(query("", f"l.k = r.k AND {RANGE}")), tmp_path / "checkpoint")
    assert pairs(emitted.rows) == [(2, 12)]


def test_processing_time_is_a_column_with_a_watermark(spark, streams, tmp_path):
    for stream in streams:
        stream.add([("a", 1, 0)])
        stream.add([("a", 2, 0)])
    timed = "(SELECT *, current_timestamp() AS p FROM STREAM {0}) WATERMARK p DELAY OF INTERVAL 0 SECONDS AS l"
    other = timed.replace("{0}", "{1}").replace("AS l", "AS r")
    text = query("", "l.k = r.k AND r.p BETWEEN l.p - INTERVAL 1 HOUR AND l.p + INTERVAL 1 HOUR", timed, other)
    assert pairs(run(spark.sql(text), tmp_path / "checkpoint").rows) == [(1, 1), (1, 2), (2, 1), (2, 2)]


def test_a_table_takes_the_place_of_a_stream(spark, streams, tmp_path):
    left, _ = streams
    spark.sql("CREATE TEMPORARY VIEW one AS SELECT 'a' AS k, 11 AS id, TIMESTAMP'2024-05-01 00:00:05' AS at")
    left.add([("a", 1, 0), ("a", 2, 1), ("b", 3, 0), ("a", 4, 20)])
    wanted = {"": [(1, 11), (2, 11)], "LEFT": [(1, 11), (2, 11), (3, None), (4, None)]}
    wanted |= {"LEFT SEMI": [(1, None), (2, None)], "LEFT ANTI": [(3, None), (4, None)]}
    for join, rows in wanted.items():
        text = query(join, f"l.k = r.k AND {RANGE}", "STREAM {0} AS l", "one AS r")
        assert pairs(run(spark.sql(text), tmp_path / f"checkpoint {join}").rows) == rows
    spark.catalog.dropTempView("one")


def test_it_runs_into_a_streaming_table_that_goes_on_where_it_stopped(spark, streams):
    left, right = streams
    left.add([("a", 1, 0)]), right.add([("a", 11, 5)])
    text = f"CREATE STREAMING TABLE interval_found AS {query('', f'l.k = r.k AND {RANGE}')}"
    for rows in ([(1, 11)], [(1, 11), (2, 11)]):
        with settings(spark, {"sqlext.stream.trigger": "available-now"}):
            spark.sql(text)
        assert pairs(tuple(row) for row in spark.table("interval_found").collect()) == rows
        left.add([("a", 2, 6)])
    spark.sql("DROP TABLE interval_found")


@pytest.mark.parametrize("case", cases("../joins/interval_stream_errors.txt"), ids=str)
def test_what_a_stream_cannot_have_is_told_with_its_place(spark, streams, case):
    assert message(lambda: spark.sql(case.step.text)).split("\n") == case.step.lines
