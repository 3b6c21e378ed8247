"""python -m benchmarks [--quick] [--growth] [--only NAME,…] [--peers NAME,…] [--rows N] [--runs N]

NAME is the name of a workload, `patterns` or `joins`. Peers of patterns are lead, pandas, trino, flink, duckdb and
polars; peers of joins are spark, duckdb, flink and polars.

Each workload runs at its own size and, with --growth, also at 1 M and 10 M rows, against the floor alone. Results go to
results.json and RESULTS.md, where they replace those of the same workloads, sizes and programs. Results of --quick are
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
PATTERN_PEERS = (LEAD, PANDAS, "trino", "flink", "duckdb", "polars")
PEERS = tuple(dict.fromkeys((*PATTERN_PEERS, *joins.PEERS)))
GROWTH = (MILLION, 10 * MILLION)
QUICK_ROWS, QUICK_RUNS = 100_000, 1
SETTINGS = {"spark.sql.shuffle.partitions": "8", "spark.driver.memory": "4g"}
FIRST = """SELECT count(*) FROM range(1000) MATCH_RECOGNIZE (
    ORDER BY id MEASURES A.id AS a PATTERN (A B) DEFINE A AS id % 2 = 0)"""


def main() -> None:
    options = arguments()
    with ExitStack() as stack:
        spark, run = start(options)
        stack.callback(spark.stop)
        external = {name: stack.enter_context(open_external(name, spark)) for name in options.peers if name in SYSTEMS}
        for workload in (BY_NAME[name] for name in options.only):
            for rows, peers in sizes(workload, peers_of(workload, options.peers), options).items():
                measurements = one(spark, workload, rows, peers, external, options.runs)
                print(*map(line, measurements), sep="\n", flush=True)
                if not options.quick:
                    results.save(results.merge(results.load(), run, measurements))


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
    parser.add_argument("--rows", type=int, help="the number of rows instead of each workload's own")
    parser.add_argument("--runs", type=int, help="turns after the first run (3)")
    options = parser.parse_args()
    options.runs = options.runs or (QUICK_RUNS if options.quick else 3)
    return options


def names_of(known: Iterable[str], groups: Mapping[str, list[str]] | None = None) -> Callable[[str], list[str]]:
    """A function that reads a list of names, which may be empty. The name of a group means its members.

    >>> names_of(["trino", "flink", "duckdb"], {"servers": ["trino", "flink"]})("duckdb,servers")
    ['duckdb', 'trino', 'flink']
    """

    def names(text: str) -> list[str]:
        words = [word for word in text.split(",") if word]
        members = [name for word in words for name in (groups or {}).get(word, [word])]
        if strange := [name for name in members if name not in known]:
            raise argparse.ArgumentTypeError(f"{', '.join(strange)}: not one of {', '.join(known)}")
        return members

    return names


def start(options: argparse.Namespace) -> tuple:
    """The session, and the record of this run."""
    began = time.perf_counter()
    spark = sqlext.session("benchmarks", master="local[2]", **SETTINGS)
    return spark, run_of(spark, time.perf_counter() - began, "local[2]", SETTINGS, options.runs)


def run_of(spark, session_s: float, where: str, settings: Mapping[str, str], runs: int) -> dict[str, Any]:
    """The record of a run whose session took `session_s` to start: machine, versions, time of a cold start."""
    ready = time.perf_counter()
    spark.sql(FIRST).collect()
    settings_text = ", ".join(f"{key}={value}" for key, value in settings.items())
    return {
        "start": datetime.datetime.now().isoformat(" ", "seconds"),
        "machine": f"{processor()}, {os.cpu_count()} cores, {where}, {settings_text}",
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


def peers_of(workload: Workload | Join, requested: Iterable[str]) -> set[str]:
    """The requested peers that can run the workload."""
    return {peer for peer in requested if peer in (joins.PEERS if isinstance(workload, Join) else PATTERN_PEERS)}


def sizes(workload: Workload | Join, peers: set[str], options: argparse.Namespace) -> dict[int, set[str]]:
    """The numbers of rows, smallest first, with the peers that are compared at each."""
    own = options.rows or (min(workload.rows, QUICK_ROWS) if options.quick else workload.rows)
    by_rows: dict[int, set[str]] = {own: set()}
    for peer in peers:
        by_rows.setdefault(min(own, workload.limits.get(peer, own)), set()).add(peer)
    if options.growth and workload.grows:
        by_rows |= {rows: by_rows.get(rows, set()) for rows in GROWTH}
    return dict(sorted(by_rows.items()))


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
    check_form(spark, workload.query(f"delta.`{path}`", rows))
    for name in sorted(peers & external.keys()):
        has_no_lead = workload.lead is None
        lacks = {"flink": bool(workload.flink_lacks), "duckdb": has_no_lead, "polars": has_no_lead}
        if not workload.is_peerless and not lacks.get(name, False):
            runners[name] = partial(answer, external[name].prepare(workload, rows, path))
    return runners


def check_form(spark, query: str) -> None:
    """Ours is the form in which a worker reads the files; the variants are others."""
    (explained,) = spark.sql(f"EXPLAIN MATCH {query}").collect()[0]
    assert "read: one worker reads" in explained, explained


def answer(query: Callable[[], list[tuple]]) -> Result:
    return integers(query()[0])


def line(m: Measurement) -> str:
    times = f"{m.first_s:8.2f} s first {m.median_s:8.2f} s {m.median_s / m.ours_s:8.2f} x ours"
    times += f" {m.cpu_s:8.2f} s CPU"
    memory = f"{m.jvm_mb:6,} MB JVM {m.workers_mb:6,} MB workers"
    return f"{m.workload:18} {m.rows:>11,} {m.runner:14} {times} {memory} {m.failure}"


if __name__ == "__main__":
    main()
