"""Time zones whose clocks change: a duration is the same in each of them, and a stream gives the rows of batch."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from tests.engine.joins.streams import START, Stream, run
from tests.sampling import SAMPLE, seeded
from tests.statements.cases import settings
from tests.zones import CHANGES, HOUR_S, zone_and_change

pytestmark = pytest.mark.spark
ZONE, DRAWS = "spark.sql.session.timeZone", 200
QUARTERS, LAST = (
    400,
    1001,
)  # a draw has rows in 400 quarters of an hour around a change; LAST is the id of rows after it

_MATCH = """SELECT '{n}' AS q, k, CAST(ids AS STRING) AS ids, unix_micros(t) AS t FROM {rows} MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY at MEASURES array_agg(id) AS ids, MATCH_ROWTIME() AS t {rest})"""
_EMIT = """SELECT '{n}' AS q, k, CAST(array_agg(id) AS STRING) AS ids, unix_micros(window_rowtime) AS t
  FROM {window} GROUP BY k, window_start{end} EMIT {rest}"""
_ASOF = """SELECT '{n}' AS q, l.k, concat(l.id, ' ', r.id) AS ids, 0L AS t FROM {rows} AS l
  LEFT ASOF JOIN {others} AS r MATCH_CONDITION ({rest} ON l.k = r.k"""
_NEXT = "AFTER MATCH SKIP TO NEXT ROW PATTERN"
MATCHES = [
    "PATTERN (A+) WITHIN INTERVAL 1 DAY DEFINE A AS id % 5 > 0",
    f"{_NEXT} (A !-> B) WITHIN INTERVAL 24 HOURS DEFINE A AS id % 3 = 0, B AS id % 3 = 1",
    f"{_NEXT} (A -> B) WITHIN INCLUSIVE INTERVAL '1 06:30' DAY TO MINUTE DEFINE A AS id % 3 = 0, B AS id % 3 = 1",
    "ONE ROW PER MATCH SHOW TIMEOUT MATCHES PATTERN (A -> B -> C) WITHIN INTERVAL 2 DAYS"
    " DEFINE A AS id % 3 = 0, B AS id % 3 = 1, C AS id % 7 = 2",
    f"{_NEXT} (A -> B -> C) WITHIN INTERVAL 1440 MINUTES BETWEEN ROWS DEFINE A AS id % 2 = 0, C AS id % 3 = 0",
]
WINDOWS = [
    ("TUMBLE({}, INTERVAL 1 DAY)", "EARLY EVERY INTERVAL 6 HOURS"),
    ("HOP({}, INTERVAL 12 HOURS, INTERVAL 2 DAYS)", "EVERY 2 ROWS EVICT KEEP LAST INTERVAL 1 DAY"),
    ("SESSION({keyed}, INTERVAL 1 DAY)", "AFTER WATERMARK"),
    ("CUMULATE({}, INTERVAL 1 DAY, INTERVAL 3 DAYS)", "AFTER WATERMARK"),
]
NEAREST = ["l.at >= r.at) WITHIN INTERVAL 1 DAY", "NEAREST (l.at, r.at)) WITHIN INTERVAL 24 HOURS"]


def durations(rows: str, others: str, end: int, only: tuple[str, ...] = ()) -> str:
    """The clauses with durations over some rows, or `only` those of these numbers. `end`: rows at or after this time,
    in microseconds, end the input."""
    table = f"TABLE {rows}" if rows.startswith("STREAM") else f"TABLE (SELECT * FROM {rows})"
    parts = [_MATCH.format(n=f"m{i}", rows=rows, rest=rest) for i, rest in enumerate(MATCHES)]
    for i, (window, rest) in enumerate(WINDOWS):
        data = window.replace("{keyed}", f"{table} PARTITION BY k, DESCRIPTOR(at)")
        data = data.replace("{}", f"{table}, DESCRIPTOR(at)")
        parts.append(_EMIT.format(n=f"w{i}", window=data, end=", window_end", rest=rest))
    parts += [_ASOF.format(n=f"a{i}", rows=rows, others=others, rest=rest) for i, rest in enumerate(NEAREST)]
    parts = [part for part in parts if not only or part[8:10] in only]
    return f"SELECT * FROM ({' UNION ALL '.join(f'({part})' for part in parts)}) WHERE t < {end} AND k <> 'end'"


def drawn_rows(chance: random.Random, change: int, draw: int) -> list[tuple[str, int, int]]:
    """The key, the id and the time in seconds of the rows of one draw around a change of clocks."""
    first = change - chance.randrange(QUARTERS) * HOUR_S // 4
    times = sorted(first + chance.choice((0, 0, 1, -1)) + q * HOUR_S // 4 for q in chance.sample(range(QUARTERS), 12))
    return [(f"{draw}", i, at) for i, at in enumerate(times)]


@pytest.mark.random(every=2)
@pytest.mark.parametrize("zone", CHANGES)
def test_a_duration_is_the_same_in_every_time_zone(spark, zone):
    chance = seeded(int(SAMPLE) if SAMPLE.isdigit() else 0)
    rows = [row for draw in range(DRAWS) for row in drawn_rows(chance, chance.choice(CHANGES[zone]), draw)]
    for name in ("zoned", "others"):
        some = [row for row in rows if name == "zoned" or chance.random() < 0.7]
        frame = spark.createDataFrame(some, "k STRING, id INT, s LONG")
        frame.selectExpr("k", "id", "timestamp_seconds(s) AS at").createOrReplaceTempView(name)
    text = durations("zoned", "others", 2**63 - 1)
    try:
        with settings(spark, {ZONE: "UTC"}):
            expected = sorted(map(str, spark.sql(text).collect()))
        with settings(spark, {ZONE: zone}):
            assert sorted(map(str, spark.sql(text).collect())) == expected
    finally:
        for name in ("zoned", "others"):
            spark.catalog.dropTempView(name)
    assert len(expected) > DRAWS


@pytest.mark.random(every=3)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("seed", range(6))
def test_streams_give_the_rows_of_batch_where_clocks_change(spark, tmp_path, seed):
    chance = seeded(seed if SAMPLE == "all" else int(SAMPLE) * 6 + seed)
    zone, change = zone_and_change(chance)
    streams = [Stream(spark, name, tmp_path) for name in ("zone_l", "zone_r")]
    begin = int(START.timestamp())
    sides = [
        sorted((row for key in "ab" for row in drawn_rows(chance, change, ord(key))), key=lambda row: row[2])
        for _ in streams
    ]
    first, last = change - 30 * 24 * HOUR_S, change + 30 * 24 * HOUR_S
    cuts = [first, *sorted(chance.randrange(change - 3 * 86_400, change + 5 * 86_400) for _ in range(4)), last]
    rows, others = (f"STREAM {n} WATERMARK at DELAY OF INTERVAL 0 SECONDS" for n in ("zone_l", "zone_r"))
    only = (chance.choice(("m0", "m1", "m2", "m3", "m4")), chance.choice(("w0", "w1", "w2", "w3", "a0", "a1")))
    text = durations(rows, others, (last + 1) * 1_000_000, only)
    restart, emitted = chance.choice(cuts[1:-1]), []
    few = {ZONE: zone, "spark.sql.shuffle.partitions": "1"}
    with settings(spark, few):
        for lo, hi in pairwise(cuts):
            for stream, of_side in zip(streams, sides):
                stream.add([(k, i, at - begin) for k, i, at in of_side if lo <= at < hi])
            if hi == restart:
                emitted += run(spark.sql(text), tmp_path / "checkpoint").rows
        for days in (1, 2):
            for stream in streams:
                stream.add([("end", LAST, last + days * 86_400 - begin)])
        emitted += run(spark.sql(text), tmp_path / "checkpoint").rows
        rows, others = (f"parquet.`{stream.folder}`" for stream in streams)
        batch = spark.sql(durations(rows, others, (last + 1) * 1_000_000, only)).collect()
    for name in ("zone_l", "zone_r"):
        spark.catalog.dropTempView(name)
    assert sorted(map(str, emitted)) == sorted(str(tuple(row)) for row in batch), (zone, only)
