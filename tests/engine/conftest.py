"""The table of events that tests of streaming tables read."""

from __future__ import annotations

import warnings

import pytest


@pytest.fixture
def events(spark):
    """An empty table `events`; every table and view that a test creates is dropped after it."""
    before = {t.name for t in spark.catalog.listTables()}
    spark.sql("CREATE TABLE events (k INT, ts TIMESTAMP, c STRING, i INT)")
    for name, value in {"sqlext.stream.trigger": "available-now", "sqlext.stream.buckets": "2"}.items():
        spark.conf.set(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield spark
    for name in ("sqlext.stream.trigger", "sqlext.stream.buckets"):
        spark.conf.unset(name)
    stored_first = sorted(spark.catalog.listTables(), key=lambda table: table.tableType in ("MANAGED", "EXTERNAL"))
    for table in stored_first:  # views and tables of Kafka, which one of Spark's tables keeps
        if table.name not in before:
            spark.sql(f"DROP {'VIEW' if table.tableType == 'VIEW' else 'TABLE'} {table.name}")
