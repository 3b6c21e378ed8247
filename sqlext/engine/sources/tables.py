"""Tables of Kafka: what CREATE TABLE … USING kafka stores, and the rows of such a table.

The catalog keeps the text of the statement, as it keeps the queries of stored views, and with it the columns of the
values: those of the list, those of the schema of Avro, or those of the records that are there when it is created.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sqlext.catalog import views
from sqlext.catalog.views import View
from sqlext.engine.queries.queries import Queries
from sqlext.engine.queries.session_settings import settings_of
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.sources.brokers import ask_brokers
from sqlext.engine.sources.kafka import read_records, reading
from sqlext.engine.sources.values import ValueFormat, columns_of_json, failed_rows, typed_rows
from sqlext.errors import BindError, Place, SetupError
from sqlext.rewriter.heads.kafka_options import (
    AVRO,
    BATCH,
    FORMAT,
    JSON,
    KEY_COLUMNS,
    RAW,
    SCHEMA,
    Option,
    check_query,
    meaning,
)
from sqlext.rewriter.heads.source_table import SourceTable, parse_source
from sqlext.rewriter.text.splice import Source, join
from sqlext.spark.progress import VALUE_METRICS
from sqlext.spark.quiet_probes import quiet_probes

_NUMBERS = itertools.count()  # Spark refuses two metrics of one name in a query, which may read views
_SAMPLE = 1000  # the records of whose values the columns of JSON are inferred
_WITH_TIMES = "SELECT CAST('2000-01-01' AS TIMESTAMP)"  # what reads a time from a text depends on the same settings


def create_table(call: SqlCall, table: SourceTable) -> DataFrame:
    """CREATE TABLE … USING kafka. No broker is asked, unless the columns of JSON are to be inferred.

    Raises SetupError KAFKA_NOT_FOUND; BindError KAFKA_OPTION, TABLE_EXISTS, and Spark's errors about a type.
    """
    options = reading(call.spark, table.options, (), BATCH, table.place)
    records = read_records(call.spark, options, BATCH, table.place)
    if table.format == JSON and not table.columns:
        ask_brokers(call.spark, options, ".".join(table.name), table.place)
    columns = _columns(call, table, records)
    _check_key(table, columns)
    return views.create_table(
        call.spark,
        call.sql,
        table,
        None if columns is None else columns.json(),
        settings_of(call.spark, _WITH_TIMES if table.format == JSON else ""),
    )


def key_columns(table: SourceTable, columns: T.StructType | None) -> tuple[str | None, ...]:
    """The columns of the values that KEY_COLUMNS names, in its order; None for a name that they do not have."""
    named = [name.strip().strip("`").lower() for name in table.option(KEY_COLUMNS).split(",") if name.strip()]
    fields = {field.name.lower(): field.name for field in columns or ()}
    return tuple(map(fields.get, named))


def _check_key(table: SourceTable, columns: T.StructType | None) -> None:
    """Raise BindError KAFKA_OPTION if KEY_COLUMNS names a column that the values do not have."""
    if None in key_columns(table, columns):
        option = next(option for option in table.options if option.key == KEY_COLUMNS)
        raise BindError(
            "KAFKA_OPTION",
            f"{option.value} names a column that the values do not have",
            place=option.place,
            hint=f"their columns are {', '.join(field.name for field in columns or ())}.",
        )


def _columns(call: SqlCall, table: SourceTable, records: DataFrame) -> T.StructType | None:
    """The columns of the values of these records; None if they stay as they are."""
    if table.format == RAW:
        return None
    place = next(option.place for option in table.options if option.key == FORMAT)
    if table.format == AVRO:
        if table.columns:
            raise BindError(
                "KAFKA_OPTION",
                "values in Avro have the columns of their schema",
                place=table.columns[0].place,
                hint="leave the list of columns out.",
            )
        return _columns_of_avro(call, table)
    if table.columns:
        return _declared(call, table)
    texts = records.where("value IS NOT NULL").select(F.col("value").cast("string")).limit(_SAMPLE).collect()
    columns = columns_of_json([text for (text,) in texts if _is_object(text)], records)
    if columns is None:
        raise BindError(
            "KAFKA_OPTION",
            "the topic has no JSON object yet, from which the columns could be inferred",
            place=place,
            hint=f"write the columns of the values: CREATE TABLE {'.'.join(table.name)} (name type, …) USING kafka ….",
        )
    return columns


def _declared(call: SqlCall, table: SourceTable) -> T.StructType:
    """The columns of the list, with their types. Raises BindError at a type that Spark does not know."""
    source, queries = Source(call.text), Queries(call.sql, {}, call.text)
    types = []
    for column in table.columns:
        assert column.type is not None
        query = join("SELECT CAST(NULL AS ", source.of(column.type), ") AS c")
        types.append(T.StructField(column.name, queries.run(query).schema.fields[0].dataType))
    return T.StructType(types)


def _columns_of_avro(call: SqlCall, table: SourceTable) -> T.StructType:
    schema = next(option for option in table.options if option.key == SCHEMA)
    try:
        with quiet_probes():
            empty = call.spark.range(0).select(F.lit(b"").alias("value"))
            parsed = ValueFormat(name=AVRO, columns=T.StructType(), schema=schema.value).parsed(empty)
            kind = parsed.schema.fields[-1].dataType
    except Exception as error:  # Py4J's, if Avro refuses the schema in a classic session
        raise _about_avro(call, schema, error) from None
    if not isinstance(kind, T.StructType) or not kind.fields:
        raise BindError("KAFKA_OPTION", "the schema of the values is no record with fields", place=schema.place)
    return kind


def _about_avro(call: SqlCall, schema: Option, error: Exception) -> BindError | SetupError:
    text = str(error)
    if "AVRO_NOT_LOADED" in text or "from_avro" in text or "TableInputFormat" in text:
        return SetupError(
            "AVRO_NOT_FOUND",
            "this Spark cannot read Avro",
            place=schema.place,
            hint='start it with the jar: session(**{"spark.jars.packages": '
            f'"org.apache.spark:spark-avro_2.13:{call.spark.version}"}}), or --packages of spark-submit.',
        )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return BindError("KAFKA_OPTION", f"Avro refuses the schema: {lines[0] if lines else ''}", place=schema.place)


def _is_object(text: str | None) -> bool:
    try:
        return isinstance(json.loads(text or ""), dict)
    except ValueError:
        return False


@dataclass(frozen=True, kw_only=True)
class SourceRows:
    """A table of Kafka as a statement reads it at `place`. `options`: of Spark's reader; `topics`: the identifiers of
    its topics by their names, if the statement is run and its client can know them; `values`: how its values are read,
    None if they stay as they are; `metric`: the name of the observed metric that reports its failed values."""

    view: View
    table: SourceTable
    place: Place
    options: Mapping[str, str]
    topics: Mapping[str, str]
    records: DataFrame
    values: ValueFormat | None
    metric: str

    @property
    def rows(self) -> DataFrame:
        """The rows of the table."""
        return self.records if self.values is None else typed_rows(self.records, self.values, self.metric)

    def explained(self, reader: str) -> str:
        """How the table is read, for EXPLAIN MATCH. `reader`: BATCH or STREAM."""
        how = "stay as they are" if self.values is None else f"are read as {self.values.name.upper()}"
        return f"{reader} of {', '.join(meaning(self.table.options))}\nits values {how}"

    @property
    def failed(self) -> DataFrame | None:
        """The records whose values cannot be read; None if all can."""
        return None if self.values is None else failed_rows(self.records, self.values)


def open_table(call: SqlCall, view: View, query: Sequence[Option], reader: str, place: Place) -> SourceRows:
    """The table as a statement reads it at `place` with the options `query`. `reader`: BATCH or STREAM.

    Raises BindError KAFKA_OPTION, UnsupportedError KAFKA_OPTION, and SetupError KAFKA_NOT_FOUND; for a statement that
    is run also SetupError KAFKA_BROKER and BindError KAFKA_TOPIC.
    """
    check_query(query, reader)
    table = stored_table(view)
    options = reading(call.spark, table.options, query, reader, place)
    metric = f"{VALUE_METRICS}_{next(_NUMBERS)}"
    records = read_records(call.spark, options, reader, place)
    return SourceRows(
        view=view,
        table=table,
        place=place,
        options=options,
        topics=ask_brokers(call.spark, options, view.name, place) if call.is_run else {},
        records=records,
        values=_format(view, table),
        metric=metric,
    )


def stored_table(view: View) -> SourceTable:
    """The CREATE TABLE of a table of Kafka that the catalog keeps."""
    table = parse_source(view.text)
    assert table is not None
    return table


def _format(view: View, table: SourceTable) -> ValueFormat | None:
    if view.query_columns is None:
        return None
    columns = T.StructType.fromJson(json.loads(view.query_columns))
    return ValueFormat(name=table.format, columns=columns, schema=table.option(SCHEMA))
