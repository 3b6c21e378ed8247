"""Kill the driver of streams into Delta tables again and again; no row is lost, and none is doubled.

`python tests/streams/killed.py FOLDER [KILLS]` begins with an empty folder and kills twenty times by default;
test_killed.py kills twice. The driver (Python and JVM) is killed by SIGKILL and started again, with another number of
cores and of shuffle partitions. It runs three queries at once, each of which reads one file in each micro-batch: one
appends matches, one appends firings, and one keeps the last firing of each window by UPSERT KEY. Every other time the
driver is killed while it resumes, otherwise at a random moment after its first complete micro-batch.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
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
TABLES = {
    "decided": "AS " + MATCHES.format(rows=STREAM),
    "firings": "AS " + FIRINGS.format(rows=STREAM, times=TIMES),
    "latest": "UPSERT KEY (k, window_start) AS " + FIRINGS.format(rows=STREAM, times=""),
}
EXPECTED = {  # over the rows that arrived, up to the watermark `passed`
    "decided": f"SELECT * FROM ({MATCHES}) WHERE at <= {{passed}}",
    "firings": f"SELECT * FROM ({FIRINGS}) WHERE at <= {{passed}}",
    "latest": f"""SELECT r.* FROM (SELECT max_by(struct(k, window_start, s, c), struct(at, n)) AS r
      FROM ({FIRINGS}) WHERE at <= {{passed}} GROUP BY k, window_start)""",
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
    return sqlext.session("killed", master=f"local[{1 + start % 2}]", warehouse=folder / "tables", **settings)


def drive(folder: Path, start: int) -> None:
    """Run the streams until all files are read, in the process that is killed. `start`: how often it was killed."""
    spark = session(folder, start)
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    source.createOrReplaceTempView("arriving")
    (folder / f"start_{start}").touch()
    for table, query in TABLES.items():
        spark.sql(f"CREATE OR REFRESH STREAMING TABLE {table} {query}")
    for query in spark.streams.active:
        query.processAllAvailable()
    (folder / "done").touch()


def progress(folder: Path) -> int:
    """How many micro-batches of all tables are complete."""
    return len(list(folder.glob("tables/*/_checkpoints/stream/commits/[0-9]*")))


def kill_and_drive(folder: Path, kills: int) -> int:
    """Kill the driver at random moments, and return how often it was killed. Raises RuntimeError if it fails."""
    chance, killed = random.Random(3), 0
    while not (folder / "done").exists():
        command = [sys.executable, __file__, str(folder), "drive", str(killed)]
        driver = subprocess.Popen(command, start_new_session=True)
        wait_for_the_moment(folder, driver, killed, chance, is_last=killed == kills)
        if driver.poll() is None:
            os.killpg(driver.pid, signal.SIGKILL)
            killed += 1
        if driver.wait() not in (0, -signal.SIGKILL):
            raise RuntimeError(f"start {killed} of the driver failed")
    return killed


def wait_for_the_moment(folder: Path, driver: subprocess.Popen, start: int, chance, is_last: bool) -> None:
    """Wait until the driver is to be killed or has ended; the last driver runs to its end."""
    before, longest_s = progress(folder), 1.0
    while driver.poll() is None:
        if not is_last and start % 2 and (folder / f"start_{start}").exists():
            longest_s = 6.0  # the time in which it resumes
            break
        if not is_last and progress(folder) > before:
            break
        time.sleep(0.05)
    with contextlib.suppress(subprocess.TimeoutExpired):
        driver.wait(None if is_last else chance.uniform(0, longest_s))


def check(folder: Path) -> int:
    """Return the number of rows of all tables, which are the batch results up to the watermark."""
    spark = session(folder)
    spark.read.schema(SCHEMA).parquet(str(folder / "in")).createOrReplaceTempView("arrived")
    passed = spark.sql("SELECT max(ts) - INTERVAL 1 SECONDS AS w FROM arrived").first().w
    count = 0
    for table, query in EXPECTED.items():
        batch = spark.sql(query.format(rows="arrived", times=TIMES, passed=f"TIMESTAMP '{passed}'"))
        result, expected = (sorted(map(tuple, rows.collect())) for rows in (spark.table(table), batch))
        assert result == expected, (table, len(result), len(expected))
        count += len(result)
    return count


if __name__ == "__main__":
    place = Path(sys.argv[1]).absolute()
    if sys.argv[2:3] == ["drive"]:
        drive(place, int(sys.argv[3]))
    else:
        kills = int((sys.argv[2:] or ["20"])[0])
        write_files(place, files=2 * kills + 2)
        count = kill_and_drive(place, kills)
        print(f"{count} kills, {check(place)} rows as in batch")
