"""Kill processes of a cluster at random while streams and batch queries run: no row is lost, and none is doubled.

`make test-chaos` or, after `python -m tests.cluster.standalone`, `python -m tests.cluster.chaos FOLDER [KILLS]`.
A start runs the streams of tests/engine/streams/killed.py, changes pattern rules and repeats batch queries. Every
third start is a client of a Spark Connect server. Killed are the driver (or the server, of which the client then ends),
an executor, or a Python worker of an executor. A file arrives before each kill. At last the streams read all files, and
their tables are compared with the batch results; each batch query is compared with its first result. A client leaves
the table with UPSERT KEY to the next driver, because that needs sqlext in the Python of the server.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.engine.streams import killed

from .program import server_settings, words
from .standalone import start_server

SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.executor.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
}
QUERIES = (
    killed.MATCHES.format(rows="fixed"),
    killed.FIRINGS.format(rows="fixed", times=killed.TIMES),
    "SELECT a.i, b.i AS j FROM fixed AS a ASOF JOIN (SELECT * FROM fixed WHERE c = 'A') AS b "
    "MATCH_CONDITION (a.ts >= b.ts) ON a.k = b.k",
)
KINDS = ("driver", "executor", "executor", "worker", "worker", "worker")
FILES_AT_FIRST = 3


# the process that is killed


def drive(folder: Path, start: int, url: str) -> None:
    """Run streams and batch queries until the last file has arrived and is read. `url`: of a Connect server, or ""."""
    spark = _client(folder, url) if url else _driver(folder)
    source = spark.readStream.schema(killed.SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    source.createOrReplaceTempView("arriving")
    spark.read.schema(killed.SCHEMA).parquet(str(folder / "fixed")).createOrReplaceTempView("fixed")
    if not spark.catalog.tableExists("rules"):
        spark.sql(killed.RULE_CHANGES[0])
    tables = {name: query for name, query in killed.TABLES.items() if not (url and "UPSERT KEY" in query)}
    for table, query in tables.items():
        spark.sql(f"CREATE OR REFRESH STREAMING TABLE {table} {query}")
    (folder / f"start_{start}").touch()
    while not (folder / "last").exists():
        versions = spark.table("rules").count()
        spark.sql(killed.RULE_CHANGES[versions % len(killed.RULE_CHANGES)])
        for n, query in enumerate(QUERIES):
            _compare(folder / f"batch_{n}.json", sorted(str(tuple(row)) for row in spark.sql(query).collect()))
        failed = next((error for query in spark.streams.active if (error := query.exception())), None)
        if failed or len(spark.streams.active) < len(tables):
            raise RuntimeError(f"a stream has ended: {failed}")
    for query in spark.streams.active:
        query.processAllAvailable()
    killed.wait_for_reports(spark)
    if not url:
        (folder / "done").touch()


def _driver(folder: Path) -> Any:
    import sqlext

    return sqlext.session("chaos", os.environ["SQLEXT_TEST_MASTER"], folder / "tables", **SETTINGS)


def _client(folder: Path, url: str) -> Any:
    from pyspark.sql import SparkSession

    import sqlext

    spark = SparkSession.builder.remote(url).getOrCreate()
    for table in sorted({path.parents[1] for path in folder.glob("tables/*/_delta_log/*.json")}):
        spark.sql(f"CREATE TABLE IF NOT EXISTS {table.name} USING delta LOCATION '{table}'")
    return sqlext.extend(spark)


def _compare(path: Path, rows: list[str]) -> None:
    """Compare rows with those of the file, which the first call writes. Raises AssertionError."""
    if path.exists():
        assert json.loads(path.read_text()) == rows, path
    else:
        path.with_suffix(".part").write_text(json.dumps(rows))
        path.with_suffix(".part").rename(path)


# the process that kills


def torture(folder: Path, kills: int) -> Counter[str]:
    """Start drivers and kill processes until enough are killed. Returns how many of each kind, and what ended so."""
    chance, count, start = random.Random(5), Counter[str](), 0
    while not (folder / "done").exists():
        server, url = None, ""
        if start % 3 == 2:
            (folder / f"server_{start}").mkdir()
            settings = {**server_settings(folder / "tables"), **SETTINGS}
            server, url = start_server(folder / f"server_{start}", os.environ["SQLEXT_TEST_MASTER"], settings)
        command = [sys.executable, "-m", "tests.cluster.chaos", "drive", str(folder), str(start), url]
        with (folder / f"log_{start}").open("w") as log:
            driver = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
            _kill_some(folder, driver, server, chance, count, kills)
        for process in filter(None, (driver, server)):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        print(f"start {start} {url or 'driver'}: exit {driver.returncode}, {dict(count)}", flush=True)
        start += 1
    return count


def _kill_some(folder: Path, driver: Any, server: Any, chance: random.Random, count: Counter[str], kills: int) -> None:
    """Kill until a driver or a server is killed or ends by itself."""
    marker = folder / f"start_{_starts(folder)}"
    resumes = chance.random() < 0.3  # then the first kill comes while it resumes
    while driver.poll() is None:
        while not resumes and driver.poll() is None and not marker.exists():
            time.sleep(0.2)
        time.sleep(chance.uniform(2, 8))
        if driver.poll() is not None:
            count["ended by itself"] += not (folder / "done").exists()
            return
        if sum(count[kind] for kind in ("driver", "server", "executor", "worker")) >= kills:
            (folder / "last").touch()
            driver.wait()
            return
        resumes = False
        _arrive(folder)
        kind = chance.choice(KINDS)
        if kind == "driver":
            victim = server or driver
            os.killpg(victim.pid, signal.SIGKILL)
            count["server" if server else "driver"] += 1
            victim.wait()
            return
        pids = _executors() if kind == "executor" else _workers()
        if pids:
            os.kill(chance.choice(pids), signal.SIGKILL)
            count[kind] += 1


def _starts(folder: Path) -> int:
    return len(list(folder.glob("log_*"))) - 1


def _arrive(folder: Path) -> None:
    """One more file of rows."""
    waiting = sorted((folder / "waiting").iterdir())
    if waiting:
        waiting[0].rename(folder / "in" / waiting[0].name)


def _executors() -> list[int]:
    """The executors of the cluster that this program was started in (`tests.cluster.standalone` is its parent), not
    those of other programs on this machine."""
    children = _children()
    started = [child for process in children.get(os.getppid(), ()) for child in children.get(process, ())]
    return [pid for pid in started if "CoarseGrainedExecutorBackend" in " ".join(words(Path(f"/proc/{pid}/cmdline")))]


def _workers() -> list[int]:
    """The Python workers of the executors: children of their daemons."""
    children = _children()
    daemons = (daemon for executor in _executors() for daemon in children.get(executor, ()))
    return [worker for daemon in daemons for worker in children.get(daemon, ())]


def _children() -> dict[int, list[int]]:
    """The processes that each process has started."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has ended
            continue
        children.setdefault(parent, []).append(int(path.parent.name))
    return children


def main(folder: Path, kills: int) -> None:
    killed.write_files(folder, files=kills + FILES_AT_FIRST)
    files = sorted((folder / "in").iterdir())
    (folder / "waiting").mkdir()
    for path in files[FILES_AT_FIRST:]:
        path.rename(folder / "waiting" / path.name)
    (folder / "fixed").mkdir()
    (folder / "fixed" / "rows.parquet").write_bytes(files[0].read_bytes())
    count = torture(folder, kills)
    os.environ["PYSPARK_PYTHON"] = sys.executable  # the results are checked without the cluster
    print(f"killed {dict(count)}: {killed.check(killed.session(folder), folder, list(killed.TABLES))} rows as in batch")


if __name__ == "__main__":
    if sys.argv[1] == "drive":
        drive(Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    else:
        main(Path(sys.argv[1]).absolute(), int((sys.argv[2:] or ["50"])[0]))
