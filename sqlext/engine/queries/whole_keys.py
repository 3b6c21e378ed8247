"""Rows that Spark shuffles by their keys, for workers that need all rows of a key."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sqlext.rewriter.text.names import quoted
from sqlext.rewriter.text.shuffle import APART


def with_whole_keys(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The rows, with all rows of a key in one task. `keys`: the names of columns; without any, all rows are in one."""
    return rows.repartition(*(F.col(quoted(key)) for key in keys), F.expr(APART)) if keys else rows.repartition(1)
