"""Every way to run a workload of `benchmarks/` gives the same totals, and its tables show what was measured."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import benchmarks
from benchmarks import joins, results, tables
from benchmarks.measure import Measurement, WrongResult, check
from benchmarks.runners import LEAD, PANDAS, ours, spark_runners
from benchmarks.workloads import BY_NAME, WORKLOADS

ELSEWHERE = ("benchmarks.__main__", "benchmarks.peers.flink_server")  # the latter runs where Flink is installed
MODULES = [m.name for m in pkgutil.walk_packages(benchmarks.__path__, "benchmarks.") if m.name not in ELSEWHERE]
REFERENCE = {"sqlext.strategy": "reference"}
SAME_ON_FEW_ROWS = ("_100000", "_1000000")  # as the workloads with 1,000 keys
TRIED = [w for w in WORKLOADS if not w.name.endswith(SAME_ON_FEW_ROWS)]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


@pytest.fixture
def tiny(spark):
    yield "tiny"
    spark.catalog.dropTempView("tiny")


@pytest.mark.random(every=5)
@pytest.mark.parametrize("workload", TRIED, ids=lambda workload: workload.name)
def test_every_way_to_run_a_workload_gives_the_same_totals(spark, tiny, workload):
    rows = workload.tiny_rows
    tables.frame(spark, workload, rows).createOrReplaceTempView(tiny)
    totals = {name: run() for name, run in spark_runners(spark, workload, rows, tiny, {LEAD, PANDAS}).items()}
    totals["reference"] = ours(spark, workload, rows, tiny, REFERENCE)
    check(workload, rows, totals)


def test_joins_on_time_give_what_plain_spark_gives(spark):
    views = {(side, n): f"join_{side.keys}_{n}" for join in joins.JOINS for n, side in enumerate(join.sides)}
    for (side, _), view in views.items():
        tables.frame(spark, side, 1_000).createOrReplaceTempView(view)

    def totals(query_of):
        texts = (query_of(join)(*(views[side, n] for n, side in enumerate(join.sides))) for join in joins.JOINS)
        named = [f"SELECT '{join.name}' AS name, * FROM ({text})" for join, text in zip(joins.JOINS, texts)]
        return {row[0]: row[1:] for row in spark.sql("\nUNION ALL\n".join(named)).collect()}

    assert totals(lambda join: join.query) == totals(lambda join: join.spark_query)
    for view in views.values():
        spark.catalog.dropTempView(view)


def test_a_result_that_is_not_the_known_one_is_no_measurement():
    with pytest.raises(WrongResult, match=r"scan, 100 rows: ours gives \(20, 951\), not \(20, 950\)"):
        check(BY_NAME["scan"], 100, {"ours": (20, 951)})


def test_workloads_that_share_a_table_have_the_same_columns():
    by_table = {}
    for workload in WORKLOADS:
        name = workload.table_name(10)
        assert by_table.setdefault(name, workload.columns) == workload.columns, name


def measured(workload, rows, runner, median_s, ours_s):
    return Measurement(workload, rows, runner, 9.0, (median_s,), median_s, ours_s, 2 * median_s, 1000, 300, (1,))


def run_of(day):
    return {
        "start": day,
        "machine": "m",
        "versions": {"Spark": "4"},
        "runs": 1,
        "session_s": 1.0,
        "first_clause_s": 2.0,
    }


FULL = [
    measured("funnel", 1_000_000, "ours", 1.0, 1.0),
    measured("funnel", 1_000_000, "pandas", 100.0, 1.0),
    measured("funnel", 10_000_000, "ours", 5.0, 5.0),
    measured("funnel", 10_000_000, "floor", 4.0, 5.0),
    measured("funnel", 10_000_000, "trino", 10.0, 5.0),
]
LINES = """
| funnel | 10,000,000 | 9.00 s | 5.00 s | 4.00 s | 1.25 | 1.25 | 1.25 | 1,000 MB | 300 MB |
| funnel | 1,000,000 | 1.00 s | 1,000 | 5.00 s | 500 | 0.50 |
| funnel | 1,000,000 | `applyInPandas` loop | 100.00 s | 1.00 s | 100.0 | 1000 s for 10,000,000 rows: 200.0 |
| funnel | 10,000,000 | Trino | 10.00 s | 5.00 s | 2.0 |  |
"""


def test_a_report_has_a_line_for_each_comparison():
    kept = results.merge({"runs": {}, "measurements": {}}, run_of("monday"), FULL)
    lines = [line for line in results.report(kept).splitlines() if line.startswith("| funnel |")]
    assert lines == LINES.split("\n")[1:-1]


def test_a_partial_run_replaces_its_own_measurements_and_keeps_the_ratios_of_the_others():
    kept = results.merge({"runs": {}, "measurements": {}}, run_of("monday"), FULL)
    again = [measured("funnel", 10_000_000, "ours", 3.0, 3.0), measured("funnel", 10_000_000, "floor", 3.0, 3.0)]
    kept = results.merge(kept, run_of("tuesday"), again)
    text = results.report(kept)
    assert "| 9.00 s | 3.00 s | 3.00 s | 1.00 |" in text
    assert "| Trino | 10.00 s | 5.00 s | 2.0 |" in text  # ours of the same turns
    assert list(kept["runs"]) == ["monday", "tuesday"]
