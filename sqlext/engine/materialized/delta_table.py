"""A Delta table that a materialized view reads, or is. Where its log is on this machine, it is read there, which takes
no job; Spark tells it otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from sqlext.engine.materialized.table import Table
from sqlext.engine.scan.file_relation import delta_table
from sqlext.formats.delta import table_detail
from sqlext.formats.delta_history import history, history_in
from sqlext.formats.format import Commit
from sqlext.rewriter.text.names import Parts, quote
from sqlext.spark.java_errors import Py4JError
from sqlext.spark.kind import is_connect
from sqlext.spark.quiet_probes import quiet_probes

_MAPPING = "delta.columnMapping.mode"
_STAGED = "_staged_commits"  # in a folder of a log: commits that the log does not have yet


@dataclass(frozen=True, kw_only=True)
class TableDetail:
    """What a table is besides its rows; `partitions`: its partition columns in lower case."""

    location: str
    properties: Mapping[str, str]
    partitions: tuple[str, ...]

    @property
    def has_own_names(self) -> bool:
        """Whether its files have the columns under their names in the table."""
        return self.properties.get(_MAPPING, "none").lower() == "none"


@dataclass(frozen=True, kw_only=True)
class DeltaTable(Table):
    """`log`: the folder of its log, if that is on this machine."""

    log: Path | None
    local: TableDetail | None

    def history(self, limit: int | None) -> list[Commit]:
        try:
            if self.log is not None:
                return history_in(self.log, limit)
        except OSError:  # a file that was removed meanwhile
            pass
        return history(self.sql, self.name, limit)

    @property
    def why_unknown(self) -> str:
        return "not a Delta table"

    @cached_property
    def definition(self) -> TableDetail:
        """What DESCRIBE DETAIL says of it, which also counts its files and takes long."""
        if self.local is not None:
            return self.local
        spark, name = self.spark, self.name
        properties = {row[0]: row[1] for row in spark.sql(f"SHOW TBLPROPERTIES {quote(name)}").collect()}
        if "/" in name[-1]:  # delta.`/a/path`
            detail = table_detail(spark, name)
            partitions = tuple(map(str.lower, detail.partitionColumns))
            return TableDetail(location=detail.location, properties=properties, partitions=partitions)
        rows = [(row[0], row[1]) for row in spark.sql(f"DESCRIBE TABLE EXTENDED {quote(name)}").collect()]
        location = next(value for title, value in rows if title == "Location")
        titles = [title for title, _ in rows]
        first = titles.index("# Partition Information") + 2 if "# Partition Information" in titles else len(titles)
        names = takewhile(lambda title: title and not title.startswith("#"), titles[first:])
        return TableDetail(location=location, properties=properties, partitions=tuple(map(str.lower, names)))


def delta_table_of(spark: SparkSession, sql: Callable[..., DataFrame], name: Parts) -> DeltaTable:
    """The relation of a name, which may also be none."""
    facts = None if is_connect(spark) else _facts(sql, name)
    return DeltaTable(spark=spark, sql=sql, name=name, log=facts and facts[0], local=facts and facts[1])


def _facts(sql: Callable[..., DataFrame], name: Parts) -> tuple[Path, TableDetail] | None:
    """The folder of the log of a Delta table on this machine, and its definition."""
    try:
        with quiet_probes():
            known = delta_table(sql(f"SELECT * FROM {quote(name)}"))
    except (PySparkException, Py4JError):
        return None
    if known is None or not known.log.is_dir() or any((known.log / _STAGED).glob("*")):
        return None
    location = f"file:{known.log.parent}"
    return known.log, TableDetail(location=location, properties=known.properties, partitions=known.partitions)
