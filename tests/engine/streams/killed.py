"""Kill the driver of streams into tables again and again; no row is lost, and none is doubled.

`python tests/engine/streams/killed.py FOLDER [KILLS [TABLE …]]` begins with an empty folder and kills twenty times by
default, while it fills all TABLES or those that are named; test_killed.py kills once. The driver (Python and JVM) is
killed by SIGKILL and started again, with another number of cores and of shuffle partitions. It runs five queries at
once, each of which reads one file in each micro-batch: one appends matches, one appends firings, one keeps the last
firing of each window by UPSERT KEY, one appends rows and their nearest rows by ASOF JOIN, and one matches pattern
rules, which the driver adds, changes, disables, enables and drops meanwhile. Every other time the driver is killed
while it resumes, otherwise at a random moment after its first complete micro-batch. SQLEXT_TEST_FORMAT=iceberg fills
tables of Iceberg.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROWS_A_FILE = 300
SCHEMA = "k INT, ts TIMESTAMP, c STRING, i INT"
CLAUSE = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
  MEASURES MATCH_ROWTIME() AS at, MATCH_NUMBER() AS m, FIRST(i) AS f, LAST(i) AS l
  PATTERN (A B+) DEFINE A AS c = 'A', B AS c = 'B')"""
STREAM = "STREAM arriving WATERMARK ts DELAY OF INTERVAL 1 SECONDS"
MATCHES = "SELECT * FROM {rows} " + CLAUSE
FIRINGS = """SELECT k, window_start, sum(i) AS s, max(c) AS c {times}
  FROM TUMBLE(TABLE {rows}, DESCRIPTOR(ts), INTERVAL 5 MINUTES)
 GROUP BY k, window_start, window_end EMIT EARLY EVERY INTERVAL 1 MINUTE, EVERY 2 ROWS"""
TIMES = ", window_firing AS n, window_rowtime AS at"
NEAREST = """SELECT l.i, l.ts, r.i AS nearest FROM {rows} AS l LEFT ASOF JOIN {rows} AS r
  MATCH_CONDITION (NEAREST (l.ts, r.ts)) WITHIN INTERVAL 3 MINUTES ON l.k + 1 = r.k"""
ALERTS = """SELECT rule_name, rule_version, match_number, k, first_time, last_time, to_json(measures) AS measures
  FROM {rows} MATCH_RULES (PARTITION BY k ORDER BY ts RULES rules) AS m"""
# Each statement adds a version, so their number tells which one is next. All of these matches end with their last rows.
RULE = "CREATE OR REPLACE PATTERN RULE {name} ON rules FOR TABLE arriving {when} AS MATCH_RECOGNIZE ({clause})"
AB, AC = (
    "MEASURES FIRST(i) AS f, LAST(i) AS l PATTERN (A -> Z) WITHIN INTERVAL 10 MINUTES "
    f"DEFINE A AS c = 'A', Z AS c = '{x}'"
    for x in "BC"
)
RISES = "MEASURES SUM(i) AS s PATTERN (A B{2}) DEFINE B AS c <> PREV(c)"
RULE_CHANGES = (
    RULE.format(name="pair", when="", clause=AB),
    RULE.format(name="rises", when="", clause=RISES),
    RULE.format(name="pair", when="", clause=AC),
    "ALTER PATTERN RULE pair ON rules DISABLE",
    RULE.format(name="late", when="EFFECTIVE FROM TIMESTAMP '2026-01-01 01:00:00'", clause=AB),
    "ALTER PATTERN RULE pair ON rules ENABLE",
    "DROP PATTERN RULE rises ON rules",
    "DROP PATTERN RULE late ON rules",
)
TABLES = {
    "decided": "AS " + MATCHES.format(rows=STREAM),
    "firings": "AS " + FIRINGS.format(rows=STREAM, times=TIMES),
    "latest": "UPSERT KEY (k, window_start) AS " + FIRINGS.format(rows=STREAM, times=""),
    "nearest": "AS " + NEAREST.format(rows=STREAM),
    "alerts": "AS " + ALERTS.format(rows=STREAM),
}
EXPECTED = {  # over the rows that arrived, up to the watermark `passed`
    "decided": f"SELECT * FROM ({MATCHES}) WHERE at <= {{passed}}",
    "firings": f"SELECT * FROM ({FIRINGS}) WHERE at <= {{passed}}",
    "latest": f"""SELECT r.* FROM (SELECT max_by(struct(k, window_start, s, c), struct(at, n)) AS r
      FROM ({FIRINGS}) WHERE at <= {{passed}} GROUP BY k, window_start)""",
    "nearest": f"SELECT * FROM ({NEAREST}) WHERE ts + INTERVAL 3 MINUTES <= {{passed}}",
    "alerts": f"SELECT * FROM ({ALERTS}) WHERE last_time <= {{passed}}",
}


