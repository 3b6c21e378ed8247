"""INTERVAL JOIN … AGGREGATE of two streams: what Spark runs of it, and the rows of a table at each watermark.

Its step is tested with many more histories in tests/operators/interval."""

from __future__ import annotations

import random
from datetime import timedelta
from itertools import pairwise

import pytest

import sqlext
from tests.sampling import seeded
from tests.statements.cases import message, settings
from tests.zones import HOUR_S, zone_and_change

from .conftest import QUICK
from .streams import START, Stream, run

pytestmark = pytest.mark.spark
WATERMARK = "WATERMARK at DELAY OF INTERVAL 0 SECONDS"
ZONE = "spark.sql.session.timeZone"
RANGE = "r.at BETWEEN l.at - INTERVAL 5 SECONDS AND l.at + INTERVAL 10 SECONDS"
END, LAST = 100_000, 1001  # the time and the id of rows after all others, to move the watermark


@pytest.fixture
def streams(spark, tmp_path):
    """Two streams, `agg_l` and `agg_r`."""
    with settings(spark, {"spark.sql.shuffle.partitions": "1", "spark.sql.codegen.wholeStage": "false"}):
        yield Stream(spark, "agg_l", tmp_path), Stream(spark, "agg_r", tmp_path)
    for name in ("agg_l", "agg_r"):
        spark.catalog.dropTempView(name)


def joined(rest: str, left: str = "LEFT") -> str:
    return f"STREAM agg_l {WATERMARK} AS l {left} INTERVAL JOIN STREAM agg_r {WATERMARK} AS r ON {rest}"


def over_tables(text: str, streams) -> str:
    """The statement over tables of the same rows, without those that only move the watermark."""
    for stream, name in zip(streams, ("agg_l", "agg_r")):
        table = f"(SELECT * FROM parquet.`{stream.folder}` WHERE id < {LAST})"
        text = text.replace(f"STREAM {name} {WATERMARK}", table)
    return text


def ordered(rows) -> list[tuple]:
    return sorted(map(tuple, rows), key=str)


# random joins and rows

ENDS = ("l.at", "l.at - INTERVAL 7 SECONDS", "l.at - INTERVAL '2' SECOND", "l.at + INTERVAL 3 SECONDS")
UPPER = (*ENDS, "l.at + INTERVAL 20 SECONDS", "timestampadd(SECOND, l.id % 9, l.at)", "nullif(l.at, l.at)")
KEYS = ("l.k = r.k AND ", "l.k <=> r.k AND ", "r.k = l.k AND l.id % 3 = r.id % 3 AND ", "")
CONDITIONS = ("", "", " AND l.id % 4 > 0", " AND r.id % 5 > 0 AND l.k > ''")
CALLS = (
    "count(*)", "count(r.k)", "sum(r.id)", "avg(r.id)", "max(r.id * 2)", "min(r.at)", "max_by(r.k, r.id)",
    "first(r.id)", "last(r.id)", "last(r.k) IGNORE NULLS", "collect_list(r.id)", "count(DISTINCT r.k)", "median(r.id)",
    "bool_or(r.id % 2 = 0)", "sum(r.id) FILTER (WHERE r.id % 2 = 0)", "count(*) FILTER (WHERE r.k = 'a')",
)  # fmt: skip


def random_join(rng: random.Random, number: int) -> str:
    lower, upper = rng.choice(ENDS), rng.choice(UPPER)
    exclusive = rng.choice(("", "", "=")), rng.choice(("", "", "="))
    range_ = f"r.at >{exclusive[0]} {lower} AND r.at <{exclusive[1]} {upper}"
    if rng.random() < 0.4:
        range_ = f"r.at BETWEEN {lower} AND {upper}"
    calls = rng.sample(CALLS, rng.randrange(1, 4))
    named = ", ".join(f"{call} AS a{i}" for i, call in enumerate(calls))
    shown = ", ".join(f"a{i}" for i in range(len(calls)))
    tail = rng.choice((" INCLUDING PREVAILING", " INCLUDING PREVAILING", "", ""))
    pairs = rng.choice(("", " AND l.id < r.id", " AND (l.k > r.k OR r.id < l.id)")) if not tail else ""
    rest = f"{rng.choice(KEYS)}{range_}{rng.choice(CONDITIONS)}{pairs} AGGREGATE ({named}){tail}"
    value = f"CAST(struct({shown}) AS STRING) AS v"
    return f"SELECT {number} AS n, l.id, l.k, {value} FROM {joined(rest, rng.choice(('LEFT', 'LEFT', '')))}"


