"""The relations and functions that the data files read."""

from __future__ import annotations

import pytest

from .cases import cases


@pytest.fixture(scope="package")
def given(spark):
    """The session with the views of given.txt and registered functions."""
    from .functions import spread, twice  # pyspark

    made = [case.title for case in cases("given.txt")]
    for case in cases("given.txt"):
        spark.sql(f"CREATE TEMPORARY VIEW {case.title} AS {case.step.text}")
    spark.udf.register("twice", twice, "int")
    spark.udf.register("spread", spread)
    yield spark
    for name in made:
        spark.catalog.dropTempView(name)
    for name in ("twice", "spread"):
        spark.sql(f"DROP TEMPORARY FUNCTION {name}")
