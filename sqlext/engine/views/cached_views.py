"""Stored views that CACHE TABLE keeps in memory, for each session.

Spark finds a cached query by its plan. A clause that is planned again has another plan, so the cached DataFrame is kept
and read in place of the view.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from sqlext.rewriter.text.names import Parts
from sqlext.spark.kind import session_of

_CACHED: dict[tuple[str, Parts], DataFrame] = {}


def cache(spark: SparkSession, name: Parts, frame: DataFrame, *, is_lazy: bool) -> None:
    """Keep the rows of a view in memory, from now on or (`is_lazy`) from its first use."""
    uncache(spark, name)
    frame.cache()
    if not is_lazy:
        frame.count()
    _CACHED[_key(spark, name)] = frame


def uncache(spark: SparkSession, name: Parts) -> bool:
    """Drop the kept rows of a view; return False if none are kept."""
    frame = _CACHED.pop(_key(spark, name), None) if _CACHED else None
    if frame is not None:
        frame.unpersist()
    return frame is not None


def cached(spark: SparkSession, name: Parts) -> DataFrame | None:
    """The kept rows of a view, or None."""
    return _CACHED.get(_key(spark, name)) if _CACHED else None


def _key(spark: SparkSession, name: Parts) -> tuple[str, Parts]:
    full = name if len(name) > 1 else (spark.catalog.currentDatabase(), *name)
    full = full if len(full) > 2 else (spark.catalog.currentCatalog(), *full)
    return session_of(spark), tuple(part.lower() for part in full)
