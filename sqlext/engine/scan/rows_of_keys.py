"""The rows of a table that have some keys, as one worker reads them: it skips row groups without any of the keys, and
passes no other row on. And the keys in some files of a table, which this process reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame

from sqlext.engine.queries.session_settings import execution_settings
from sqlext.engine.scan.file_relation import FileRelation, NotRead, check_files, file_relation
from sqlext.engine.scan.scan_plan import scan_of
from sqlext.errors import DataError
from sqlext.expressions.scalar_tree import Column
from sqlext.expressions.spark_types import has_plain_equality
from sqlext.expressions.values import arrow_type
from sqlext.operators.scan.delta_log import PATH
from sqlext.operators.scan.plan import KeyValues
from sqlext.rewriter.text.names import quoted
from sqlext.rewriter.text.splice import Text, join
from sqlext.spark.worker_functions import map_in_arrow

_MOST_KEYS = 5_000_000  # that are sent to a worker
_ANY_PARTS = 1 << 20  # rows that are passed on, or of which only keys are kept, are not held


def keys_for_worker(keys: DataFrame) -> pa.Table | None:
    """The values of those columns of keys that a worker can look for; None if there are none, or too many keys."""
    columns = [f.name for f in keys.schema.fields if has_plain_equality(f.dataType.simpleString())]
    if not columns:
        return None
    values = keys.select(columns).limit(_MOST_KEYS + 1).toArrow()
    return values if len(values) <= _MOST_KEYS else None


def values_in_files(rows: DataFrame, paths: Sequence[str], cores: int) -> pa.Table:
    """The rows of a relation in these files, each once. They may be files that it had at another time.

    Raises NotRead if this process cannot read them, or should not.
    """
    from sqlext.operators.scan.read_files import read_files

    if not all(has_plain_equality(field.dataType.simpleString()) for field in rows.schema.fields):
        raise NotRead("values of a column are equal in several forms")
    scan = scan_of(file_relation(rows, execution_settings(rows.sparkSession)), _all(rows), [], cores, parts=_ANY_PARTS)
    check_files(paths, scan.plan.columns)
    names = [name for name, _ in scan.plan.computed]
    values = pa.schema([(name, arrow_type(scalar.type)) for name, scalar in scan.plan.computed]).empty_table()
    try:
        for batch in read_files([pa.RecordBatch.from_pydict({PATH: list(paths)})], scan.plan):
            values = pa.concat_tables([values, pa.table(batch)]).group_by(names).aggregate([])
            if len(values) > _MOST_KEYS:
                raise NotRead("there are too many keys")
    except DataError as error:
        raise NotRead(error.message) from None
    return values


def relation_of_keys(rows: DataFrame, keys: pa.Table, columns: Mapping[str, str]) -> FileRelation:
    """Those rows of a relation whose values in each column are among those of the column of `keys`: with several
    columns there may be others. `columns`: those of `keys`, by those of the relation in lower case.

    Raises NotRead if a worker cannot read the relation.
    """
    relation = file_relation(rows, execution_settings(rows.sparkSession))
    wanted = []
    for name, scalar in relation.columns.items():
        column = columns.get(name.lower())
        if column in keys.column_names and isinstance(scalar, Column):
            values = keys[column].combine_chunks().cast(arrow_type(scalar.type))
            wanted.append(KeyValues(scalar.name, values.unique()))
    if not wanted:
        raise NotRead("no column of the keys is compared by workers")
    return replace(relation, keys=tuple(wanted))


def rows_of_keys(rows: DataFrame, relation: FileRelation, cores: int) -> DataFrame:
    """The rows of a relation with the columns of `rows`. Raises NotRead if a worker cannot read it."""
    scan = scan_of(relation, _all(rows), [], cores, parts=_ANY_PARTS)
    plan = scan.plan

    def read(files: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from sqlext.operators.scan.read_files import read_files  # loads what the driver does not need

        return read_files(files, plan)

    return map_in_arrow(scan.files, read, rows.schema)


def _all(rows: DataFrame) -> list[tuple[str, Text]]:
    return [(name, join(quoted(name))) for name in rows.columns]
