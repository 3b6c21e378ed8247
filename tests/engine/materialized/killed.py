"""Kill refreshes of a materialized view by SIGKILL, at random moments; the next process refreshes it.

`python tests/engine/materialized/killed.py FOLDER [KILLS]` begins with an empty folder. Each process inserts rows, says
that it begins to refresh, and is killed a random time later; the next one checks the law after its own refresh.
SQLEXT_TEST_FORMAT=iceberg has a view of Iceberg.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

QUERY = """SELECT k, n, total FROM ev MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts, v
  MEASURES count(*) AS n, sum(v) AS total PATTERN (A B+) DEFINE B AS v > PREV(v)) AS m"""


def work(folder: Path, start: int) -> None:
    """Refresh the view and check it, then change its source and refresh it again, in the process that is killed."""
    import sqlext

    settings = {"spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC"}
    tables = os.environ.get("SQLEXT_TEST_FORMAT") or "delta"
    spark = sqlext.session("killed", master="local[2]", warehouse=folder / "tables", format=tables, **settings)
    if not spark.catalog.tableExists("ev"):
        spark.sql("CREATE TABLE ev AS SELECT id % 20 AS k, timestamp_seconds(id) AS ts, id % 7 AS v FROM range(400)")
    if not spark.catalog.tableExists("mv"):
        spark.sql(f"CREATE MATERIALIZED VIEW mv AS {QUERY}")
    spark.sql("REFRESH MATERIALIZED VIEW mv")
    for more, less in (("mv", f"({QUERY})"), (f"({QUERY})", "mv")):
        wrong = spark.sql(f"SELECT * FROM {more} EXCEPT ALL SELECT * FROM {less}").collect()
        assert wrong == [], f"after start {start}: {wrong}"
    spark.sql(f"INSERT INTO ev SELECT id, timestamp_seconds(id * {start + 3}), id % 5 FROM range(20)")
    spark.sql(f"DELETE FROM ev WHERE k = {start % 20}")
    (folder / f"begun_{start}").touch()
    spark.sql("REFRESH MATERIALIZED VIEW mv")
    (folder / f"refreshed_{start}").touch()


def run(folder: Path, kills: int) -> None:
    chance = random.Random(kills)
    for start in range(kills + 1):
        arguments = [sys.executable, __file__, str(folder), "--work", str(start)]
        with subprocess.Popen(arguments, start_new_session=True) as process:
            try:
                while start < kills and process.poll() is None and not (folder / f"begun_{start}").exists():
                    time.sleep(0.05)
                if start < kills:
                    time.sleep(chance.random() * 6)
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                assert start < kills or process.wait() == 0
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
    assert (folder / f"refreshed_{kills}").exists()


if __name__ == "__main__":
    if "--work" in sys.argv:
        work(Path(sys.argv[1]), int(sys.argv[3]))
    else:
        run(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5)
