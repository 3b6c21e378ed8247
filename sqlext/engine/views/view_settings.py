"""The settings with which stored views are read: those of their creation, as Spark does with its own views."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from sqlext.catalog.views import View
from sqlext.engine.queries.session_settings import is_on, other_values, temporary_settings
from sqlext.errors import Place, UnsupportedError
from sqlext.spark.kind import is_connect


@contextmanager
def with_its_settings(view: View, spark: SparkSession, place: Place) -> Iterator[None]:
    """Plan and analyse a stored view, which is read at `place`, with the settings of its creation.

    A Connect server analyses a query again when it runs. Raises UnsupportedError there if a setting has another value.
    """
    others = other_settings(view, spark)
    if others and is_connect(spark):
        name, value = next(iter(others.items()))
        now = other_values(spark, others)[name]
        raise UnsupportedError(
            "VIEW_SETTINGS",
            f"the view {view.name} was created with {name} = {value}, and this session has {now}",
            place=place,
            hint=f"SET {name} = {value}: a Connect server runs all of a query with the same settings.",
        )
    with temporary_settings(spark, others):
        yield


def other_settings(view: View, spark: SparkSession) -> dict[str, str]:
    """The settings of a view's creation to which the session gives other values."""
    is_read_as_now = is_on(spark, "spark.sql.legacy.useCurrentConfigsForView", default="false")
    settings = {} if is_read_as_now else dict(view.settings)
    return {name: settings[name] for name in other_values(spark, settings)}
