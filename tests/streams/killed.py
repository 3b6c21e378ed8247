"""A stream into a Delta table whose driver is killed again and again: no row is lost, none is doubled.

`python tests/streams/killed.py FOLDER [KILLS]` begins with an empty folder; without a number it kills twenty times,
test_killed.py does so twice. The driver is another process, killed by SIGKILL at a random moment and started again; it
reads one file in a micro-batch.
"""

from __future__ import annotations

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


def write_files(folder: Path, files: int) -> None:
    """Rows of 40 keys, two seconds apart, in files whose times of change are in their order."""
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


def session(folder: Path):
    import sqlext

    settings = {"spark.sql.shuffle.partitions": "2", "sqlext.stream.buckets": "4", "spark.sql.session.timeZone": "UTC"}
    return sqlext.session("killed", master="local[2]", warehouse=folder / "tables", **settings)


def drive(folder: Path) -> None:
    """Run the stream until all files are read; this process is the one that is killed."""
    spark = session(folder)
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    source.createOrReplaceTempView("arriving")
    spark.conf.set("sqlext.stream.trigger", "available-now")
    stream = "STREAM arriving WATERMARK ts DELAY OF INTERVAL 1 SECONDS"
    spark.sql(f"CREATE OR REFRESH STREAMING TABLE found AS SELECT * FROM {stream} {CLAUSE}")
    (folder / "done").touch()


def progress(folder: Path) -> int:
    return len(list(folder.glob("tables/found/_checkpoints/stream/commits/[0-9]*")))


def kill_and_drive(folder: Path, kills: int) -> int:
    """Kill the driver in micro-batches, at random moments; how many were killed before the files were read."""
    chance, killed = random.Random(3), 0
    while not (folder / "done").exists():
        driver = subprocess.Popen([sys.executable, __file__, str(folder), "drive"])
        before = progress(folder)
        while killed < kills and driver.poll() is None and progress(folder) == before:
            time.sleep(0.05)
        if killed < kills and driver.poll() is None:
            time.sleep(chance.uniform(0, 2))
            driver.send_signal(signal.SIGKILL)
            killed += 1
        driver.wait()
    return killed


def check(folder: Path) -> int:
    """Raise AssertionError if the table is not the batch result up to the watermark; the number of its rows."""
    spark = session(folder)
    spark.read.schema(SCHEMA).parquet(str(folder / "in")).createOrReplaceTempView("arrived")
    watermark = spark.sql("SELECT max(ts) - INTERVAL 1 SECONDS AS w FROM arrived").first().w
    found = sorted(map(tuple, spark.table("found").collect()))
    expected = sorted(map(tuple, spark.sql(f"SELECT * FROM arrived {CLAUSE}").where(f"at <= '{watermark}'").collect()))
    assert found == expected, (len(found), len(expected))
    return len(found)


if __name__ == "__main__":
    place = Path(sys.argv[1]).absolute()
    if sys.argv[2:] == ["drive"]:
        drive(place)
    else:
        kills = int((sys.argv[2:] or ["20"])[0])
        write_files(place, files=kills + 2)
        count = kill_and_drive(place, kills)
        print(f"{count} kills, {check(place)} rows as in batch")
