"""EXPLAIN MATCH ANALYZE against the query that it explains: seconds, and how many times the query's.

    python -m benchmarks.analyze [--rows N] [--runs N] [WORKLOAD …]

Rows are in partitions of 1,000. The first run of each compiles, and is reported apart; of the others the medians count.
A query and its report take turns. The processor time, of the driver, Spark and its workers, does not depend on other
processes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from statistics import median

import sqlext
from benchmarks.processes import spark_cpu_s

MANY = " AND ".join(f"v <> {17 * i}" for i in range(58))
WORKLOADS = {  # name → what is in the clause after ORDER BY
    "one row decides": "MEASURES LAST(B.v) AS b PATTERN (A B C) DEFINE A AS v > 800, B AS v < 500, C AS v % 7 = 0",
    "neighbours decide": "MEASURES LAST(UP.v) AS b PATTERN (S DOWN+ UP+) DEFINE DOWN AS v < PREV(v), UP AS v > PREV(v)",
    "no match": "MEASURES LAST(B.v) AS b PATTERN (A B) DEFINE A AS v > 800, B AS v > 2000",
    "the match decides": "MEASURES COUNT(*) AS n PATTERN (A B+) DEFINE B AS v > A.v",
    "an aggregate decides": "MEASURES COUNT(*) AS n PATTERN (A+) DEFINE A AS SUM(A.v) <= 5000",
    "rows are skipped": "MEASURES B.v AS b PATTERN (A -> B) DEFINE A AS v > 990, B AS v < 10",
    "59 parts of AND": f"MEASURES B.v AS b PATTERN (A B) DEFINE A AS v > 800 AND {MANY}, B AS v < 10",
    "59 parts, rows are skipped": f"MEASURES B.v AS b PATTERN (A -> B) DEFINE A AS v > 990 AND {MANY}, B AS v < 10",
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="all of them, unless some are named")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spark = sqlext.session("analyze", "local[2]", folder)
        spark.sql(
            f"CREATE TABLE t AS SELECT id DIV 1000 AS p, id AS i, pmod(xxhash64(id), 1000) AS v "
            f"FROM range({options.rows})"
        )
        columns = ("workload", "query", "with its report", "times", "processor time", "first time", "rows left out")
        print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
        for name in options.workloads or WORKLOADS:
            print(measured(spark, name, options.runs), flush=True)
        spark.stop()


def measured(spark, name: str, runs: int) -> str:
    """The line of the table about a workload."""
    query = f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY p ORDER BY i {WORKLOADS[name]})"
    report = f"EXPLAIN MATCH ANALYZE FORMAT JSON {query}"
    answers: list[str] = []
    plain, explained = [], []
    for _ in range(runs + 1):
        plain.append(taken(lambda: spark.sql(query).write.format("noop").mode("overwrite").save()))
        explained.append(taken(lambda: answers.append(spark.sql(report).collect()[0][0])))
    left_out = json.loads(answers[-1])["clauses"][0]["funnel"]["left_out"]
    (q, q_cpu), (r, r_cpu) = (tuple(map(median, zip(*turns[1:]))) for turns in (plain, explained))
    first = f"{explained[0][0]:.1f} s, {explained[0][0] / plain[0][0]:.1f} ×"
    cpu = f"{q_cpu:.2f} and {r_cpu:.2f} s, {r_cpu / q_cpu:.1f} ×"
    return f"| {name} | {q:.2f} s | {r:.2f} s | {r / q:.1f} × | {cpu} | {first} | {left_out:,} |"


def taken(run: Callable[[], object]) -> tuple[float, float]:
    """The seconds that a run takes, and those of the processor."""
    began, cpu = time.perf_counter(), spark_cpu_s() + time.process_time()
    run()
    return time.perf_counter() - began, spark_cpu_s() + time.process_time() - cpu


if __name__ == "__main__":
    main()
