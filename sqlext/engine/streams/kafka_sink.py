"""A topic of Kafka as the sink of a stream, or of the rows of a batch: each row is written at least once."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from sqlext.catalog import streams
from sqlext.catalog.checkpoint import Checkpoint
from sqlext.catalog.views import TABLE, View
from sqlext.catalog.warehouse import CHECKPOINTS
from sqlext.engine.queries.queries import WATERMARK
from sqlext.engine.queries.spark_errors import user_error
from sqlext.engine.sources.brokers import ask_brokers
from sqlext.engine.sources.tables import key_columns, stored_table
from sqlext.engine.streams.append import query_of
from sqlext.engine.streams.checkpoint_folders import CheckpointFolders, own_name
from sqlext.engine.streams.kafka_records import KEY, RAW_COLUMNS, VALUE, RecordLayout, records
from sqlext.engine.streams.sinks import StreamRows, Writing
from sqlext.engine.streams.target_table import as_table, written_fields
from sqlext.engine.streams.upsert import Upsert, last_rows_query
from sqlext.errors import BindError, DataError, UnsupportedError
from sqlext.formats.known_formats import table_location
from sqlext.rewriter.emit.upserted import HIDDEN
from sqlext.rewriter.heads.kafka_options import RAW, SCHEMA, TOPIC, writer_options
from sqlext.rewriter.heads.source_table import SourceTable
from sqlext.rewriter.heads.stream_target import StreamTarget
from sqlext.rewriter.text.names import quote
from sqlext.rewriter.text.splice import Text
from sqlext.spark.java_errors import Py4JError
from sqlext.spark.quiet_probes import quiet_probes


@dataclass
class TopicWriter:
    """The function that Spark calls with each micro-batch. `options`: of Spark's writer; `checkpoint`: of the query."""

    layout: RecordLayout
    upsert: Upsert | None
    options: Mapping[str, str]
    checkpoint: str
    query: str = field(default="", init=False)

    def __call__(self, rows: DataFrame, batch: int) -> None:
        spark = rows.sparkSession
        self.query = self.query or query_of(spark, self.checkpoint)
        if self.upsert is not None:
            rows = spark.sql(last_rows_query(self.upsert), rows=rows)
        _write(records(rows, self.layout, self.query, batch), self.options)


def _write(rows: DataFrame, options: Mapping[str, str]) -> None:
    rows.write.format("kafka").options(**options).save()


