"""The tables that materialized views read, and are, by their names."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from sqlext.engine.materialized.delta_table import delta_table_of
from sqlext.engine.materialized.iceberg_table import IcebergTable
from sqlext.engine.materialized.table import Table
from sqlext.formats.iceberg import ICEBERG
from sqlext.formats.known_formats import format_of
from sqlext.rewriter.text.names import Parts


def table_of(spark: SparkSession, sql: Callable[..., DataFrame], name: Parts) -> Table:
    """The relation of a name, which may also be none."""
    if format_of(spark, name) is ICEBERG:
        return IcebergTable(spark=spark, sql=sql, name=name)
    return delta_table_of(spark, sql, name)