def random_rows(rng: random.Random, seconds: int, number: int) -> list[tuple]:
    times = sorted(rng.choices(range(1, seconds), k=number))
    return [(rng.choice(["a", "b", None]), i, second) for i, second in enumerate(times)]


@pytest.mark.random(every=4)
@pytest.mark.parametrize("seed", range(8))
def test_it_emits_what_tables_give_in_random_micro_batches_and_over_restarts(spark, streams, tmp_path, seed):
    rng = seeded(seed)
    text = "\nUNION ALL\n".join(random_join(rng, i) for i in range(4))
    rows = [random_rows(rng, 120, 40) for _ in streams]
    cuts = [0, *sorted(rng.sample(range(10, 110), 3)), 120]
    restart, emitted = rng.choice(cuts[2:-1]), []
    for lo, hi in pairwise(cuts):
        for stream, of_side in zip(streams, rows):
            part = [row for row in of_side if lo <= row[2] < hi]
            stream.add(rng.sample(part, len(part)))
        if hi == restart:
            emitted += run(spark.sql(text), tmp_path / "checkpoint").rows
    for end in (END, 2 * END):  # the first moves the watermark, which the micro-batch of the second takes
        for stream in streams:
            stream.add([("end", LAST, end)])
    emitted += run(spark.sql(text), tmp_path / "checkpoint").rows
    with settings(spark, QUICK):
        expected = ordered(spark.sql(over_tables(text, streams)).collect())
    assert ordered(row for row in emitted if row[1] != LAST) == expected, text


