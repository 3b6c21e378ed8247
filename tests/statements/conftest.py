"""The relations and functions that the data files read."""

from __future__ import annotations

import pytest

from .cases import cases


@pytest.fixture(scope="package")
def session(spark):
    """The Spark session with the views of relations.txt and registered functions."""
    from pyspark.cloudpickle import register_pickle_by_value

    from . import functions
    from .functions import spread, twice  # pyspark

    register_pickle_by_value(functions)  # the workers of a cluster do not have the tests
    views = cases("relations.txt")
    for case in views:
        spark.sql(f"CREATE TEMPORARY VIEW {case.title} AS {case.step.text}")
    spark.udf.register("twice", twice, "int")
    spark.udf.register("spread", spread)
    yield spark
    for case in views:
        spark.catalog.dropTempView(case.title)
    for name in ("twice", "spread"):
        spark.sql(f"DROP TEMPORARY FUNCTION {name}")


@pytest.fixture
def clean(session):
    """The session; tables that the case creates are dropped at its end."""
    before = {t.name for t in session.catalog.listTables()}
    yield session
    for table in session.catalog.listTables():
        if table.name not in before:
            kind = "TABLE" if table.tableType in ("MANAGED", "EXTERNAL") else "VIEW"
            session.sql(f"DROP {kind} IF EXISTS `{table.name}`")
