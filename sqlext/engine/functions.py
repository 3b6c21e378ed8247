"""Which functions of a session are aggregates."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from sqlext.quiet import quiet_probes


def is_aggregate(spark: SparkSession, sql: Callable[..., DataFrame], name: str) -> bool:
    """Is `name` a user's own aggregate? Built-in ones are known by name (rewriter.scalars.AGGREGATES).

    Found by asking Spark whether the function, of one argument or two, may read an ungrouped column where it groups.
    """
    if not any(f"{row[0]}".lower().split(".")[-1] == name for row in sql("SHOW USER FUNCTIONS").collect()):
        return False
    return any(_is_accepted(sql, f"SELECT {name}({arguments}) FROM VALUES (1, 2) AS t(k, c) GROUP BY k")
               for arguments in ("c", "c, c"))  # fmt: skip


def _is_accepted(sql: Callable[..., DataFrame], query: str) -> bool:
    try:
        with quiet_probes():
            sql(query).schema  # noqa: B018
        return True
    except PySparkException:
        return False
