"""Runs each kind of statement under one master, and prints the rows of each as a line of JSON.

`python -m tests.cluster.program MASTER FOLDER [SETTINGS]`; the settings are JSON. On a cluster an executor is killed in
the middle of the stream. With `"resumes": true` it only starts the stream, or resumes that of an earlier run.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pyspark

import sqlext
from sqlext.formats.delta import DELTA
from sqlext.sessions import start

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.executor.memory": "1g",
}
TICKS = "CREATE TABLE ticks (k BIGINT, ts TIMESTAMP, i BIGINT, p BIGINT)"
MORE = """INSERT INTO ticks
  SELECT id % 5, timestamp_seconds(id), id, (id * 7919) % 101 FROM range({first}, {first} + {rows}, 1, 1)"""
ROWS, FILES = 600, 6
CLAUSE = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES {at} FIRST(i) AS f, LAST(p) AS p, COUNT(*) AS n
  PATTERN (S D+ U+) DEFINE D AS {falls}, U AS p > PREV(p))"""
FALLS, BELOW_START = "p < PREV(p)", "p < FIRST(S.p)"
QUERIES = {
    "clause": f"SELECT * FROM ticks {CLAUSE.format(at='', falls=FALLS)}",
    "run-dependent": f"SELECT * FROM ticks {CLAUSE.format(at='', falls=BELOW_START)}",
    "sqlext_match": "SELECT * FROM sqlext_match(TABLE(SELECT * FROM ticks WHERE i < 600) PARTITION BY k ORDER BY ts, "
    "pattern => 'S D+', define => 'D AS p < PREV(p)', measures => 'FIRST(i) AS f, COUNT(*) AS n')",
    "ASOF JOIN": "SELECT a.i, b.i AS j FROM ticks AS a ASOF JOIN (SELECT * FROM ticks WHERE i % 7 = 0) AS b "
    "MATCH_CONDITION (a.ts >= b.ts) ON a.k = b.k",
    "INTERVAL JOIN": "SELECT a.i, b.i AS j FROM ticks AS a INTERVAL JOIN ticks AS b "
    "ON a.k = b.k AND b.ts BETWEEN a.ts - INTERVAL 20 SECONDS AND a.ts",
    "EMIT": "SELECT k, window_start, sum(p) AS s FROM TUMBLE(TABLE ticks, DESCRIPTOR(ts), INTERVAL 5 MINUTES) "
    "GROUP BY k, window_start, window_end EMIT EARLY EVERY INTERVAL 1 MINUTE, EVERY 10 ROWS",
}
RULE = """CREATE PATTERN RULE falls ON cluster_rules FOR TABLE ticks EFFECTIVE FROM TIMESTAMP '1970-01-01 00:00:00'
  AS MATCH_RECOGNIZE (MEASURES FIRST(i) AS f, COUNT(*) AS n PATTERN (S D+ U+) DEFINE D AS {falls}, U AS p > PREV(p))"""
EACH_FILE = "WITH (maxFilesPerTrigger = 1, startingVersion = 0)"
WATERMARK = "WATERMARK ts DELAY OF INTERVAL 1 MINUTE"
TICKS_IN_FILES = f"STREAM ticks {EACH_FILE} {WATERMARK}"
STREAM = f"SELECT * FROM {TICKS_IN_FILES} " + CLAUSE.format(at="MATCH_ROWTIME() AS at,", falls=FALLS)
IDLE_TICKS = f"{TICKS_IN_FILES} IDLE AFTER INTERVAL 1 SECOND"
IDLE_STREAMS = {  # the clock decides their last rows
    "idle clause": f"SELECT * FROM {IDLE_TICKS} {CLAUSE.format(at='', falls=FALLS)}",
    "idle rules": f"SELECT k, first_time, to_json(measures) AS measures FROM {IDLE_TICKS} "
    "MATCH_RULES (PARTITION BY k ORDER BY ts RULES cluster_rules) AS m",
    "idle EMIT": "SELECT k, window_start, sum(p) AS s "
    f"FROM TUMBLE(TABLE {IDLE_TICKS}, DESCRIPTOR(ts), INTERVAL 5 MINUTES) "
    "GROUP BY k, window_start, window_end EMIT AFTER WATERMARK, EVERY 10 ROWS",
}


