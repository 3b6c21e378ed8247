"""What a stream is written into: `Sink`, of which each kind of table is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql import types as T
from pyspark.sql.streaming import DataStreamWriter

from sqlext.catalog.checkpoint import Checkpoint
from sqlext.engine.streams.checkpoint_folders import CheckpointFolders
from sqlext.engine.streams.upsert import Upsert


@dataclass(frozen=True, kw_only=True)
class StreamRows:
    """The rows of a stream. `frame`: as the query returns them, with its HIDDEN columns; `written`: with the names and
    types of the table's columns; `upsert`: how rows replace each other, None if all are appended."""

    frame: DataFrame
    written: DataFrame
    upsert: Upsert | None


@dataclass(frozen=True, kw_only=True)
class Writing:
    """How a stream is written. `table`: the quoted name of the table into which Spark itself writes; None if it calls a
    function of ours with each micro-batch, for `what`, in words."""

    writer: DataStreamWriter
    table: str | None = None
    what: str = ""


class Sink(Protocol):
    """A table that the query of one statement is written into. All methods but the first want it to exist."""

    def check(self) -> None:
        """Raise BindError unless the query can be written into it."""

    def fields(self, frame: DataFrame) -> Sequence[T.StructField]:
        """The columns of the table that the columns of the query are written into. Raises BindError if there are
        others."""

    def check_upsert(self, upsert: Upsert) -> None:
        """Raise BindError or UnsupportedError if rows of the table cannot replace each other so."""

    def folders(self) -> CheckpointFolders:
        """Where the checkpoint of the query may be."""

    def check_belongs(self, folders: CheckpointFolders, checkpoint: Checkpoint) -> None:
        """Raise DataError if the table and the checkpoint do not belong together."""

    def begin(self, written: DataFrame, folders: CheckpointFolders) -> None:
        """Note, where the table can, that the query begins."""

    def writing(self, rows: StreamRows, folders: CheckpointFolders, checkpoint: str) -> Writing:
        """How the rows are written, once each as far as the kind of table allows."""
