"""The runners of a workload in the Spark session: ours, ours with other settings, the floor, and what users write."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from functools import partial

import pyarrow as pa

from benchmarks.peers import pandas_loops
from benchmarks.workload import Result, Workload

Runner = Callable[[], Result]
OURS, FLOOR, WINDOW, LEAD, PANDAS = "ours", "floor", "window", "lead", "pandas"
BY_HAND = "filter by hand"


def spark_runners(spark, workload: Workload, rows: int, table: str, peers: set[str]) -> dict[str, Runner]:
    """The runners by name, in the order in which they run: ours first and the floor second."""
    runners: dict[str, Runner] = {
        OURS: partial(ours, spark, workload, rows, table),
        FLOOR: partial(floor, spark, workload, table),
    }
    for variant, settings in workload.variants.items():
        runners[variant] = partial(ours, spark, workload, rows, table, settings)
    if workload.window:
        runners[WINDOW] = partial(window, spark, workload, rows, table)
    if workload.usable:
        runners[BY_HAND] = partial(by_hand, spark, workload, rows, table)
    if LEAD in peers and workload.lead:
        runners[LEAD] = partial(lead, spark, workload, table)
    if PANDAS in peers and workload.name in pandas_loops.LOOPS:
        runners[PANDAS] = partial(pandas, spark, workload, table)
    return runners


def ours(spark, workload: Workload, rows: int, table: str, settings=None) -> Result:
    with configured(spark, settings or {}):
        return integers(spark.sql(workload.query(table, rows)).collect()[0])


def window(spark, workload: Workload, rows: int, table: str) -> Result:
    return integers(spark.sql(workload.window_query(table, rows)).collect()[0])


def by_hand(spark, workload: Workload, rows: int, table: str) -> Result:
    return integers(spark.sql(workload.query_by_hand(table, rows)).collect()[0])


def lead(spark, workload: Workload, table: str) -> Result:
    return integers(spark.sql(workload.lead_query(table)).collect()[0])


def pandas(spark, workload: Workload, table: str) -> Result:
    matches = pandas_loops.matches(spark, workload, table)
    return integers(matches.selectExpr(*workload.totals.split(", ")).collect()[0])


def floor(spark, workload: Workload, table: str) -> Result:
    """The cost of any matcher in Python workers: scan, shuffle and sort the columns that the query reads, count rows.

    Without PARTITION BY all rows go to one sorted partition.
    """
    rows = spark.table(table).select(*workload.reads)
    gathered = rows.repartition(*workload.keys) if workload.keys else rows.repartition(1)
    ordered = gathered.sortWithinPartitions(*workload.keys, *workload.order)
    return integers(ordered.mapInArrow(count_rows, "n BIGINT").groupBy().sum().collect()[0])


def count_rows(batches):
    n = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_arrays([pa.array([n])], ["n"])


@contextmanager
def configured(spark, settings):
    """Set `settings` in the session, and unset them afterwards. None of them may be set before."""
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key in settings:
            spark.conf.unset(key)


def integers(row) -> Result:
    """A row of totals as integers, because every system has other types for sums.

    >>> from decimal import Decimal
    >>> integers((3, Decimal("4"), None))
    (3, 4, None)
    """
    return tuple(None if value is None else int(value) for value in row)
