"""INTERVAL JOIN over streams: it emits what a table of the same rows gives, in whatever micro-batches they come.

J1 to J14 name the behaviours of Flink's interval join that are easy to get wrong; those of batch are in interval.txt.
Several joins are one query where they can be: most of the time would be starting queries.
"""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from tests.sampling import SAMPLE, sample, seeded
from tests.statements.cases import cases, message, settings
from tests.zones import CHANGES, HOUR_S, zone_and_change

from .conftest import QUICK
from .streams import START, Stream, run

pytestmark = pytest.mark.spark

LEFT = "STREAM {0} WATERMARK at DELAY OF INTERVAL 0 SECONDS AS l"
RIGHT = "STREAM {1} WATERMARK at DELAY OF INTERVAL 0 SECONDS AS r"
RANGE = "r.at BETWEEN l.at - INTERVAL 5 SECONDS AND l.at + INTERVAL 10 SECONDS"
# J1: bounds that are excluded, equal times; J3: the time is the left one; J12: NULL keys.
EXCLUSIVE = "r.at > l.at - INTERVAL 5 SECONDS AND l.at + INTERVAL 10 SECONDS > r.at"
TURNED = "l.at BETWEEN r.at - INTERVAL 5 SECONDS AND r.at + INTERVAL 10 SECONDS"
RESIDUAL = "l.k = r.k AND r.id % 4 > 0"
JOINS = {
    "keys": [
        ("", f"{RESIDUAL} AND {RANGE}"),
        ("FULL", f"{RESIDUAL} AND {EXCLUSIVE}"),
        ("LEFT SEMI", f"l.k IS NOT DISTINCT FROM r.k AND {TURNED}"),
        ("LEFT ANTI", f"{RESIDUAL} AND {RANGE}"),
        ("LEFT", "l.k = r.k AND l.at = r.at"),
    ],
    "no key": [("LEFT", EXCLUSIVE), ("RIGHT", RANGE), ("FULL", TURNED), ("LEFT ANTI", RANGE)],
}
ZONE = "spark.sql.session.timeZone"
END, LAST = 100_000, 1001  # the time and the id of rows after all others, to move the watermark


@pytest.fixture
def streams(spark, tmp_path):
    """Two streams, `l_stream` and `r_stream`."""
    # Each state store costs a commit for each micro-batch; format 3 has one store for each task, format 2 has four.
    state_format = "3" if spark.version >= "4.1" else "2"
    few_stores = {"spark.sql.shuffle.partitions": "1", "spark.sql.streaming.join.stateFormatVersion": state_format}
    with settings(spark, {**few_stores, "spark.sql.codegen.wholeStage": "false"}):
        yield Stream(spark, "l_stream", tmp_path), Stream(spark, "r_stream", tmp_path)
    for name in ("l_stream", "r_stream"):
        spark.catalog.dropTempView(name)


def query(join: str, condition: str, left: str = LEFT, right: str = RIGHT, number: int = 0) -> str:
    """The ids of both rows; SEMI and ANTI have no right one."""
    other = "NULL" if join in ("LEFT SEMI", "LEFT ANTI") else "r.id"
    relations = f"{left} {join} INTERVAL JOIN {right}".format("l_stream", "r_stream")
    return f"SELECT {number} AS n, l.id AS l, {other} AS r FROM {relations} ON {condition}"


def test_buckets_stay_as_wide_as_the_range_since_checkpoints_have_them(spark, streams):
    plan = spark.sql("EXPLAIN MATCH " + query("LEFT", RANGE)).first().plan
    assert "its width, 0:00:15, is that of the range" in plan and "div 15000000)" in plan


def pairs(emitted) -> list[tuple]:
    return sorted((row[1:] for row in emitted), key=str)


def queries(joins, **relations: str) -> str:
    """Several joins, (type, condition), as one query."""
    return "\nUNION ALL\n".join(query(*join, **relations, number=i) for i, join in enumerate(joins))


def numbered(emitted) -> list[tuple]:
    return sorted(emitted, key=str)


SEEDS = sample(range(3), 3)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", JOINS)
def test_it_emits_what_a_table_gives_in_random_micro_batches_and_over_restarts(spark, streams, tmp_path, name, seed):
    rng = random.Random(seed)
    times = [sorted(rng.sample(range(120), 24)) for _ in streams]
    rows = [[(rng.choice(["a", "b", None]), i, second) for i, second in enumerate(of_side)] for of_side in times]
    cuts = [0, *sorted(rng.sample(range(10, 110), 4)), 120]
    restarts = rng.sample(cuts[2:-1], 2 if seed else 1)
    text, emitted = queries(JOINS[name]), []
    for lo, hi in pairwise(cuts):
        for stream, of_side in zip(streams, rows):
            stream.add([*(row for row in of_side if lo <= row[2] < hi), ("a", 100 + lo, None), (None, 300 + lo, None)])
        if hi in restarts:
            emitted += run(spark.sql(text), tmp_path / "checkpoint").rows
    for end in (END, 2 * END):  # the first moves the watermark, which the micro-batch of the second takes
        for stream in streams:
            stream.add([("end", LAST, end)])
    last = run(spark.sql(text), tmp_path / "checkpoint")
    emitted = [row for row in emitted + last.rows if LAST not in row]
    left, right = (f"(SELECT * FROM parquet.`{stream.folder}` WHERE id < {LAST})" for stream in streams)
    text = text.replace(LEFT.format("l_stream"), f"{left} AS l").replace(RIGHT.format("", "r_stream"), f"{right} AS r")
    with settings(spark, QUICK):
        assert numbered(emitted) == numbered(tuple(row) for row in spark.sql(text).collect())
    assert last.states[-1] <= 3 * 2 * len(JOINS[name])  # the last two rows of each side, and their copies


