"""The keys whose rows have changed, and the rows of a table that have one of them.

Where Spark runs on this machine, one worker reads the files and drops the rows of other keys at once. Elsewhere the
keys are a DataFrame, which Spark joins and nobody collects.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property, reduce

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sqlext.engine.match.ranges import local_cores
from sqlext.engine.materialized.changes import Changes
from sqlext.engine.materialized.key import value_of
from sqlext.engine.queries.session_settings import choice
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.scan import scan_plan
from sqlext.engine.scan.file_relation import FileRelation, NotRead, named_relation
from sqlext.engine.scan.rows_of_keys import keys_for_worker, relation_of_keys, rows_of_keys
from sqlext.rewriter.refresh_keys.separable import SourceColumn
from sqlext.rewriter.text.names import quoted
from sqlext.spark.kind import is_connect, master_of

_VALUE = "__sqlext_key_"


@dataclass(kw_only=True)
class ChangedKeys:
    """Keys with columns k0, k1, …. `values`: those that a worker looks for with `cores` threads, of all columns unless
    Spark has the keys; None where Spark reads the rows. `kept`: the keys that Spark has, until `release`."""

    call: SqlCall
    values: pa.Table | None
    cores: int
    kept: DataFrame | None

    @staticmethod
    def of(call: SqlCall, changed: Sequence[tuple[Changes, Sequence[SourceColumn]]]) -> ChangedKeys:
        """The keys in changes of tables, in each of them in these columns."""
        cores = _cores(call)
        if cores is not None:
            try:
                return _read_here(call, changed, cores)
            except NotRead:
                pass
        frames = (
            changes.rows(call.spark, _names(columns)).selectExpr(*map(value_of, columns)).toDF(*_keys(columns))
            for changes, columns in changed
        )
        kept = reduce(DataFrame.unionAll, frames).distinct().persist()
        values = keys_for_worker(kept) if cores is not None else None
        return ChangedKeys(call=call, values=values, cores=cores or 1, kept=kept)

    @cached_property
    def count(self) -> int:
        """How many keys there are."""
        if self.values is not None:
            return len(self.values)
        assert self.kept is not None
        return self.kept.count()

    def _frame(self, types: Sequence[T.DataType]) -> DataFrame:
        """The keys, as Spark has them."""
        if self.kept is None:
            assert self.values is not None
            fields = [T.StructField(name, kind) for name, kind in zip(self.values.column_names, types)]
            self.kept = self.call.spark.createDataFrame(self.values, T.StructType(fields))
        return self.kept

    @contextmanager
    def view_of(
        self, relation: str, columns: Sequence[SourceColumn], read: Collection[str] | None = None
    ) -> Iterator[str]:
        """The name of a temporary view of `rows_of`. Where a clause reads it, one worker reads the files, as it does of
        a table."""
        name = f"__sqlext_source_{uuid.uuid4().hex}"
        rows, files = self._rows_and_files(relation, columns, read)
        rows.createOrReplaceTempView(name)
        try:
            with nullcontext() if files is None else named_relation(name, files):
                yield name
        finally:
            self.call.spark.catalog.dropTempView(name)

    def rows_of(self, relation: str, columns: Sequence[SourceColumn]) -> DataFrame:
        """The rows of a relation whose values in `columns` are one of the keys."""
        return self._rows_and_files(relation, columns, None)[0]

    def _rows_and_files(
        self, relation: str, columns: Sequence[SourceColumn], read: Collection[str] | None
    ) -> tuple[DataFrame, FileRelation | None]:
        """The rows of `rows_of` and, if one worker can read just these, the relation that it reads. `read`: names in
        lower case, among them those of the columns that are needed; None if all are."""
        rows = self.call.sql(f"SELECT * FROM {relation}")
        if read is not None:
            needed = {*read, *(column.name.lower() for column in columns)}
            rows = rows.select(*(quoted(column) for column in rows.columns if column.lower() in needed))
        names = {column.name.lower(): f"k{i}" for i, column in enumerate(columns) if column.window is None}
        if self.values is not None and names:
            try:
                files = relation_of_keys(rows, self.values, names)
                rows = rows_of_keys(rows, files, self.cores)
                if len(columns) == len(names) == 1:
                    return rows, files
            except NotRead:
                pass
        values = [F.expr(value_of(column)).alias(f"{_VALUE}{i}") for i, column in enumerate(columns)]
        equal = " AND ".join(f"r.{_VALUE}{i} <=> k.k{i}" for i in range(len(columns)))
        with_values = rows.select("*", *values)
        keys = self._frame([field.dataType for field in with_values.schema.fields[-len(columns) :]])
        found = with_values.alias("r").join(keys.alias("k"), F.expr(equal), "left_semi")
        return found.select(*map(quoted, rows.columns)), None

    def release(self) -> None:
        """Forget the keys that Spark keeps."""
        if self.kept is not None:
            self.kept.unpersist()


def _read_here(call: SqlCall, changed: Sequence[tuple[Changes, Sequence[SourceColumn]]], cores: int) -> ChangedKeys:
    """The keys, if this process reads them. Raises NotRead."""
    tables = []
    for changes, columns in changed:
        if any(column.window is not None for column in columns):
            raise NotRead("the keys are windows")
        names = _names(columns)
        values = changes.values(call.spark, names, cores)
        tables.append(values.select([names.index(c.name) for c in columns]).rename_columns(_keys(columns)))
    values = pa.concat_tables(tables).group_by(tables[0].column_names).aggregate([])
    return ChangedKeys(call=call, values=values, cores=cores, kept=None)


def _keys(columns: Sequence[SourceColumn]) -> list[str]:
    return [f"k{i}" for i in range(len(columns))]


def _names(columns: Sequence[SourceColumn]) -> list[str]:
    return list(dict.fromkeys(column.name for column in columns))


def _cores(call: SqlCall) -> int | None:
    """The cores of this machine, if a worker may read files here."""
    spark = call.spark
    if is_connect(spark) or choice(spark, "sqlext.read", scan_plan.AUTO, scan_plan.MODES) == scan_plan.SPARK:
        return None
    return local_cores(master_of(spark))