@pytest.mark.random(every=4)
@pytest.mark.parametrize("seed", range(4))
def test_days_of_the_calendar_are_those_of_a_table_where_clocks_change(spark, streams, tmp_path, seed):
    rng = seeded(seed)
    zone, change = zone_and_change(rng)
    first, quarter = change - int(START.timestamp()) - 40 * HOUR_S, HOUR_S // 4
    days = ("l.at - INTERVAL 1 DAY AND l.at", "l.at AND l.at + INTERVAL 24 HOURS", "l.at - INTERVAL 24 HOURS AND l.at")
    text = "\nUNION ALL\n".join(
        f"SELECT {i} AS n, l.id, v FROM "
        + joined(f"l.k = r.k AND r.at BETWEEN {of} AGGREGATE (collect_list(r.id) AS v)")
        for i, of in enumerate(days)
    )
    rows = [[(rng.choice("ab"), i, first + q * quarter) for i, q in enumerate(sorted(rng.sample(range(320), 60)))]
            for _ in streams]  # fmt: skip
    cuts = [0, *sorted(rng.sample(range(10, 310), 4)), 320]
    with settings(spark, {ZONE: zone}):
        for lo, hi in pairwise(cuts):
            for stream, of_side in zip(streams, rows):
                stream.add([row for row in of_side if lo <= (row[2] - first) // quarter < hi])
        for more in (10, 20):
            for stream in streams:
                stream.add([("end", LAST, first + more * 24 * HOUR_S)])
        emitted = run(spark.sql(text), tmp_path / "checkpoint").rows
        with settings(spark, QUICK):
            expected = ordered(spark.sql(over_tables(text, streams)).collect())
    assert ordered(row for row in emitted if row[1] != LAST) == expected, zone


# in order: what a watermark decides, failures, late rows, changed queries

LEFTS = [[("a", 1, 100), ("b", 2, 100)], [("a", 3, 130), (None, 4, 131)], [("a", 5, 90), ("c", 6, 500)]]
RIGHTS = [[("a", 11, 99), ("b", 12, 80)], [("a", 13, 129), ("b", 14, 112)], [("a", 15, 91), ("c", 16, 500)]]


def test_a_left_row_comes_when_its_range_has_passed(spark, streams, tmp_path):
    text = f"SELECT * FROM {joined(f'l.k = r.k AND {RANGE} AGGREGATE (count(*) AS n) INCLUDING PREVAILING')}"
    assert spark.sql(text).columns == ["k", "id", "at", "n"]
    explained = spark.sql(f"EXPLAIN MATCH {text}").first()[0]
    assert "a left row is emitted when the watermark has passed it and its range" in explained
    frames = []
    for left, right in zip(LEFTS, RIGHTS):
        for stream, rows in zip(streams, (left, right)):
            stream.add(rows)
        frames.append(ordered(run(spark.sql(f"SELECT id, n FROM ({text})"), tmp_path / "checkpoint").rows))
    # the watermark of the first run is 99, of the second one 129, of the third one 500; row 6 waits for 510
    assert frames == [[], [(1, 1), (2, 1)], [(3, 2), (4, 0)]]


def test_a_value_that_fails_is_null_and_a_failure_and_late_rows_are_kept(spark, streams):
    for left, right in zip(LEFTS, RIGHTS):
        for stream, rows in zip(streams, (left, right)):
            stream.add(rows)
    query = joined(f"l.k = r.k AND {RANGE} AGGREGATE (max(100 DIV (r.id - 11)) AS m, count(*) AS n)")
    create = f"CREATE STREAMING TABLE agg_facts AS SELECT l.id, m, n FROM {query}"
    tables = {"sqlext.late_rows": "agg_late", "sqlext.failed_rows": "agg_failed"}
    with settings(spark, {"sqlext.stream.trigger": "available-now", **tables}):
        spark.sql(create)
        assert ordered(spark.table("agg_facts").collect()) == [(1, None, 1), (2, None, 0), (3, 50, 1), (4, None, 0)]
        late = spark.sql("SELECT get_json_object(row, '$.id') AS id FROM agg_late").collect()
        assert sorted(row.id for row in late) == ["15", "5"]
        errors = sorted(row.error.partition(":")[0] for row in spark.table("agg_failed").collect())
        assert errors == ["SQLEXT_ARGUMENT_FAILED", "cannot be computed"]
        for other in (create.replace("count(*)", "count(r.k)"), create.replace("- INTERVAL 5", "- INTERVAL 6")):
            assert message(lambda text=other: spark.sql(text)).startswith("SQLEXT_CHANGED_QUERY")
    for name in ("agg_facts", "agg_late", "agg_failed"):
        spark.sql(f"DROP TABLE {name}")


def test_for_key_says_what_is_kept_and_what_comes(spark, streams):
    for left, right in zip(LEFTS[:2], RIGHTS[:2]):
        for stream, rows in zip(streams, (left, right)):
            stream.add(rows)
    query = joined(f"l.k = r.k AND {RANGE} AGGREGATE (count(*) AS n, max(r.id) AS m) INCLUDING PREVAILING")
    with settings(spark, {"sqlext.stream.trigger": "available-now"}):
        spark.sql(f"CREATE STREAMING TABLE agg_kept AS SELECT l.id, n, m FROM {query}")
        described = spark.sql("DESCRIBE STREAMING TABLE agg_kept FOR KEY (k = 'a')").collect()
    spark.sql("DROP TABLE agg_kept")
    texts = [(row.fact, row.text.replace("2024-05-01 00:", "").replace("2024-05-01T00:", "")) for row in described]
    assert texts[2:] == [
        ("row", '{"at":"01:39.000Z","id":11}; right row, kept because a left row may need it'),
        ("row", '{"at":"02:09.000Z","id":13}; right row, kept because a left row may need it'),
        ("row", '{"k":"a","id":3,"at":"02:10.000Z"}; left row, decided when the watermark reaches 02:20: its range is '
         "02:05 to 02:20"),
        ("not yet", "the watermark is 02:09 and needs 02:20: if no further row of the key comes, the result then has "
         '{"k":"a","id":3,"at":"02:10.000Z","n":2,"m":13}'),
    ]  # fmt: skip


def test_python_takes_streams(spark, streams, tmp_path):
    left, right = (spark.table(name).withWatermark("at", "0 seconds") for name in ("agg_l", "agg_r"))
    rows = sqlext.interval_join(
        left,
        right,
        on="at",
        by="k",
        lower=-timedelta(seconds=5),
        upper="INTERVAL 10 SECONDS",
        aggregate={"n": "count(*)"},
    )
    for of_left, of_right in zip(LEFTS, RIGHTS):
        for stream, of_side in zip(streams, (of_left, of_right)):
            stream.add(of_side)
    emitted = run(rows.select("id", "n"), tmp_path / "checkpoint").rows
    assert ordered(emitted) == [(1, 1), (2, 0), (3, 1), (4, 0)]
