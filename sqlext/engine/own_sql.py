"""Spark's own `sql` of a session, below our hook."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ORIGINAL = "__sqlext_original__"  # where the hooked method keeps Spark's


def unhooked(spark: SparkSession) -> Callable[..., DataFrame]:
    """Spark's own `sql` of the session, with the signature `sql(text, args=None, **frames)`."""
    method = defining_class(spark).sql
    return functools.partial(getattr(method, ORIGINAL, method), spark)


def defining_class(spark: SparkSession) -> Any:
    """The class of the session, or above it, that has the method."""
    return next(cls for cls in type(spark).__mro__ if "sql" in vars(cls))
