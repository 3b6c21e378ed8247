"""Writes the rows of a materialized view, with the record of the refresh in the same commit.

Rows that are only new are appended. A small view that keeps no account of its rows is written anew, which takes one
job; MERGE, which takes ten, writes those files of other views in which a row changes. A format may always write anew.

MERGE and CREATE TABLE take the record, and what commits a refresh once, from settings of the format. These are made in
a session of their own, so that no other statement of the user's session can see them.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from pyspark.sql import DataFrame, DataFrameWriterV2, SparkSession
from pyspark.sql import functions as F

from sqlext.catalog.materialized_views import Refresh
from sqlext.engine.materialized.key import has_equal_forms
from sqlext.errors import UnsupportedError
from sqlext.formats.format import Format
from sqlext.rewriter.text.names import Parts, quote, quoted
from sqlext.spark.kind import is_connect

_ROWS_OF_A_FILE = 1_000_000  # and at most as many are sent to all tasks
OPERATION, _EXACT, _OLD, _NEW = "__sqlext_operation", "__sqlext_exact", "__sqlext_old", "__sqlext_new"
_VALUE = "__sqlext_value_"
_CATALOGS = "spark.sql.catalog."


def create_table(spark: SparkSession, tables: Format, statement: str, rows: DataFrame, refresh: Refresh) -> None:
    """Run `statement`, CREATE TABLE … AS in this format, followed by a query of the rows."""
    with _writing(spark, rows, tables.settings_of_refresh(refresh.record(), refresh.view, None)) as (session, name):
        session.sql(f"{statement} SELECT * FROM {name}").collect()


def overwrite(tables: Format, name: Parts, rows: DataFrame, refresh: Refresh) -> None:
    """Replace all rows of a view, unless another refresh of its version has been committed."""
    _writer(tables, name, rows, refresh).overwrite(F.lit(True))


def _writer(tables: Format, name: Parts, rows: DataFrame, refresh: Refresh) -> DataFrameWriterV2:
    options = tables.options_of_refresh(refresh.record(), refresh.view, refresh.base)
    return rows.writeTo(quote(name)).options(**options)


def write_changes(
    old: DataFrame, name: Parts, tables: Format, changes: DataFrame, refresh: Refresh, anew: Callable[[], bool]
) -> None:
    """Carry out the `changes` of a view with the rows `old` in one commit, unless another refresh of its version has
    been committed. `anew` returns whether to write all rows is better than to merge."""
    spark, is_delete, is_insert = old.sparkSession, F.col(OPERATION) == "delete", F.col(OPERATION) == "insert"
    deleted = F.coalesce(F.sum(F.when(is_delete, F.col(_OLD))), F.lit(0))
    counts = changes.coalesce(1).agg(deleted, F.count_if(is_delete), F.count_if(is_insert)).collect()
    ((deleted, deletes, inserts),) = counts
    refresh = replace(refresh, deleted=deleted, inserted=inserts)
    rows = changes.coalesce((deletes + inserts) // _ROWS_OF_A_FILE + 1)
    sent = F.broadcast(rows) if deletes + inserts <= _ROWS_OF_A_FILE else rows
    inserted = rows.where(is_insert).select(*map(quoted, old.columns))
    if not deletes:
        writer = _writer(tables, name, inserted, refresh)
        writer.overwrite(F.lit(False)) if tables.appends_by_overwrite else writer.append()
    elif anew():
        is_deleted = F.expr(_same_row(changes, old.columns))
        kept = old.alias("t").join(sent.where(is_delete).alias("s"), is_deleted, "left_anti")
        overwrite(tables, name, kept.unionAll(inserted), refresh)
    else:
        _merge(spark, tables, name, old.columns, sent, refresh)


def _same_row(changes: DataFrame, columns: Sequence[str]) -> str:
    """The condition that a row t of the view is the row s of its changes."""
    equal = [f"t.{quoted(column)} <=> s.{quoted(column)}" for column in columns]
    exact = [f"{exact_text(changes, 't')} <=> s.{_EXACT}"] if _EXACT in changes.columns else []
    return " AND ".join([*equal, *exact])


def _merge(
    spark: SparkSession, tables: Format, name: Parts, columns: Sequence[str], changes: DataFrame, refresh: Refresh
) -> None:
    names = ", ".join(map(quoted, columns))
    settings = tables.settings_of_refresh(refresh.record(), refresh.view, refresh.base)
    with _writing(spark, changes, settings) as (session, source):
        session.sql(
            f"MERGE INTO {quote(name)} AS t USING {source} AS s "
            f"ON s.{OPERATION} = 'delete' AND {_same_row(changes, columns)} "
            f"WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND s.{OPERATION} = 'insert' THEN INSERT ({names}) "
            f"VALUES ({', '.join(f's.{quoted(column)}' for column in columns)})"
        ).collect()


def difference(old: DataFrame, new: DataFrame) -> DataFrame:
    """The rows to delete and to insert so that the bag `old` becomes `new`: both have the same columns. If a row is
    there several times, and another number of times in `new`, all of these are replaced: one row deletes them."""
    columns = [F.col(quoted(name)) for name in old.columns]
    exact = [F.expr(exact_text(old)).alias(_EXACT)] if any(has_equal_forms(f.dataType) for f in old.schema) else []
    both = old.select(*columns, *exact, F.lit(1).alias(_OLD), F.lit(0).alias(_NEW)).unionAll(
        new.select(*columns, *exact, F.lit(0).alias(_OLD), F.lit(1).alias(_NEW))
    )
    groups = [*columns, *([F.col(_EXACT)] if exact else [])]
    # a group has 0.0 as the value of rows with -0.0
    values = [F.first(F.col(quoted(f.name))).alias(_VALUE + f.name) for f in old.schema if has_equal_forms(f.dataType)]
    sums = [F.sum(_OLD).alias(_OLD), F.sum(_NEW).alias(_NEW)]
    counts = both.groupBy(*groups).agg(*sums, *values).where(f"{_OLD} <> {_NEW}")
    columns = [
        F.col(quoted(_VALUE + f.name)).alias(f.name) if has_equal_forms(f.dataType) else F.col(quoted(f.name))
        for f in old.schema
    ]
    inserts = f"array_repeat('insert', CAST({_NEW} AS INT))"
    operations = f"explode(concat(IF({_OLD} > 0, array('delete'), array()), {inserts}))"
    operation = F.expr(operations).alias(OPERATION)
    return counts.select(*columns, *groups[len(columns) :], _OLD, operation).localCheckpoint()


def exact_text(rows: DataFrame, relation: str = "") -> str:
    """The text of the columns in which equal values may differ, in SQL."""
    prefix = f"{relation}." if relation else ""
    fields = [field for field in rows.schema.fields if not field.name.startswith("__sqlext_")]
    names = [f"{prefix}{quoted(field.name)}" for field in fields if has_equal_forms(field.dataType)]
    return f"to_json(struct({', '.join(names)}))"


@contextmanager
def _writing(spark: SparkSession, rows: DataFrame, settings: dict[str, str]) -> Iterator[tuple[SparkSession, str]]:
    """A session with these settings and else those of `spark`, and the name of the rows in it."""
    name = f"__sqlext_rows_{uuid.uuid4().hex}"
    rows.createOrReplaceGlobalTempView(name)
    try:
        session = _other_session(spark)
        for setting, value in settings.items():
            session.conf.set(setting, value)
        yield session, f"{global_schema(spark)}.{name}"
    finally:
        spark.catalog.dropGlobalTempView(name)


def global_schema(spark: SparkSession) -> str:
    """The schema of global temporary views."""
    return quoted(spark.conf.get("spark.sql.globalTempDatabase", "global_temp") or "global_temp")


def _other_session(spark: SparkSession) -> SparkSession:
    if is_connect(spark):
        if not hasattr(spark, "cloneSession"):
            raise UnsupportedError(
                "MATERIALIZED_VIEW_SESSION",
                "a materialized view needs a session of its own to be written, which this version of Spark Connect "
                "does not have",
                hint="use Spark 4.1 or later, or a session without Connect.",
            )
        return spark.cloneSession()
    session = spark.newSession()
    for setting, value in _settings(spark):
        session.conf.set(setting, value)
    return session


def _settings(spark: SparkSession) -> Sequence[tuple[str, str]]:
    """The settings of a session that can be made in another one."""
    values = spark.conf.getAll
    values = values if isinstance(values, dict) else dict(values())  # type: ignore[operator]
    names = (name for name in values if name.startswith(("spark.sql.", "spark.databricks.")))
    # Spark does not know the settings of catalogs, which may be made at any time
    return [(name, values[name]) for name in names if name.startswith(_CATALOGS) or spark.conf.isModifiable(name)]
