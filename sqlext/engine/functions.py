"""Which functions of a session are aggregates."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from sqlext.quiet import quiet_probes


def is_aggregate(spark: SparkSession, sql: Callable[..., DataFrame], name: str) -> bool:
    """Is `name` a user's own aggregate? Built-in ones are known by name (rewriter.scalars.AGGREGATES).

    Found by asking Spark whether the function may read an ungrouped column in a grouping query.
    """
    if not any(f"{row[0]}".lower().split(".")[-1] == name for row in sql("SHOW USER FUNCTIONS").collect()):
        return False
    try:
        with quiet_probes():
            sql(f"SELECT {name}(c) FROM VALUES (1) AS t(c) GROUP BY ()").schema  # noqa: B018
        return True
    except PySparkException:
        return False