# A day of Spark is one of the calendar. The streams keep rows until no partner can come, however long it is.
DAY = "r.at BETWEEN l.at AND l.at + INTERVAL 1 DAY"
DAYS = {
    "keys": [
        ("", f"l.k = r.k AND {DAY}"),
        ("LEFT", "l.k = r.k AND r.at > l.at + INTERVAL '23' HOUR AND r.at < l.at + INTERVAL '24' HOUR"),
        ("FULL", "l.k = r.k AND r.at BETWEEN l.at - INTERVAL 24 HOURS AND l.at + INTERVAL 1 HOUR"),
        ("LEFT ANTI", f"l.k = r.k AND {DAY}"),
        ("LEFT SEMI", "l.k = r.k AND l.at BETWEEN r.at - (INTERVAL 12 HOURS + INTERVAL 12 HOURS) AND r.at"),
    ],
    "no key": [
        ("LEFT", DAY),
        ("RIGHT", "r.at BETWEEN l.at + INTERVAL 1 DAY AND l.at + INTERVAL 1 DAY"),
        ("LEFT ANTI", DAY),
    ],
}


def test_a_partner_in_the_25th_hour_of_a_day_is_not_lost(spark, streams, tmp_path):
    left, right = streams
    change = CHANGES["Europe/Berlin"][1] - int(START.timestamp())
    noon = change - 15 * HOUR_S  # until noon of the next day are 25 hours
    left.add([("a", 1, noon), ("b", 2, noon)]), right.add([])
    for stream in streams:  # moves the watermark to 24.5 hours after it
        stream.add([("c", 3, noon + 24 * HOUR_S + 1800)])
        stream.add([("d", 4, noon + 24 * HOUR_S + 1801)])
    left.add([]), right.add([("a", 11, noon + 25 * HOUR_S)])
    for end in (30, 60, 90):
        left.add([("e", LAST, noon + end * HOUR_S)]), right.add([("f", LAST, noon + end * HOUR_S)])
    joins = [(join, f"l.k = r.k AND {DAY}") for join in ("", "LEFT", "LEFT ANTI")]
    with settings(spark, {ZONE: "Europe/Berlin"}):
        emitted = run(spark.sql(queries(joins)), tmp_path / "checkpoint").rows
    found = [(0, 1, 11), (0, 3, 3), (0, 4, 4), (1, 1, 11), (1, 2, None), (1, 3, 3), (1, 4, 4), (2, 2, None)]
    assert numbered(row for row in emitted if LAST not in row) == found


