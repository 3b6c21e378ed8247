"""python -m benchmarks [--quick] [--growth] [--only NAME,…] [--peers NAME,…] [--rows N] [--runs N]

NAME is that of a workload, `patterns` or `joins`; peers are lead, pandas, trino and flink for patterns, spark,
duckdb and flink for joins.

Each workload runs at its own size; with --growth also at 1 M and 10 M rows, against the floor alone. Results go to
results.json and RESULTS.md, where they replace those of the same workloads, sizes and programs; those of --quick are
only printed.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import sqlext
from benchmarks import joins, results, tables
from benchmarks.joins import JOINS, SPARK, Join
from benchmarks.measure import Measurement, measure
from benchmarks.peers import SYSTEMS, External, open_external
from benchmarks.runners import LEAD, PANDAS, Runner, integers, spark_runners
from benchmarks.workload import Result, Workload
from benchmarks.workloads import MILLION, WORKLOADS

BY_NAME: dict[str, Workload | Join] = {w.name: w for w in (*WORKLOADS, *JOINS)}
GROUPS = {"patterns": [w.name for w in WORKLOADS], "joins": [w.name for w in JOINS]}
PATTERN_PEERS = (LEAD, PANDAS, "trino", "flink")
PEERS = tuple(dict.fromkeys((*PATTERN_PEERS, *joins.PEERS)))
GROWTH = (MILLION, 10 * MILLION)
QUICK_ROWS, QUICK_RUNS = 100_000, 1
SETTINGS = {"spark.sql.shuffle.partitions": "8", "spark.driver.memory": "4g"}
FIRST = """SELECT count(*) FROM range(1000) MATCH_RECOGNIZE (
    ORDER BY id MEASURES A.id AS a PATTERN (A B) DEFINE A AS id % 2 = 0)"""


def main() -> None:
    asked = arguments()
    with ExitStack() as stack:
        spark, run = start(asked)
        stack.callback(spark.stop)
        external = {name: stack.enter_context(open_external(name, spark)) for name in asked.peers if name in SYSTEMS}
        for workload in (BY_NAME[name] for name in asked.only):
            for rows, peers in sizes(workload, peers_of(workload, asked.peers), asked).items():
                found = one(spark, workload, rows, peers, external, asked.runs)
                print(*map(line, found), sep="\n", flush=True)
                if not asked.quick:
                    results.save(results.merge(results.load(), run, found))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.partition("\n\n")[2])
    parser.add_argument("--quick", action="store_true", help=f"at most {QUICK_ROWS:,} rows, one run, no files")
    parser.add_argument("--growth", action="store_true", help="also 1 M and 10 M rows, against the floor alone")
    parser.add_argument(
        "--only",
        type=names_of(BY_NAME, GROUPS),
        default=list(BY_NAME),
        metavar="NAME,…",
        help=", ".join((*GROUPS, *BY_NAME)),
    )
    parser.add_argument(
        "--peers", type=names_of(PEERS), default=[LEAD, PANDAS, SPARK], metavar="NAME,…", help=", ".join(PEERS)
    )
    parser.add_argument("--rows", type=int, help="instead of each workload's own size")
    parser.add_argument("--runs", type=int, help="turns behind the first run (3)")
    asked = parser.parse_args()
    asked.runs = asked.runs or (QUICK_RUNS if asked.quick else 3)
    return asked


def names_of(known: Iterable[str], groups: Mapping[str, list[str]] | None = None) -> Callable[[str], list[str]]:
    """Reads a list of names, which may be empty; a group's name stands for those in it.

    >>> names_of(["trino", "flink", "duckdb"], {"servers": ["trino", "flink"]})("duckdb,servers")
    ['duckdb', 'trino', 'flink']
    """

    def names(text: str) -> list[str]:
        found = [name for given in text.split(",") if given for name in (groups or {}).get(given, [given])]
        if strange := [name for name in found if name not in known]:
            raise argparse.ArgumentTypeError(f"{', '.join(strange)}: not one of {', '.join(known)}")
        return found

    return names


def start(asked: argparse.Namespace) -> tuple:
    """The session, and what is to be known of this run."""
    began = time.perf_counter()
    spark = sqlext.session("benchmarks", master="local[2]", **SETTINGS)
    return spark, run_of(spark, time.perf_counter() - began, "local[2]", SETTINGS, asked.runs)


def run_of(spark, session_s: float, where: str, settings: Mapping[str, str], runs: int) -> dict[str, Any]:
    """What is to be known of a run whose session took `session_s` to start."""
    ready = time.perf_counter()
    spark.sql(FIRST).collect()
    told = ", ".join(f"{key}={value}" for key, value in settings.items())
    return {
        "start": datetime.datetime.now().isoformat(" ", "seconds"),
        "machine": f"{processor()}, {os.cpu_count()} cores, {where}, {told}",
        "versions": {"Python": platform.python_version(), "Spark": spark.version, "sqlext": version("spark-sqlext")},
        "runs": runs,
        "session_s": session_s,
        "first_clause_s": time.perf_counter() - ready,
    }


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((x.partition(": ")[2] for x in lines if x.startswith("model name")), platform.machine())


def peers_of(workload: Workload | Join, asked: Iterable[str]) -> set[str]:
    """Those that can run it."""
    return {peer for peer in asked if peer in (joins.PEERS if isinstance(workload, Join) else PATTERN_PEERS)}


def sizes(workload: Workload | Join, peers: set[str], asked: argparse.Namespace) -> dict[int, set[str]]:
    """Numbers of rows, smallest first, and who is compared at each."""
    own = asked.rows or (min(workload.rows, QUICK_ROWS) if asked.quick else workload.rows)
    found: dict[int, set[str]] = {own: set()}
    for peer in peers:
        found.setdefault(min(own, workload.limits.get(peer, own)), set()).add(peer)
    if asked.growth and workload.grows:
        found |= {rows: found.get(rows, set()) for rows in GROWTH}
    return dict(sorted(found.items()))


def one(
    spark, workload: Workload | Join, rows: int, peers: set[str], external: dict[str, Any], runs: int
) -> list[Measurement]:
    """All runners of a workload at one size."""
    if isinstance(workload, Join):
        return measure(workload, rows, joins.runners(spark, workload, rows, peers, external), runs)
    return measure(workload, rows, pattern_runners(spark, workload, rows, peers, external), runs)


def pattern_runners(
    spark, workload: Workload, rows: int, peers: set[str], external: dict[str, External]
) -> dict[str, Runner]:
    path = tables.ensure(spark, workload, rows)
    runners = spark_runners(spark, workload, rows, f"delta.`{path}`", peers)
    for name in sorted(peers & external.keys()):
        if not workload.is_peerless and (name != "flink" or not workload.flink_lacks):
            runners[name] = partial(answer, external[name].prepare(workload, rows, path))
    return runners


def answer(query: Callable[[], list[tuple]]) -> Result:
    return integers(query()[0])


def line(m: Measurement) -> str:
    times = f"{m.first_s:8.2f} s first {m.median_s:8.2f} s {m.median_s / m.ours_s:8.2f} x ours"
    times += f" {m.cpu_s:8.2f} s CPU"
    memory = f"{m.jvm_mb:6,} MB JVM {m.workers_mb:6,} MB workers"
    return f"{m.workload:18} {m.rows:>11,} {m.runner:14} {times} {memory} {m.failure}"


if __name__ == "__main__":
    main()