def write_files(folder: Path, files: int) -> None:
    """Rows of 40 keys, two seconds apart, in files whose modification times are in their order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    chance = random.Random(7)
    (folder / "in").mkdir(parents=True)
    for n in range(files):
        at = range(n * ROWS_A_FILE, (n + 1) * ROWS_A_FILE)
        table = pa.table(
            {
                "k": pa.array([i % 40 for i in at], pa.int32()),
                "ts": pa.array([1_767_225_600_000_000 + 2_000_000 * i for i in at], pa.timestamp("us", "UTC")),
                "c": [chance.choice("ABBC") for _ in at],
                "i": pa.array(list(at), pa.int32()),
            }
        )
        path = folder / "in" / f"{n:03}.parquet"
        pq.write_table(table, path)
        os.utime(path, (n, n))


def session(folder: Path, start: int = 0):
    import sqlext

    settings = {"spark.sql.shuffle.partitions": str(3 - start % 3), "spark.sql.session.timeZone": "UTC"}
    tables = os.environ.get("SQLEXT_TEST_FORMAT", "delta")
    master, warehouse = f"local[{1 + start % 2}]", folder / "tables"
    return sqlext.session("killed", master, warehouse, format=tables, **settings)


def drive(folder: Path, start: int, tables: Sequence[str]) -> None:
    """Run the streams until all files are read, and check their tables, in the process that is killed. `start`: how
    often it was killed."""
    spark = session(folder, start)
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    source.createOrReplaceTempView("arriving")
    if "alerts" in tables and not spark.catalog.tableExists("rules"):
        spark.sql(RULE_CHANGES[0])
    (folder / f"start_{start}").touch()
    for table in tables:
        spark.sql(f"CREATE OR REFRESH STREAMING TABLE {table} {TABLES[table]}")
    files = len(list((folder / "in").iterdir()))
    while "alerts" in tables and commits(folder, "alerts") < files:
        versions = spark.table("rules").count()
        spark.sql(RULE_CHANGES[versions % len(RULE_CHANGES)])
    for query in spark.streams.active:
        query.processAllAvailable()
    if "alerts" in tables:
        wait_for_reports(spark)
    (folder / "done").write_text(f"{check(spark, folder, tables)} rows as in batch")


def wait_for_reports(spark) -> None:
    """Wait until the log has all versions of rules: it is written after the micro-batches. Raises TimeoutError."""
    for _ in range(300):
        if spark.table("rules_log").count() == spark.table("rules").count():
            return
        time.sleep(0.2)
    raise TimeoutError("a version of a rule was not taken up")


def progress(folder: Path) -> int:
    """How many micro-batches of all tables are complete."""
    return len(list(folder.glob("tables/**/commits/[0-9]*")))


def commits(folder: Path, table: str) -> int:
    """How many micro-batches of a table are complete."""
    return len(list(folder.glob(f"tables/**/{table}/_checkpoints/stream*/commits/[0-9]*")))


def kill_and_drive(folder: Path, kills: int, tables: Sequence[str], program: Sequence[str] = (__file__,)) -> int:
    """Kill the driver at random moments, and return how often it was killed. Raises RuntimeError if it fails.

    `program`: the words after `python` that call a program as this one, whose checkpoints are below `folder`/tables.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    chance, killed = random.Random(3), 0
    while not (folder / "done").exists():
        command = [sys.executable, *program, str(folder), "drive", str(killed), *tables]
        driver = subprocess.Popen(command, start_new_session=True)
        try:
            wait_for_the_moment(folder, driver, killed, chance, is_last=killed == kills)
        finally:  # also where this process is ended
            if driver.poll() is None:
                os.killpg(driver.pid, signal.SIGKILL)
                killed += 1
        if driver.wait() not in (0, -signal.SIGKILL):
            raise RuntimeError(f"start {killed} of the driver failed")
    return killed


def micro_batch_s(folder: Path) -> float:
    """The time between the last two micro-batches, one to six seconds."""
    times = sorted(path.stat().st_mtime for path in folder.glob("tables/**/commits/[0-9]*"))
    return min(6.0, max([1.0, *(later - earlier for earlier, later in itertools.pairwise(times[-2:]))]))


def wait_for_the_moment(folder: Path, driver: subprocess.Popen, start: int, chance, is_last: bool) -> None:
    """Wait until the driver is to be killed or has ended; the last driver runs to its end."""
    before, longest_s = progress(folder), 1.0
    while driver.poll() is None:
        if not is_last and start % 2 and (folder / f"start_{start}").exists():
            longest_s = 6.0  # the time in which it resumes
            break
        if not is_last and progress(folder) > before:
            longest_s = micro_batch_s(folder)  # so that it is killed in any part of the next one
            break
        time.sleep(0.05)
    with contextlib.suppress(subprocess.TimeoutExpired):
        driver.wait(None if is_last else chance.uniform(0, longest_s))


def check(spark, folder: Path, tables: Sequence[str]) -> int:
    """Return the number of rows of all tables, which are the batch results up to the watermark."""
    spark.read.schema(SCHEMA).parquet(str(folder / "in")).createOrReplaceTempView("arrived")
    passed = spark.sql("SELECT max(ts) - INTERVAL 1 SECONDS AS w FROM arrived").first().w
    count = 0
    for table in tables:
        batch = spark.sql(EXPECTED[table].format(rows="arrived", times=TIMES, passed=f"TIMESTAMP '{passed}'"))
        result, expected = (sorted(map(tuple, rows.collect())) for rows in (spark.table(table), batch))
        assert result == expected, (table, len(result), len(expected))
        count += len(result)
    return count


if __name__ == "__main__":
    place = Path(sys.argv[1]).absolute()
    if sys.argv[2:3] == ["drive"]:
        drive(place, int(sys.argv[3]), sys.argv[4:])
    else:
        kills = int((sys.argv[2:] or ["20"])[0])
        names = sys.argv[3:] or list(TABLES)
        write_files(place, files=2 * kills + 2)
        count = kill_and_drive(place, kills, names)
        print(f"{count} kills, {(place / 'done').read_text()}")