def main(master: str, folder: str, settings: dict[str, str]) -> None:
    spark = session(master, folder, settings)
    spark.sql(TICKS)
    for first in range(0, FILES * ROWS, ROWS):
        spark.sql(MORE.format(first=first, rows=ROWS))
    for name, query in QUERIES.items():
        show(name, spark.sql(query))
    spark.conf.set("sqlext.engine", "udtf")
    show("udtf", spark.sql(QUERIES["clause"]))
    show("stream", decided(spark, is_cluster=master.startswith(("spark:", "yarn"))))
    spark.sql(RULE.format(falls=FALLS))
    for name, query in IDLE_STREAMS.items():
        show(name, decided_by_the_clock(spark, query))
    spark.stop()


def resume(master: str, folder: str, settings: dict[str, str]) -> None:
    """Start the stream or resume it, add as many rows as main() does, and print all rows that it has decided."""
    spark = session(master, folder, settings)
    spark.sql(f"{TICKS.replace('TABLE', 'TABLE IF NOT EXISTS')} USING delta LOCATION '{folder}/ticks'")
    rows = spark.table("ticks").count()
    if rows:  # a catalog in memory does not know the tables of another file system
        spark.sql(f"CREATE TABLE IF NOT EXISTS decided USING delta LOCATION '{folder}/decided'")
    for first in range(rows, rows + FILES * ROWS, ROWS):
        spark.sql(MORE.format(first=first, rows=ROWS))
    show("stream", decided(spark, is_cluster=master.startswith(("spark:", "yarn"))))
    spark.stop()


def session(master: str, folder: str, settings: dict[str, str]) -> Any:
    """An extended session; the master may be a Connect server, which has its settings from server_settings()."""
    if not master.startswith("sc:"):
        return sqlext.session("sqlext program", master=master, warehouse=folder, **{**SETTINGS, **settings})
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(master).getOrCreate()
    for name, value in SETTINGS.items():
        if name.startswith(("spark.sql.", "sqlext.")):
            spark.conf.set(name, value)
    return sqlext.extend(spark)


def server_settings(folder: Path | str) -> dict[str, str]:
    """What a Connect server is started with."""
    delta = DELTA.package(pyspark.__version__)
    warehouse = {"spark.sql.warehouse.dir": str(folder), "spark.executor.memory": "1g", "spark.jars.packages": delta}
    return {**start.BASIC_SETTINGS, **DELTA.settings(str(folder)), **warehouse, "spark.log.level": "INFO"}


def show(name: str, rows: Any) -> None:
    """Print the rows of a DataFrame in their order as texts."""
    print(json.dumps([name, sorted(str(tuple(row)) for row in rows.collect())]), flush=True)


def decided(spark: Any, is_cluster: bool) -> Any:
    """What the stream has written at its end. An executor is killed after its third micro-batch."""
    spark.sql(f"CREATE OR REFRESH STREAMING TABLE decided AS {STREAM}")
    query = spark.streams.active[0]
    while is_cluster and query.isActive and (query.lastProgress or {"batchId": 0})["batchId"] < 2:
        time.sleep(0.1)
    if is_cluster:
        os.kill(executors(spark.conf.get("spark.app.id"))[0], signal.SIGKILL)
    query.processAllAvailable()
    query.stop()
    return spark.table("decided")


def decided_by_the_clock(spark: Any, query: str) -> Any:
    """What the stream has written once its watermark has followed the clock past the last row."""
    spark.sql("DROP TABLE IF EXISTS decided_by_the_clock")
    spark.sql(f"CREATE STREAMING TABLE decided_by_the_clock AS {query}")
    running = spark.streams.active[0]
    while running.isActive and _watermark(running) < "2000":
        time.sleep(0.1)
    running.stop()
    return spark.table("decided_by_the_clock")


def _watermark(query: Any) -> str:
    return str((query.lastProgress or {}).get("eventTime", {}).get("watermark", ""))


def executors(application: str) -> list[int]:
    """The processes of this machine that are executors of an application."""
    lines = {int(path.parent.name): words(path) for path in Path("/proc").glob("[0-9]*/cmdline")}
    return [pid for pid, line in lines.items() if application in line and "ExecutorBackend" in "".join(line)]


def words(path: Path) -> list[str]:
    try:
        return path.read_text().split("\0")
    except OSError:  # it has ended
        return []


if __name__ == "__main__":
    change = dict(json.loads(sys.argv[3])) if sys.argv[3:] else {}
    (resume if change.pop("resumes", False) else main)(sys.argv[1], sys.argv[2], change)
