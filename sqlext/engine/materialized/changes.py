"""Which rows of a table may have changed from one version to another. Each format has its own answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from sqlext.engine.materialized.table import Table
from sqlext.engine.scan.file_relation import NotRead


class UnknownChangesError(Exception):
    """The changes of a source cannot be found; the text is the reason, as a clause of a sentence."""


@dataclass(frozen=True, kw_only=True)
class Changes(ABC):
    """The changes of a table from version `before` to `after`. `has_changes`: there may be some."""

    table: Table
    before: int
    after: int
    has_changes: bool

    @property
    @abstractmethod
    def way(self) -> str:
        """What tells them, after the word "by"."""

    def values(self, spark: SparkSession, columns: Sequence[str], cores: int) -> pa.Table:
        """The values of these columns in all rows that may have changed, before and after the change, each once.

        Raises NotRead if this process does not read the files.
        """
        raise NotRead("Spark alone reads what has changed")

    @abstractmethod
    def rows(self, spark: SparkSession, columns: Sequence[str]) -> DataFrame:
        """The values of these columns in all rows that may have changed, before and after the change."""
