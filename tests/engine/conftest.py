"""The table of events that tests of streaming tables read."""

from __future__ import annotations

import warnings

import pytest

from tests.sampling import sample
from tests.statements.cases import settings

# Each partition costs a task and a store of the state in each micro-batch, so most days have only one.
PARTITIONS = sample(["1", "1", "1", "2"], 4)[-1]
OF_STREAMS = {
    "sqlext.stream.trigger": "available-now",
    "sqlext.stream.buckets": "2",
    "spark.sql.shuffle.partitions": PARTITIONS,
}


@pytest.fixture
def events(spark):
    """An empty table `events`; every table and view that a test creates is dropped after it."""
    before = {t.name for t in spark.catalog.listTables()}
    spark.sql("CREATE TABLE events (k INT, ts TIMESTAMP, c STRING, i INT)")
    with settings(spark, OF_STREAMS), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield spark
    stored_first = sorted(spark.catalog.listTables(), key=lambda table: table.tableType in ("MANAGED", "EXTERNAL"))
    for table in stored_first:  # views and tables of Kafka, which one of Spark's tables keeps
        if table.name not in before:
            spark.sql(f"DROP {'VIEW' if table.tableType == 'VIEW' else 'TABLE'} {table.name}")
