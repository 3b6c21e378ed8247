"""Registers the Delta tables of a warehouse folder in the catalog of a session, and drops them with their files.

A local session's catalog is kept in memory: the next process knows none of the tables, and CREATE TABLE … AS then fails
because the folder is not empty. So every folder of the warehouse with a Delta log is registered as a table when a
session starts. Spark registers it as an EXTERNAL table (a managed table must be empty at first), whose files DROP TABLE
does not remove. `run_drop` removes them, as for the managed table that it was before.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlext.catalog import streams
from sqlext.catalog.views import is_known
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.names import Parts, quote
from sqlext.spark.locations import path_here
from sqlext.spark.user_warnings import warn

WAREHOUSE = "sqlext.warehouse"  # session setting: the folder whose tables were registered
# In Spark's errors of a session without Delta: about its tables, and about DESCRIBE DETAIL.
_NO_DELTA = ("Failed to find the data source: delta", "The table or view `DETAIL` cannot be found")
_DATABASE_ENDING = ".db"
_NOT_EMPTY = re.compile(r"DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION.*location \('([^']+)'\)", re.DOTALL)
CHECKPOINTS = "_checkpoints"  # in the folder of a table; Delta ignores names that begin with an underscore


@dataclass(frozen=True)
class WarehouseTable:
    """A Delta table in a warehouse folder."""

    name: Parts  # (database, table)
    folder: Path

    def statements(self) -> tuple[str, str]:
        """The statements that register the table in the catalog; they have no effect if it is registered."""
        location = string_literal(self.folder.as_posix())  # Hadoop reads C:/x on Windows
        return (
            f"CREATE DATABASE IF NOT EXISTS {quote(self.name[:-1])}",
            f"CREATE TABLE IF NOT EXISTS {quote(self.name)} USING delta LOCATION {location}",
        )


def warehouse_tables(warehouse: Path) -> list[WarehouseTable]:
    """The Delta tables of a warehouse: folders `table` (database default), then `name.db/table`, each in name order."""
    tables = [WarehouseTable(("default", folder.name), folder) for folder in _delta_folders(warehouse)]
    if warehouse.is_dir():
        for database in sorted(warehouse.glob(f"*{_DATABASE_ENDING}")):
            name = database.name.removesuffix(_DATABASE_ENDING)
            tables += [WarehouseTable((name, folder.name), folder) for folder in _delta_folders(database)]
    return tables


def _delta_folders(parent: Path) -> Iterator[Path]:
    """Folders with a Delta log and a name that can be a table's."""
    for log in sorted(parent.glob("*/_delta_log")):
        folder = log.parent
        if folder.name.isidentifier() and not folder.name.startswith("_") and any(log.glob("*.json")):
            yield folder


def run_drop(spark: Any, sql: Callable[..., Any], drop: Callable[[], Any], name: Parts) -> Any:
    """Run a DROP TABLE, `drop`. Before it, the streams that write into the table are stopped; after it, the files of a
    registered table are removed, too."""
    title = streams.table_title(spark, name)
    streams.stop(spark, title)
    streams.forget(title)
    folder = _files_of_dropped(spark, sql, name)
    result = drop()
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
    return result


def run(spark: Any, by_spark: Callable[[], Any]) -> Any:
    """Run a statement. What a stream wrote into a table after its DROP is removed if it is in the way of a CREATE
    TABLE."""
    try:
        return by_spark()
    except Exception as error:  # Spark's AnalysisException, which this module does not load
        if not remove_unfinished(_folder_in_the_way(spark, error)):
            raise
        return by_spark()


def stop_renamed(spark: Any, name: Parts) -> None:
    """Before ALTER TABLE … RENAME TO, stop the streams that write into the table: they have the paths of its former
    folder."""
    title = streams.table_title(spark, name)
    if streams.stop(spark, title):
        warn([f"the streams into {title} were stopped to rename it; their statements with the new name resume them."])
    streams.forget(title)


def _files_of_dropped(spark: Any, sql: Callable[..., Any], table: Parts) -> Path | None:
    """The folder of a registered table; None for any other table.

    It must be the folder in which the warehouse has the table of exactly that name: files elsewhere are the user's.
    """
    warehouse = spark.conf.get(WAREHOUSE, None)
    if not warehouse or not is_known(spark, table):
        return None
    described = {row.col_name: row.data_type for row in sql(f"DESCRIBE TABLE EXTENDED {quote(table)}").collect()}
    name, location = (described.get("Database"), described.get("Table")), described.get("Location", "")
    if described.get("Type") != "EXTERNAL":
        return None
    homes = [known.folder for known in warehouse_tables(Path(warehouse)) if known.name == name]
    folder = path_here(spark, location)
    return folder if folder in homes else None


def _folder_in_the_way(spark: Any, error: Exception) -> Path | None:
    """The folder with files that Delta names if it cannot create a table there, on this machine."""
    location = _NOT_EMPTY.search(str(error))
    return None if location is None else path_here(spark, location[1])


def table_folder(spark: Any, sql: Callable[..., Any], name: Parts) -> Path | None:
    """The folder in which Spark will create a table; None if that is not on this machine."""
    schema = name[:-1] or (spark.catalog.currentDatabase(),)
    rows = sql(f"DESCRIBE SCHEMA {quote(schema)}").collect()
    folder = path_here(spark, next((row[1] for row in rows if row[0] == "Location"), ""))
    return None if folder is None else folder / name[-1].lower()


def remove_unfinished(folder: Path | None) -> bool:
    """Remove the folder of a table that a killed process had begun to create, or that was dropped. Return True if it
    is removed.

    The former has no data, and its log no commit. The latter has state of a stream, which Spark may write up to a
    minute after the stream has ended.
    """
    if folder is None or not folder.is_dir():
        return False
    files = [path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir()]
    if not all(map(_is_unfinished, files)):
        return False
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def _is_unfinished(file: Path) -> bool:
    """
    >>> _is_unfinished(Path("_delta_log/.0.json.tmp")), _is_unfinished(Path("_delta_log/0.json"))
    (True, False)
    >>> _is_unfinished(Path("_checkpoints/stream-1/state/0/0/1.zip")), _is_unfinished(Path("_checkpoints/x/offsets/0"))
    (True, False)
    """
    is_state = file.parts[0] == CHECKPOINTS and file.parts[2:3] == ("state",)
    return is_state or (file.parts[-2:-1] == ("_delta_log",) and file.name.startswith("."))


def is_without_delta(error: Exception, text: str) -> bool:
    """Return True if a statement failed because its session has no Delta, which it does not mention itself."""
    words = text.lower()
    return any(sign in str(error) for sign in _NO_DELTA) and "delta" not in words and "detail" not in words
