"""The formats, and which of them the tables of a name have."""

from __future__ import annotations

import re
from typing import Any

from sqlext.errors import SqlExtError
from sqlext.formats.catalogs import catalog_of, current_schema
from sqlext.formats.delta import DELTA
from sqlext.formats.format import Format
from sqlext.formats.iceberg import ICEBERG
from sqlext.formats.parquet import PARQUET
from sqlext.rewriter.text.names import Parts

FORMATS: tuple[Format, ...] = (DELTA, ICEBERG, PARQUET)
_CONFLICT = re.compile("|".join(f.conflict for f in FORMATS if f.conflict))


def format_named(name: str) -> Format | None:
    """The format of a name, as after USING.

    >>> format_named("Iceberg").title, format_named("orc")
    ('Iceberg', None)
    """
    return next((f for f in FORMATS if f.name == name.lower()), None)


def format_of(spark: Any, name: Parts) -> Format:
    """The format of the tables in the catalog of a name, also of one that does not exist yet: Delta's, unless the
    catalog is that of another format. No table is looked up."""
    if "/" in name[-1]:  # delta.`/a/path`
        return format_named(name[0]) or DELTA
    return _of_catalog(spark, catalog_of(spark, name))


def current_format(spark: Any) -> Format:
    """The format of the tables in the current catalog."""
    return _of_catalog(spark, current_schema(spark)[0])


def _of_catalog(spark: Any, catalog: str) -> Format:
    kind = spark.conf.get(f"spark.sql.catalog.{catalog}", "") or ""
    return next((f for f in FORMATS if f.catalogs and kind.startswith(f.catalogs)), DELTA)


def table_location(spark: Any, name: Parts) -> str:
    """The location of a table. Raises PySparkException if there is none of that name."""
    return format_of(spark, name).location(spark, name)


def is_conflict(error: Exception) -> bool:
    """True if another session has written at the same time.

    Py4J, Spark and Spark Connect each have their own classes for these errors.
    """
    return not isinstance(error, SqlExtError) and _CONFLICT.search(str(error)[:2000]) is not None
