"""The catalog that a name belongs to, and its whole name."""

from __future__ import annotations

from typing import Any

from sqlext.rewriter.text.names import Parts

SESSION_CATALOG, DEFAULT_CATALOG = "spark_catalog", "spark.sql.defaultCatalog"


def catalog_of(spark: Any, name: Parts) -> str:
    """The catalog of a name."""
    if len(name) > 1 and (name[0] == SESSION_CATALOG or spark.conf.get(f"spark.sql.catalog.{name[0]}", None)):
        return name[0]
    return current_schema(spark)[0]


def whole_name(spark: Any, name: Parts) -> Parts:
    """The name with its catalog and schema."""
    catalog = catalog_of(spark, name)
    if len(name) > 1:
        return name if name[0] == catalog else (catalog, *name)
    return (*current_schema(spark), *name)


def current_schema(spark: Any) -> Parts:
    """The current catalog and schema of a session.

    In a thread that has run no statement, the object `spark.catalog` answers for a session with Spark's own settings,
    in which the default catalog is SESSION_CATALOG. So a statement is asked where that may be wrong.
    """
    catalog = str(spark.catalog.currentCatalog())
    if catalog == SESSION_CATALOG and spark.conf.get(DEFAULT_CATALOG, SESSION_CATALOG) != SESSION_CATALOG:
        return tuple(map(str, spark.sql("SELECT current_catalog(), current_schema()").first()))
    return (catalog, str(spark.catalog.currentDatabase()))
