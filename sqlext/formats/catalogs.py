"""The catalog that a name belongs to, and its whole name."""

from __future__ import annotations

from typing import Any

from sqlext.rewriter.text.names import Parts

SESSION_CATALOG, DEFAULT_CATALOG = "spark_catalog", "spark.sql.defaultCatalog"


def catalog_of(spark: Any, name: Parts) -> str:
    """The catalog of a name."""
    if len(name) > 1 and (name[0] == SESSION_CATALOG or spark.conf.get(f"spark.sql.catalog.{name[0]}", None)):
        return name[0]
    return str(spark.catalog.currentCatalog())


def whole_name(spark: Any, name: Parts) -> Parts:
    """The name with its catalog and schema."""
    catalog = catalog_of(spark, name)
    if len(name) > 1:
        return name if name[0] == catalog else (catalog, *name)
    return (catalog, str(spark.catalog.currentDatabase()), *name)
