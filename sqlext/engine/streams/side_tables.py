"""Rows that a stream could not use, as tables: rows that came too late, and rows on which something failed.

| setting | one row of the table |
|---|---|
| `sqlext.late_rows` | `time`, the `watermark` that had passed it, and the whole `row` as JSON |
| `sqlext.failed_rows` | `time`, the `error`, and the whole `row` as JSON; of a failed match the values of its keys |

The operator writes the rows into files in a folder of the table. The names of the files follow from its state, so a
micro-batch that is run again writes the same files. A second streaming query copies each file into the table once.
The folder is named by the clause and by the identifier of its query, so no other query writes files of these names.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, replace

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from sqlext.catalog import streams
from sqlext.catalog.warehouse import CHECKPOINTS
from sqlext.engine.planning.fingerprint import Fingerprint
from sqlext.errors import UnsupportedError
from sqlext.formats.known_formats import format_of, table_location
from sqlext.operators.rows.columns import LATE_ROW
from sqlext.operators.stateful.side_rows import FAILED, LATE
from sqlext.rewriter.lowering.match_plan import InputColumn, MatchPlan
from sqlext.rewriter.text.names import quote, split_name
from sqlext.rewriter.text.splice import join
from sqlext.spark.locations import file_path, path_here
from sqlext.spark.quiet_probes import quiet_probes

COLUMNS = {
    LATE: "`time` TIMESTAMP_LTZ, watermark TIMESTAMP_LTZ, row STRING",
    FAILED: "`time` TIMESTAMP_LTZ, error STRING, row STRING",
}


@dataclass(frozen=True, kw_only=True)
class SideTable:
    """`setting`: LATE or FAILED; `name`: the quoted name; `folder`: where the operator of one clause writes its
    files."""

    setting: str
    name: str
    folder: str
    checkpoint: str


def table_names(spark: SparkSession) -> dict[str, str]:
    """The names of the tables that are set, by their settings."""
    names = {setting: spark.conf.get(setting, "") or "" for setting in COLUMNS}
    return {setting: name for setting, name in names.items() if name}


def with_rows(plan: MatchPlan) -> MatchPlan:
    """The plan with the whole rows of the relation as a further column."""
    return replace(plan, columns=(*plan.columns, InputColumn(LATE_ROW, join("to_json(struct(*))"))))


def open_folders(spark: SparkSession, fingerprint: Fingerprint, identifier: Callable[[], str] | None) -> dict[str, str]:
    """The folders into which the operator of a clause writes, by the settings of their tables; see `open_tables`. None
    for a query that writes into no table, whose files nobody would copy."""
    if identifier is None:
        return {}
    return {table.setting: table.folder for table in open_tables(spark, fingerprint, identifier())}


def open_tables(spark: SparkSession, fingerprint: Fingerprint, identifier: str) -> list[SideTable]:
    """The tables that are set, created if they do not exist. `identifier`: of the query.

    Raises UnsupportedError if one is not in a file system of Spark's machines.
    """
    return [_open(spark, setting, name, fingerprint, identifier) for setting, name in table_names(spark).items()]


def written_rows(spark: SparkSession, setting: str, fingerprint: Fingerprint, identifier: str) -> DataFrame | None:
    """The rows of one clause that its operator has written for the table of this setting, also those that are not
    copied yet; None if no table is set, or it does not exist, or the operator does not write into it."""
    unquoted_name = table_names(spark).get(setting)
    if unquoted_name is None:
        return None
    try:
        with quiet_probes():
            location = file_path(table_location(spark, split_name(unquoted_name)))
            own = _own_name(spark, f"{location}/{CHECKPOINTS}", fingerprint, identifier)
            return spark.read.schema(COLUMNS[setting]).parquet(f"{location}/_arriving/{own}")
    except PySparkException:
        return None


def _open(
    spark: SparkSession, setting: str, unquoted_name: str, fingerprint: Fingerprint, identifier: str
) -> SideTable:
    name, tables = quote(split_name(unquoted_name)), format_of(spark, split_name(unquoted_name))
    spark.createDataFrame([], COLUMNS[setting]).write.format(tables.name).mode("ignore").saveAsTable(name)
    location = file_path(table_location(spark, split_name(unquoted_name)))
    if location is None:
        raise UnsupportedError(
            "LATE_ROWS_FOLDER",
            f"the table {name} of {setting} is not in a file system of Spark's machines",
            hint=f"unset {setting}; such rows are counted in any case.",
        )
    own = _own_name(spark, f"{location}/{CHECKPOINTS}", fingerprint, identifier)
    folder, checkpoint = f"{location}/_arriving/{own}", f"{location}/{CHECKPOINTS}/{own}"
    _make(spark, folder, setting)
    return SideTable(setting=setting, name=name, folder=folder, checkpoint=checkpoint)


def _own_name(spark: SparkSession, checkpoints: str, fingerprint: Fingerprint, identifier: str) -> str:
    """The name of the clause's folders, which an earlier version may have created."""
    path = path_here(spark, checkpoints)
    digests = (*fingerprint.former, fingerprint.digest)
    *former, own = (f"{digest}-{identifier}" if identifier else digest for digest in digests)
    return next((name for name in former if path is not None and (path / name).is_dir()), own)


def _make(spark: SparkSession, folder: str, setting: str) -> None:
    """Create a folder, which Spark reads before a worker writes into it. On Connect only Spark can create it."""
    if (path := path_here(spark, folder)) is not None:
        path.mkdir(parents=True, exist_ok=True)
    else:
        spark.createDataFrame([], COLUMNS[setting]).coalesce(1).write.mode("ignore").parquet(folder)


def follow(spark: SparkSession, table: SideTable, title: str, trigger: dict) -> None:
    """Start the query that copies written files into the table; with availableNow wait until it has copied all files.

    `title`: the name of the streaming table that has such rows. A copy that runs still, because only the query of the
    table was stopped, is begun anew.
    """
    name = streams.name_of_copy(title, table.setting.rpartition(".")[2], posixpath.basename(table.folder))
    for copy in streams.running(spark, name):
        copy.stop()
    files = spark.readStream.schema(COLUMNS[table.setting]).parquet(table.folder)
    tables = format_of(spark, split_name(table.name))
    writer = files.writeStream.format(tables.name).option("checkpointLocation", table.checkpoint)
    writer = writer.queryName(name)
    query = writer.trigger(**trigger).toTable(table.name) if trigger else writer.toTable(table.name)
    if trigger.get("availableNow"):
        query.awaitTermination()
