"""A table in the catalog as the sink of a stream: each row is written exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from sqlext.catalog.checkpoint import Checkpoint
from sqlext.engine.streams.append import AppendWriter
from sqlext.engine.streams.belonging import check_belongs, mark_begun
from sqlext.engine.streams.checkpoint_folders import CheckpointFolders, folders_of
from sqlext.engine.streams.sinks import StreamRows, Writing
from sqlext.engine.streams.target_table import check_left_out, check_target, written_fields
from sqlext.engine.streams.upsert import Upsert, UpsertWriter, check_table
from sqlext.formats.catalogs import whole_name
from sqlext.formats.known_formats import format_of
from sqlext.rewriter.heads.stream_target import StreamTarget
from sqlext.rewriter.text.names import Parts, quote


@dataclass(frozen=True)
class TableSink:
    """See `Sink`."""

    spark: SparkSession
    target: StreamTarget

    def check(self) -> None:
        check_target(self.spark, self.target)

    def fields(self, frame: DataFrame) -> Sequence[T.StructField]:
        all_fields = self.spark.table(quote(self.target.name)).schema.fields
        fields = written_fields(all_fields, frame, self.target)
        check_left_out(self.spark, all_fields, fields, self.target)
        return fields

    def check_upsert(self, upsert: Upsert) -> None:
        check_table(upsert, self.spark.table(quote(self.target.name)).columns, self.target)

    def folders(self) -> CheckpointFolders:
        return folders_of(self.spark, self.target)

    def check_belongs(self, folders: CheckpointFolders, checkpoint: Checkpoint) -> None:
        check_belongs(self.spark, self.target, folders, checkpoint)

    def begin(self, written: DataFrame, folders: CheckpointFolders) -> None:
        if self.target.is_insert:
            mark_begun(self.spark, written, self.target, folders)

    def writing(self, rows: StreamRows, folders: CheckpointFolders, checkpoint: str) -> Writing:
        tables = format_of(self.spark, self.target.name)
        if rows.upsert is not None:
            merge = UpsertWriter(rows.upsert, self._whole_name(), tables, checkpoint)
            return Writing(writer=rows.frame.writeStream.foreachBatch(merge), what="UPSERT KEY")
        if folders.computes:
            append = AppendWriter(folders.table, checkpoint)
            return Writing(writer=rows.written.writeStream.foreachBatch(append), what="columns that Delta computes")
        arranged = tables.arranged(rows.written, self.spark.table(quote(self.target.name)).schema)
        writer = arranged.writeStream.format(tables.name).options(**tables.write_options)
        return Writing(writer=writer, table=quote(self.target.name))

    def _whole_name(self) -> Parts:
        """The name of the table in the session of a micro-batch, which has another current catalog after USE."""
        name = self.target.name
        return name if "/" in name[-1] else whole_name(self.spark, name)  # delta.`/a/path`
