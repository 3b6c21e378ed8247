"""REFRESH MATERIALIZED VIEW against computing all of its rows: seconds, and the share of the full refresh.

    python -m benchmarks.refresh [--rows N] [--keys N] [--runs N] [--shares SHARE,…] [--clustered] [QUERY …]

The source is a Delta table of events in the order of time or, with --clustered, of the key. Before each refresh by key,
and before each full one, 1 of SHARE keys gets another event, in new files. Refreshes take turns, and of each kind the
median counts. "files rewritten" are those of the view, by the last refresh by key. The last column is a refresh with
nothing to do.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from statistics import median

import sqlext

QUERIES = {
    "pattern": "SELECT k, n, began FROM events MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts "
    "MEASURES count(*) AS n, FIRST(A.v) AS began PATTERN (A B B) DEFINE B AS v > PREV(v))",
    "group": "SELECT k, count(*) AS n, sum(v) AS total, max(ts) AS seen FROM events GROUP BY k",
}
_EVENT = "timestamp_seconds({t}) AS ts, CAST(pmod(xxhash64({t}, id), 1000) AS INT) AS v"


def main() -> None:
    warnings.simplefilter("ignore")  # a full refresh warns
    parser = argparse.ArgumentParser()
    parser.add_argument("queries", nargs="*", metavar="QUERY", help="all of them, unless some are named")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--shares", type=lambda text: list(map(int, text.split(","))), default=[100, 10_000])
    parser.add_argument("--clustered", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = {"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "4g"}
        spark = sqlext.session("refresh", "local[2]", folder, **settings)
        key = f"id DIV {options.rows // options.keys}" if options.clustered else f"pmod(id, {options.keys})"
        events = f"SELECT {key} AS k, {_EVENT.format(t='id')} FROM range({options.rows})"
        spark.sql(f"CREATE TABLE events AS {events}")
        columns = ("query", "changed keys", "by key", "full", "share", "files rewritten", "nothing to do")
        print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
        for name in options.queries or QUERIES:
            spark.sql(f"CREATE MATERIALIZED VIEW of_{name} AS {QUERIES[name]}")
            for share in options.shares:
                print(measured(spark, name, share, options), flush=True)
        spark.stop()


def measured(spark, name: str, share: int, options: argparse.Namespace) -> str:
    """The line of the table about a query and a share of its keys."""
    seconds: dict[str, list[float]] = {"by key": [], "full": [], "nothing": []}
    rewritten = ""
    for run in range(options.runs + 1):
        for kind, words in (("by key", ""), ("nothing", ""), ("full", "FULL")):
            if kind != "nothing":
                added = _EVENT.format(t=f"{options.rows} + {run}")
                spark.sql(f"INSERT INTO events SELECT id * {share} AS k, {added} FROM range({options.keys // share})")
            before = time.perf_counter()
            spark.sql(f"REFRESH MATERIALIZED VIEW of_{name} {words}").collect()
            if run:
                seconds[kind].append(time.perf_counter() - before)
            *done, removed = last_refresh(spark, name)
            rewritten = removed if kind == "by key" else rewritten
            expected = {"by key": ["by key", str(options.keys // share)], "full": ["full", None]}
            assert kind == "nothing" or done == expected[kind], done
    by_key, full, nothing = (median(each) for each in seconds.values())
    shares = f"{by_key:.2f} s | {full:.2f} s | {by_key / full:.2f} | {rewritten} | {nothing:.2f} s"
    return f"| {name} | {options.keys // share:,} of {options.keys:,} | {shares} |"


def last_refresh(spark, name: str) -> tuple[str, str | None, str]:
    """The kind of the last refresh, how many keys had changed, and how many files it has rewritten."""
    described = dict(spark.sql(f"DESCRIBE MATERIALIZED VIEW of_{name}").collect())
    return described["kind"], described["changed_keys"], described["files_rewritten"]


if __name__ == "__main__":
    main()
