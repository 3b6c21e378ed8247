"""Datasets of a pipeline with our clauses: run by the line of docs/tools.md in the folder above."""

from pyspark import pipelines as dp

import sqlext

sqlext.extend(spark)  # noqa: F821  (spark-pipelines defines it)

numbers_frame = spark.range(10)  # noqa: F821

# Outside of the function, because a clause needs the types of its input.
runs_frame = spark.sql(  # noqa: F821
    """
    SELECT *
      FROM {numbers}
      MATCH_RECOGNIZE (
        ORDER BY id
        MEASURES FIRST(id) AS since, COUNT(*) AS length
        PATTERN (a b*)
        DEFINE b AS id % 4 > 0)
    """,
    numbers=numbers_frame,
)


@dp.materialized_view
def numbers():
    return numbers_frame


@dp.materialized_view
def runs():
    return runs_frame
