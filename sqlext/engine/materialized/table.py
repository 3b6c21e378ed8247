"""A table that a materialized view reads, or is, as it is now: its last commits, and its rows at a version."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from sqlext.catalog.materialized_views import RECENT, SourceVersion, State, state_of
from sqlext.formats.format import Commit
from sqlext.rewriter.text.names import Parts, quote
from sqlext.spark.java_errors import Py4JError
from sqlext.spark.quiet_probes import quiet_probes


@dataclass(frozen=True, kw_only=True)
class Table(ABC):
    """A relation of this name, which may also be none. A subclass knows the tables of a format."""

    spark: SparkSession
    sql: Callable[..., DataFrame]
    name: Parts

    @abstractmethod
    def history(self, limit: int | None) -> list[Commit]:
        """Its last commits, that many or all, the last one first. Raises Spark's errors if it is no such table."""

    def at(self, version: int) -> str:
        """Its rows at a version, as a relation."""
        return f"{quote(self.name)} VERSION AS OF {version}"

    @property
    @abstractmethod
    def why_unknown(self) -> str:
        """What it is if its changes are not known, after the words "it is"."""

    @cached_property
    def recent(self) -> list[Commit]:
        """Its last commits, the last one first; none if it is no such table."""
        try:
            with quiet_probes():
                return self.history(RECENT)
        except (PySparkException, Py4JError):
            return []

    @property
    def version(self) -> SourceVersion | None:
        """Its version; None if its changes are not known."""
        return SourceVersion(self.recent[0].version, self.recent[0].committed) if self.recent else None

    @property
    def relation(self) -> str:
        """Its rows at its version, or now if it has none."""
        return quote(self.name) if self.version is None else self.at(self.version.version)

    @cached_property
    def schema(self) -> T.StructType:
        """Its columns at its version, or now if it has none."""
        return self.sql(f"SELECT * FROM {self.relation}").schema

    @property
    def columns(self) -> list[str]:
        """The names of its columns; none if there is no such relation."""
        try:
            with quiet_probes():
                return self.schema.names
        except PySparkException:
            return []

    def state(self, view: str) -> State:
        """What it says of the materialized view with this identifier."""
        return state_of(self.history, view)
