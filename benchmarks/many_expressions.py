"""Clauses of very many expressions, with Spark's own limit of a method's bytes and with that of `sqlext.session()`.

    python -m benchmarks.many_expressions [--rows N] [--runs N]

HotSpot only interprets a method of more than 8,000 bytes. The settings take turns; of the runs after the first one the
median counts.
"""

from __future__ import annotations

import argparse
import tempfile
from statistics import median

import sqlext
from benchmarks.analyze import taken

COLUMNS = 64
LIMITS = ("65535", "8000")


def define(i: int) -> str:
    value = f"CASE WHEN c{i} > 10 THEN c{i} * 2 ELSE c{i + 1} END + c{i + 2}"
    return f"A{i} AS ({value}) % 97 IN ({i}, {i + 1}, {i + 2}) AND c{i + 3} BETWEEN 10 AND 980"


NAMES = " | ".join(f"A{i}" for i in range(30))
TEXTS = ", ".join(f"upper(CAST(LAST(c{i}) * 2 + {i} AS STRING)) AS m{i}" for i in range(COLUMNS))
SUMS = ", ".join(f"SUM(c{i}) AS m{i}" for i in range(COLUMNS))
TWO = "PATTERN (A B+) DEFINE A AS c0 > 300, B AS c1 < PREV(c1)"
WORKLOADS = {  # name → what is in the clause after ORDER BY
    "30 variables with two conditions each":
        f"MEASURES LAST(A1.c0) AS m PATTERN (({NAMES}){{3}}) DEFINE {', '.join(map(define, range(30)))}",
    "64 measures that compute texts": f"MEASURES {TEXTS} {TWO}",
    "64 sums": f"MEASURES {SUMS} {TWO}",
    "64 columns of all rows": f"ALL ROWS PER MATCH {TWO}",
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spark = sqlext.session("many expressions", "local[2]", folder)
        columns = ", ".join(f"pmod(xxhash64(id, {i}), 1000) AS c{i}" for i in range(COLUMNS))
        spark.sql(f"CREATE TABLE t AS SELECT id DIV 1000 AS p, id AS i, {columns} FROM range({options.rows})")
        print("| workload | Spark's limit | limit of 8,000 bytes | processor time |\n|---|---|---|---|")
        for name in WORKLOADS:
            print(measured(spark, name, options.runs), flush=True)
        spark.stop()


def measured(spark, name: str, runs: int) -> str:
    """The line of the table about a workload."""
    query = f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY p ORDER BY i {WORKLOADS[name]})"
    turns: dict[str, list[tuple[float, float]]] = {limit: [] for limit in LIMITS}
    for _ in range(runs + 1):
        for limit in LIMITS:
            spark.conf.set("spark.sql.codegen.hugeMethodLimit", limit)
            turns[limit].append(taken(lambda: spark.sql(query).write.format("noop").mode("overwrite").save()))
    (theirs, their_cpu), (ours, our_cpu) = (tuple(map(median, zip(*turns[limit][1:]))) for limit in LIMITS)
    return f"| {name} | {theirs:.1f} s | {ours:.1f} s | {their_cpu:.1f} and {our_cpu:.1f} s |"


if __name__ == "__main__":
    main()
