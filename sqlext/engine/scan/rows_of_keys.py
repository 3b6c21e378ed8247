"""The rows of a table that have some keys, as one worker reads them: it skips row groups without any of the keys, and
passes no other row on to Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame

from sqlext.engine.queries.session_settings import execution_settings
from sqlext.engine.scan.file_relation import NotRead
from sqlext.engine.scan.scan_plan import local_scan
from sqlext.expressions.scalar_tree import Column
from sqlext.expressions.spark_types import has_plain_equality
from sqlext.expressions.values import arrow_type
from sqlext.operators.scan.plan import KeyValues
from sqlext.rewriter.text.names import quoted
from sqlext.rewriter.text.splice import join
from sqlext.spark.worker_functions import map_in_arrow

_MOST_KEYS = 5_000_000  # that are sent to a worker
_ANY_PARTS = 1 << 20  # rows without one of the keys are not held


def keys_for_worker(keys: DataFrame) -> pa.Table | None:
    """The values of those columns of keys that a worker can look for; None if there are none, or too many keys."""
    columns = [f.name for f in keys.schema.fields if has_plain_equality(f.dataType.simpleString())]
    if not columns:
        return None
    values = keys.select(columns).limit(_MOST_KEYS + 1).toArrow()
    return values if len(values) <= _MOST_KEYS else None


def rows_of_keys(rows: DataFrame, keys: pa.Table, columns: Mapping[str, str], cores: int) -> DataFrame:
    """The rows of a relation whose values in each column are among those of the column of `keys`: with several columns
    there may be others. `columns`: those of `keys`, by those of the relation in lower case.

    Raises NotRead if a worker cannot read the relation.
    """
    spark = rows.sparkSession
    computed = [(name, join(quoted(name))) for name in rows.columns]
    scan = local_scan(rows, execution_settings(spark), computed, [], cores, parts=_ANY_PARTS)
    wanted = []
    for name, scalar in scan.plan.computed:
        column = columns.get(name.lower())
        if column in keys.column_names and isinstance(scalar, Column):
            values = keys[column].combine_chunks().cast(arrow_type(scalar.type))
            wanted.append(KeyValues(scalar.name, values.unique()))
    if not wanted:
        raise NotRead("no column of the keys is compared by workers")
    plan = replace(scan.plan, keys=tuple(wanted))

    def read(files: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from sqlext.operators.scan.read_files import read_files  # loads what the driver does not need

        return read_files(files, plan)

    return map_in_arrow(scan.files, read, rows.schema)