@pytest.mark.random(every=5)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", DAYS)
def test_days_of_the_calendar_are_those_of_a_table_where_clocks_change(spark, streams, tmp_path, name, seed):
    rng = seeded(int(SAMPLE) * 5 + seed if SAMPLE.isdigit() else seed)
    zone, change = zone_and_change(rng)
    first, quarter = change - int(START.timestamp()) - 40 * HOUR_S, HOUR_S // 4
    rows = [
        [(rng.choice("ab"), i, first + q * quarter) for i, q in enumerate(sorted(rng.sample(range(320), 30)))]
        for _ in streams
    ]
    cuts = [0, *sorted(rng.sample(range(10, 310), 5)), 320]
    restart, text, emitted = rng.choice(cuts[2:-1]), queries(DAYS[name]), []
    with settings(spark, {ZONE: zone}):
        for lo, hi in pairwise(cuts):
            for stream, of_side in zip(streams, rows):
                stream.add([row for row in of_side if lo <= (row[2] - first) // quarter < hi])
            if hi == restart:
                emitted += run(spark.sql(text), tmp_path / "checkpoint").rows
        for days in (10, 20):
            for stream in streams:
                stream.add([("end", LAST, first + days * 24 * HOUR_S)])
        last = run(spark.sql(text), tmp_path / "checkpoint")
        emitted = [row for row in emitted + last.rows if LAST not in row]
        left, right = (f"(SELECT * FROM parquet.`{stream.folder}` WHERE id < {LAST})" for stream in streams)
        text = text.replace(LEFT.format("l_stream"), f"{left} AS l")
        text = text.replace(RIGHT.format("", "r_stream"), f"{right} AS r")
        with settings(spark, QUICK):
            assert numbered(emitted) == numbered(tuple(row) for row in spark.sql(text).collect()), zone


def test_j5_j14_rows_at_the_last_watermark_are_late_and_dropped_where_flink_joins_them(spark, streams, tmp_path):
    left, right = streams
    left.add([("a", 1, 100)]), right.add([("a", 11, 95), ("a", 12, 100)])
    left.add([("a", 2, 90), ("a", 3, 101)]), right.add([])  # later than it, but not than that of the micro-batch before
    left.add([("a", 5, 92), ("a", 7, 100), ("a", 6, 101)]), right.add([])
    left.add([("a", 4, END)]), right.add([("a", 13, END)])
    emitted = run(
        spark.sql(queries([(join, f"l.k = r.k AND {RANGE}") for join in ("", "LEFT")])), tmp_path / "checkpoint"
    )
    found = [(1, 11), (1, 12), (2, 11), (2, 12), (3, 12), (4, 13), (6, 12)]  # no 5, no 7, not even padded
    assert numbered(emitted.rows) == [(n, *pair) for n in (0, 1) for pair in found]
    assert sum(emitted.late) == 2 * 2


def test_j6_j7_j11_a_row_is_padded_when_no_partner_can_come_and_not_since_the_query_stops(spark, streams, tmp_path):
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
    condition = "l.k = r.k AND r.at BETWEEN l.at + INTERVAL 1 SECOND AND l.at - INTERVAL 1 SECOND"
    emitted = run(spark.sql(queries([("", condition), ("FULL", condition)])), tmp_path / "checkpoint").rows
    assert numbered(row for row in emitted if LAST not in row) == [(1, 1, None), (1, None, 11)]


def test_the_result_of_match_recognize_is_joined_by_its_rowtime(spark, streams, tmp_path):
    left, right = streams
    left.add([("a", 1, 0), ("b", 3, 1), ("a", 2, 3)]), right.add([("a", 11, 2), ("b", 12, 4)])
    left.add([("b", 4, 30), ("c", 5, 31), ("c", 6, 32)]), right.add([("b", 13, 25), ("a", 14, 14)])
    for end in (END, 2 * END, 3 * END):
        left.add([("end", LAST, end)]), right.add([("end", LAST, end)])
    matched = f"""{LEFT.removesuffix(" AS l")} MATCH_RECOGNIZE (PARTITION BY k ORDER BY at
        MEASURES MATCH_ROWTIME() AS done, FIRST(A.id) AS id
        PATTERN (A B) DEFINE A AS id % 2 = 1, B AS id % 2 = 0) AS l"""
    condition = "l.k = r.k AND r.at BETWEEN l.done - INTERVAL 5 SECONDS AND l.done + INTERVAL 10 SECONDS"
    text = queries([(join, condition) for join in ("", "LEFT")], left=matched)
    emitted = run(spark.sql(text), tmp_path / "checkpoint").rows
    assert numbered(emitted) == [(0, 1, 11), (0, 3, 13), (1, 1, 11), (1, 3, 13), (1, 5, None)]


def test_the_state_does_not_grow(spark, streams, tmp_path):
    left, right = streams
    for second in range(0, 900, 100):
        left.add([("a", second + i, second + i) for i in range(0, 100, 2)])
        right.add([("a", second + i, second + i) for i in range(1, 100, 2)])
    states = run(spark.sql(query("", f"l.k = r.k AND {RANGE}")), tmp_path / "checkpoint").states
    settled = states[2:9]  # a micro-batch without rows may follow
    assert len(set(settled)) == 1 and settled[0] <= 2 * (100 + 40)  # those of one micro-batch, and what the range keeps


def test_j13_times_before_1970_are_late_since_spark_begins_its_watermark_there(spark, streams, tmp_path):
    left, right = streams
    before = -int(START.timestamp())
    left.add([("a", 1, before - 5), ("a", 2, before + 5), ("b", 3, before)])
    right.add([("a", 11, before - 5), ("a", 12, before + 5), ("b", 13, before)])
    left.add([("c", 4, 0)]), right.add([("c", 14, 0)])
    emitted = run(
        spark.sql(queries([(join, f"l.k = r.k AND {RANGE}") for join in ("", "LEFT")])), tmp_path / "checkpoint"
    )
    assert numbered(emitted.rows) == [(n, *pair) for n in (0, 1) for pair in [(2, 12), (4, 14)]]


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
    text = queries([(join, f"l.k = r.k AND {RANGE}") for join in wanted], left="STREAM {0} AS l", right="one AS r")
    emitted = run(spark.sql(text), tmp_path / "checkpoint").rows
    assert numbered(emitted) == [(n, *row) for n, rows in enumerate(wanted.values()) for row in rows]
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


@pytest.mark.parametrize("case", cases("../engine/joins/interval_stream_errors.txt"), ids=str)
def test_what_a_stream_cannot_have_is_told_with_its_place(spark, streams, case):
    assert message(lambda: spark.sql(case.step.text)).split("\n") == case.step.lines
