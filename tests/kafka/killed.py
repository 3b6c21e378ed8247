"""Kill the driver of streams between topics and tables again and again; no row is lost, and none is doubled.

`python -m tests.kafka.killed FOLDER [KILLS [PIPELINE …]]` makes a folder, starts a broker, and kills twenty
times by default, while it fills the tables of all PIPELINES or of those that are named; test_killed.py kills once, with
one of them. It prints a table: the rows of each, and how many are lost or doubled in comparison with the batch query
over the same records, up to the watermark.

| pipeline | from | to |
|---|---|---|
| matches | a topic | MATCH_RECOGNIZE → Delta, or Iceberg with SQLEXT_TEST_FORMAT=iceberg |
| latest | a topic | EMIT → UPSERT KEY → Delta |
| pairs | two topics | INTERVAL JOIN → Delta |
| alerts | a topic | MATCH_RULES → a topic, whose consumer takes each record once |

The topic has four partitions, of which one is idle; records are out of order by up to a minute, and some are
tombstones. Each micro-batch reads ROWS_A_BATCH of them.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path

from pyspark.errors import StreamingQueryException

from tests.engine.streams.killed import AB, CLAUSE, FIRINGS, RISES, RULE, TIMES, kill_and_drive
from tests.jvm import OPTIONS, SUBMIT_OPTIONS

from .broker import Record, broker
from .jars import connector_jars

ROWS_A_BATCH = 300
STREAM = "STREAM {topic} WATERMARK ts DELAY OF INTERVAL 5 MINUTES"
MATCHES = f"SELECT * FROM {{events}} {CLAUSE}"
PAIRS = """SELECT l.i, r.i AS j FROM {events} AS l INTERVAL JOIN {others} AS r
  ON l.k + 1 = r.k AND r.ts BETWEEN l.ts - INTERVAL 1 MINUTE AND l.ts + INTERVAL 1 MINUTE"""
ALERTS = """SELECT rule_name, rule_version, match_number, k, first_time, last_time, to_json(measures) AS measures
  FROM {events} MATCH_RULES (PARTITION BY k ORDER BY ts RULES rules) AS m"""
INTO = "CREATE OR REFRESH STREAMING TABLE"
PIPELINES = {
    "matches": f"{INTO} matches AS {MATCHES}",
    "latest": f"{INTO} latest UPSERT KEY (k, window_start) AS {FIRINGS.format(rows='{events}', times='')}",
    "pairs": f"{INTO} pairs AS {PAIRS}",
    "alerts": f"INSERT INTO alerts {ALERTS}",
}
EXPECTED = {  # over all records, up to the watermark `passed`
    "matches": f"SELECT * FROM ({MATCHES}) WHERE at <= {{passed}}",
    "latest": f"""SELECT r.* FROM (SELECT max_by(struct(k, window_start, s, c), struct(at, n)) AS r
      FROM ({FIRINGS.format(rows="{events}", times=TIMES)}) WHERE at <= {{passed}} GROUP BY k, window_start)""",
    "pairs": PAIRS,
    "alerts": f"SELECT * FROM ({ALERTS}) WHERE last_time <= {{passed}}",
}
ONCE = """SELECT rule_name, rule_version, match_number, k, first_time, last_time, measures FROM (
    SELECT *, row_number() OVER (PARTITION BY map_from_entries(headers)['sqlext-id'] ORDER BY partition, offset) AS n
      FROM alerts) WHERE n = 1"""  # what a consumer keeps
EVENTS = "k INT, ts TIMESTAMP, c STRING, i INT"
ALERT = (
    "rule_name STRING, rule_version BIGINT, match_number BIGINT, k INT, first_time TIMESTAMP, last_time TIMESTAMP, "
    "measures STRING"
)
TABLE = """CREATE TABLE IF NOT EXISTS {name} ({columns}) USING kafka OPTIONS ('kafka.bootstrap.servers' = '{address}',
  topic = '{name}', 'value.format' = 'json', {more})"""


def records(batches: int, seed: int) -> Iterator[Record]:
    """Rows of 40 keys, two seconds apart, of which each is written up to a minute too early or late."""
    chance = random.Random(seed)
    rows = range(batches * ROWS_A_BATCH)
    for i in sorted(rows, key=lambda i: i + chance.uniform(-15, 15)):
        at = 1_767_225_600 + 2 * i
        value = {"k": i % 40, "ts": f"{_time(at)}", "c": chance.choice("ABBC"), "i": i}
        yield Record(value=value, key=str(i % 40), partition=i % 40 % 3, timestamp_ms=1000 * at)
        if i % 97 == 0:
            yield Record(key=str(i % 40), partition=i % 40 % 3, timestamp_ms=1000 * at)


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat()


def session(folder: Path, start: int = 0):
    import sqlext

    os.environ[SUBMIT_OPTIONS] = OPTIONS
    settings = {"spark.sql.shuffle.partitions": str(3 - start % 3), "spark.sql.session.timeZone": "UTC"}
    settings["spark.jars"] = connector_jars()
    tables = os.environ.get("SQLEXT_TEST_FORMAT") or "delta"
    return sqlext.session("killed", f"local[{1 + start % 2}]", folder / "tables", format=tables, **settings)


def drive(folder: Path, start: int, pipelines: Sequence[str]) -> None:
    """Run the streams until all records are read, and compare their tables, in the process that is killed. `start`: how
    often it was killed."""
    spark = session(folder, start)
    address, more = (folder / "address").read_text(), f"maxOffsetsPerTrigger = {ROWS_A_BATCH}"
    for name, columns in (("events", EVENTS), ("others", EVENTS), ("alerts", ALERT)):
        keyed = "'key.columns' = 'k'" if name == "alerts" else more
        spark.sql(TABLE.format(name=name, columns=columns, address=address, more=keyed))
    if "alerts" in pipelines and not spark.catalog.tableExists("rules"):
        for name, clause in (("pair", AB), ("rises", RISES)):
            spark.sql(RULE.format(name=name, when="", clause=clause).replace("arriving", "events"))
    (folder / f"start_{start}").touch()
    streams = {name: STREAM.format(topic=name) for name in ("events", "others")}
    turn = start % len(pipelines)  # another one begins each time
    for pipeline in (*pipelines[turn:], *pipelines[:turn]):
        spark.sql(PIPELINES[pipeline].format(**streams))
    try:
        for query in spark.streams.active:
            query.processAllAvailable()
    except StreamingQueryException as error:
        # The connector of Spark 4.1 ends a query that repeats a micro-batch, when it is complete (apache/spark#55236).
        if "Option.get()" not in str(error):
            raise
        os.kill(os.getpid(), signal.SIGKILL)
    lines = [compare(spark, pipeline) for pipeline in pipelines]
    (folder / "done").write_text("\n".join(lines))


def compare(spark, pipeline: str) -> str:
    """A line about a pipeline: its name, its rows, those that are lost, and those that are doubled."""
    passed = spark.sql("SELECT max(ts) - INTERVAL 5 MINUTES AS w FROM events").first().w
    rows = {"events": "events", "others": "others", "passed": f"TIMESTAMP '{passed}'"}
    batch = spark.sql(EXPECTED[pipeline].format(**rows))
    written = spark.sql(ONCE) if pipeline == "alerts" else spark.table(pipeline)
    expected, result = (Counter(map(tuple, frame.collect())) for frame in (batch, written))
    again = spark.table("alerts").count() - result.total() if pipeline == "alerts" else 0
    lost, doubled = (expected - result).total(), (result - expected).total()
    return f"{pipeline:10} {result.total():8,} {lost:8} {doubled:8} {again:15}"


def main(folder: Path, kills: int, pipelines: Sequence[str]) -> int:
    """Kill, print the table, and return 1 if a row is lost or doubled."""
    folder.mkdir(parents=True)
    with broker() as kafka:
        (folder / "address").write_text(kafka.address)
        for seed, topic in enumerate(("events", "others", "alerts")):
            kafka.create(topic, partitions=4)
            if topic != "alerts":
                kafka.produce(topic, records(kills + 4, seed))
        killed = kill_and_drive(folder, kills, pipelines, ("-m", "tests.kafka.killed"))
    lines = (folder / "done").read_text().splitlines()
    print(
        f"{killed} kills\n{'pipeline':10} {'rows':>8} {'lost':>8} {'doubled':>8} {'written again':>15}",
        *lines,
        sep="\n",
    )
    return int(any(word != "0" for line in lines for word in line.split()[2:4]))


if __name__ == "__main__":
    place = Path(sys.argv[1]).absolute()
    if sys.argv[2:3] == ["drive"]:
        drive(place, int(sys.argv[3]), sys.argv[4:])
    else:
        sys.exit(main(place, int((sys.argv[2:] or ["20"])[0]), sys.argv[3:] or list(PIPELINES)))
