"""An Iceberg table that a materialized view reads, or is. Its versions are snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pyspark.errors import PySparkException

from sqlext.catalog.materialized_views import NO_VERSION, SourceVersion
from sqlext.engine.materialized.table import Table
from sqlext.errors import DataError
from sqlext.formats.format import Commit
from sqlext.formats.iceberg import ICEBERG, commits_of
from sqlext.formats.iceberg_metadata import TableMetadata
from sqlext.rewriter.text.names import quote
from sqlext.spark.java_errors import Py4JError
from sqlext.spark.quiet_probes import quiet_probes


@dataclass(frozen=True, kw_only=True)
class IcebergTable(Table):
    """A table of a catalog of Iceberg, which may also be another relation, or none."""

    @cached_property
    def metadata(self) -> TableMetadata | None:
        """What the table is; None if it is no table of Iceberg, or nobody can read the file of its metadata."""
        try:
            with quiet_probes():
                return ICEBERG.metadata(self.spark, self.name)
        except (PySparkException, Py4JError, DataError):
            return None

    def history(self, limit: int | None) -> list[Commit]:
        return commits_of(ICEBERG.metadata(self.spark, self.name))[:limit]

    @cached_property
    def recent(self) -> list[Commit]:
        return [] if self.metadata is None else commits_of(self.metadata)

    def at(self, version: int) -> str:
        return f"(SELECT * FROM {quote(self.name)} LIMIT 0)" if version == NO_VERSION else super().at(version)

    @property
    def version(self) -> SourceVersion | None:
        """Its snapshot. Spark reads a snapshot with the columns of its time, so there is none if these were changed."""
        if self.metadata is None or not self.metadata.is_read_as_its_snapshot:
            return None
        return super().version or SourceVersion(NO_VERSION, 0)

    @property
    def why_unknown(self) -> str:
        if self.metadata is None:
            return "not a table of Iceberg whose metadata can be read"
        return "a table whose columns were changed after its last snapshot"
