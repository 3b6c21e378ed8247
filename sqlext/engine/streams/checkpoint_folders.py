"""The folder of a query's checkpoint, which no query of another table has ever had.

A query that has ended may still write: up to a minute later Spark uploads a snapshot of its state, and creates the
folder again if the table was dropped. A later query must not find that. So the names of the folders end with the
identifier that the table's format gives it when it is created, `_checkpoints/stream-981f29d1-…`. It keeps that when it
is renamed, restored or changed, and one that replaces it, is LIKE it or a CLONE of it has another one.

Earlier versions had `_checkpoints/stream`. If there is the record of a query, the query resumes there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from sqlext.catalog.checkpoint import Checkpoint
from sqlext.catalog.warehouse import CHECKPOINTS
from sqlext.formats.format import StreamTable
from sqlext.formats.known_formats import format_of
from sqlext.rewriter.heads.stream_target import StreamTarget
from sqlext.rewriter.text.names import Parts
from sqlext.spark.locations import path_here
from sqlext.spark.quiet_probes import quiet_probes

STREAM, INSERT = "stream", "insert"  # the names of checkpoints
NAME = "sqlext.stream.name"  # the name of the checkpoint of an INSERT, if several write into one table
_IDENTIFIER = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class CheckpointFolders:
    """The folders that the checkpoint of a query may have: `own` for the table of this identifier, and the `former` one
    of earlier versions. `table`: the folder of the table; `forgets`: it may forget the micro-batches of old queries;
    `computes`: it may compute columns of the rows that are written into it."""

    own: str
    former: str
    table: str
    forgets: bool
    computes: bool

    def current(self, spark: SparkSession) -> Checkpoint:
        """The checkpoint from which the query resumes, or with which it begins."""
        own, former = Checkpoint(spark, self.own), Checkpoint(spark, self.former)
        return former if not own.has_record and former.has_record else own


def own_name(spark: SparkSession, target: StreamTarget) -> str:
    """The name of the target's checkpoint, of which a table with several INSERT has several."""
    return (spark.conf.get(NAME, "") or INSERT) if target.is_insert else STREAM


def folders_of(spark: SparkSession, target: StreamTarget) -> CheckpointFolders:
    """The folders for the checkpoint of a query into a table that exists."""
    table, name = stream_table(spark, target.name), own_name(spark, target)
    folders = _in_table(table, name)
    if target.checkpoint:
        own = f"{target.checkpoint.rstrip('/')}/{name}-{table.identifier}"
        return replace(folders, own=own, former=target.checkpoint)
    return folders


def stream_table(spark: SparkSession, name: Parts) -> StreamTable:
    """What the format says of a table."""
    with quiet_probes():  # without Delta there is no such statement
        return format_of(spark, name).stream_table(spark, name)


def _in_table(table: StreamTable, name: str) -> CheckpointFolders:
    former = f"{table.location.rstrip('/')}/{CHECKPOINTS}/{name}"
    return CheckpointFolders(f"{former}-{table.identifier}", former, table.location, table.forgets, table.computes)


def stream_checkpoint(spark: SparkSession, name: Parts, location: str) -> Checkpoint:
    """The checkpoint of CREATE STREAMING TABLE in the folder of a table. If only one has a record, Spark is not asked
    for the identifier of the table."""
    here = path_here(spark, location)
    names = [] if here is None else [path.name for path in (here / CHECKPOINTS).glob(f"{STREAM}*")]
    checkpoints = (
        Checkpoint(spark, f"{location.rstrip('/')}/{CHECKPOINTS}/{name}")
        for name in names
        if name == STREAM or _IDENTIFIER.fullmatch(name.removeprefix(STREAM))
    )
    recorded = [checkpoint for checkpoint in checkpoints if checkpoint.has_record]
    if len(recorded) == 1 or (here is not None and not recorded):
        return recorded[0] if recorded else Checkpoint(spark, f"{location.rstrip('/')}/{CHECKPOINTS}/{STREAM}")
    return _in_table(stream_table(spark, name), STREAM).current(spark)
