"""Registers the Delta tables of a warehouse folder in the catalog of a session, and drops them with their files.

A local session's catalog is kept in memory: the next process knows none of the tables, and CREATE TABLE … AS then fails
because the folder is not empty. So every folder of the warehouse with a Delta log is registered as a table when a
session starts. Spark registers it as an EXTERNAL table (a managed table must be empty at first), whose files DROP TABLE
does not remove. `run_drop` removes them, as for the managed table that it was before.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlext.catalog import streams
from sqlext.catalog.views import is_known
from sqlext.rewriter.heads.heads import DROP_TABLE, parse_head
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.names import Parts, quote, quoted
from sqlext.spark.kind import is_connect
from sqlext.spark.locations import local_path

WAREHOUSE = "sqlext.warehouse"  # session setting: the folder whose tables were registered
# In Spark's errors of a session without Delta: about its tables, and about DESCRIBE DETAIL.
_NO_DELTA = ("Failed to find the data source: delta", "The table or view `DETAIL` cannot be found")
_DATABASE_ENDING = ".db"


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


def run_drop(
    spark: Any, sql: Callable[..., Any], text: str, args: Any = None, frames: Mapping[str, Any] | None = None
) -> Any:
    """Run the statement. Before a DROP TABLE, the streams that write into the table are stopped.

    After a DROP TABLE of a registered table, its files are removed, too.
    """
    head = parse_head(text)
    if head is not None and head.verb == DROP_TABLE:
        title = streams.table_title(spark, head.name.parts)
        streams.stop(spark, title)
        streams.forget(title)
    folder = _files_of_dropped(spark, sql, text)
    result = sql(text, args, **(frames or {}))
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
    return result


def _files_of_dropped(spark: Any, sql: Callable[..., Any], text: str) -> Path | None:
    """The folder of the registered table that a DROP TABLE names; None for any other statement or folder.

    It must be the folder in which the warehouse has the table of exactly that name: files elsewhere are the user's.
    """
    head = parse_head(text)
    warehouse = spark.conf.get(WAREHOUSE, None)
    if head is None or head.verb != DROP_TABLE or not warehouse:
        return None
    table = quote(head.name.parts)
    if not is_known(spark, head.name.parts):
        return None
    described = {row.col_name: row.data_type for row in sql(f"DESCRIBE TABLE EXTENDED {table}").collect()}
    name, location = (described.get("Database"), described.get("Table")), described.get("Location", "")
    if described.get("Type") != "EXTERNAL":
        return None
    homes = [known.folder for known in warehouse_tables(Path(warehouse)) if known.name == name]
    folder = path_here(spark, location)
    return folder if folder in homes else None


def path_here(spark: Any, location: str) -> Path | None:
    """The path on this machine of a location that Spark returns; None if it is elsewhere, as all are on Connect."""
    return None if is_connect(spark) else local_path(location)


def table_folder(spark: Any, sql: Callable[..., Any], name: Parts) -> Path | None:
    """The folder in which Spark will create a table; None if that is not on this machine."""
    schema = quoted(name[-2]) if len(name) > 1 else quoted(spark.catalog.currentDatabase())
    rows = sql(f"DESCRIBE SCHEMA {schema}").collect()
    folder = path_here(spark, next((row[1] for row in rows if row[0] == "Location"), ""))
    return None if folder is None else folder / name[-1].lower()


def table_location(spark: Any, name: Parts) -> str:
    """The location of a Delta table. Raises PySparkException if there is none of that name."""
    return str(spark.sql(f"DESCRIBE DETAIL {quote(name)}").collect()[0]["location"])


def remove_unfinished(folder: Path | None) -> None:
    """Remove the folder of a table that a killed process had begun to create. It has no data, and its log no commit."""
    if folder is None or not folder.is_dir():
        return
    files = [path for path in folder.rglob("*") if path.is_file()]
    if all(path.parent.name == "_delta_log" and path.name.startswith(".") for path in files):
        shutil.rmtree(folder)


def is_without_delta(error: Exception, text: str) -> bool:
    """Return True if a statement failed because its session has no Delta, which it does not mention itself."""
    words = text.lower()
    return any(sign in str(error) for sign in _NO_DELTA) and "delta" not in words and "detail" not in words