@dataclass(frozen=True)
class KafkaSink:
    """See `Sink`. `view`: the stored table."""

    spark: SparkSession
    target: StreamTarget
    view: View

    @cached_property
    def _table(self) -> SourceTable:
        return stored_table(self.view)

    @property
    def _is_raw(self) -> bool:
        return self._table.format == RAW

    @cached_property
    def _columns(self) -> T.StructType:
        """The columns that can be written."""
        stored = self.view.query_columns
        return RAW_COLUMNS if stored is None else T.StructType.fromJson(json.loads(stored))

    @cached_property
    def _key(self) -> tuple[str, ...]:
        """The columns that are in the keys of records, unless UPSERT KEY names others."""
        return (KEY,) if self._is_raw else tuple(filter(None, key_columns(self._table, self._columns)))

    @cached_property
    def _options(self) -> dict[str, str]:
        return writer_options(self._table.options)

    def check(self) -> None:
        if not self._table.option(TOPIC):
            raise BindError(
                "KAFKA_SINK",
                f"{quote(self.target.name)} names no topic to write into",
                place=self.target.place,
                hint="CREATE OR REPLACE TABLE … USING kafka OPTIONS (topic = '…', …) names one, which is read, too.",
            )
        if self.target.upsert_key and self._is_raw:
            raise UnsupportedError(
                "KAFKA_SINK",
                "UPSERT KEY names columns of the value, and the values of this table have no format",
                place=self.target.upsert_key[0].place,
                hint=f"let the query return one row for each {KEY}, or create a table with 'value.format' = 'json'.",
            )

    def fields(self, frame: DataFrame) -> Sequence[T.StructField]:
        fields = written_fields(self._columns.fields, frame, self.target)
        names = [field.name for field in fields]
        needed = (VALUE,) if self._is_raw else () if self.target.upsert_key else self._key
        missing = next((name for name in needed if name not in names), None)
        if missing is not None:
            raise BindError(
                "KAFKA_SINK",
                f"the INSERT leaves out {missing}, which each record of {quote(self.target.name)} needs",
                place=self.target.place,
                hint=f"add it to the list of columns, and what it is to the query: (…, {missing}) SELECT ….",
            )
        return fields

    def check_upsert(self, upsert: Upsert) -> None:
        pass  # its columns are those of the query

    def folders(self) -> CheckpointFolders:
        """Beside the tables of the schema, by the name of the table and its topic: with other options, or after it was
        dropped and created again, the query goes on; with another topic it begins."""
        place = table_location(self.spark, (*self.target.name[:-1], TABLE)).rstrip("/")
        name = f"{own_name(self.spark, self.target)}-{self._table.option(TOPIC)}"
        own = f"{place}/{CHECKPOINTS}/{self.view.name}/{name}"
        return CheckpointFolders(own, own, table="", forgets=True, computes=False)

    def check_belongs(self, folders: CheckpointFolders, checkpoint: Checkpoint) -> None:
        pass  # a topic does not know which micro-batches it has

    def begin(self, written: DataFrame, folders: CheckpointFolders) -> None:
        """Raise BindError if a column has a type that its format cannot have, and SetupError KAFKA_BROKER if no broker
        answers: Spark would only tell later."""
        try:
            with quiet_probes():
                _ = records(written, self._appending(written), "", 0).schema
        except PySparkException as error:
            raise user_error(error, Text(), self.target.text).placed(self.target.place) from None
        ask_brokers(self.spark, self._options, quote(self.target.name), self.target.place)

    def writing(self, rows: StreamRows, folders: CheckpointFolders, checkpoint: str) -> Writing:
        if rows.upsert is None:
            into = TopicWriter(self._appending(rows.written), None, self._options, checkpoint)
            return Writing(writer=rows.written.writeStream.foreachBatch(into), what="a topic of Kafka")
        into = TopicWriter(self._replacing(rows, rows.upsert), rows.upsert, self._options, checkpoint)
        return Writing(writer=rows.frame.writeStream.foreachBatch(into), what="a topic of Kafka")

    def write(self, frame: DataFrame) -> DataFrame:
        """Write the rows of a batch query, and return an empty DataFrame."""
        self.check()
        if self.target.upsert_key:
            raise UnsupportedError(
                "KAFKA_SINK",
                "UPSERT KEY is for streams, and this query reads none",
                place=self.target.upsert_key[0].place,
                hint="leave it out, and let the query return one row of each key.",
            )
        written = as_table(frame, self.fields(frame), self.target)
        self.begin(written, self.folders())
        try:
            _write(records(written, self._appending(written), uuid.uuid4().hex, 0), self._options)
        except (PySparkException, Py4JError) as error:
            cause = streams.root_cause(streams.whole_text(error)).rpartition("Caused by: ")[2]
            message = f"not all rows could be written into the topic {self._table.option(TOPIC)}: {cause}"
            raise DataError("KAFKA_SINK", message, place=self.target.place) from None
        return self.spark.createDataFrame([], T.StructType([]))

    def _appending(self, written: DataFrame) -> RecordLayout:
        times = tuple(field.name for field in written.schema.fields if WATERMARK in field.metadata)
        columns = tuple((field, field.name) for field in written.schema.fields)
        key = tuple(name for name in self._key if name in written.columns)
        return replace(self._layout, columns=columns, key=key, times=times)

    def _replacing(self, rows: StreamRows, upsert: Upsert) -> RecordLayout:
        names = [name for name in rows.frame.columns if name not in HIDDEN]
        columns = tuple(zip(rows.written.schema.fields, names))
        key = tuple(field.name for name in upsert.key for field, own in columns if own == name)
        return replace(self._layout, columns=columns, key=key, timing=upsert.timing, is_alone=True)

    @property
    def _layout(self) -> RecordLayout:
        return RecordLayout(format=self._table.format, schema=self._table.option(SCHEMA) or None)
