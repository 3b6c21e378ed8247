"""Why nothing of a query is explained: Spark keeps temporary views, and their clauses are no longer known."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.engine.queries.temporary_objects import is_temporary_view
from sqlext.errors import Place, UnsupportedError
from sqlext.rewriter.tree.sources import relations


def about_temporary_view(spark: SparkSession, error: UnsupportedError, text: str) -> UnsupportedError:
    """The error that a query has nothing to explain, at the first temporary view that it reads, if it reads one."""
    view = next((name for name in relations(text) if is_temporary_view(spark, name.parts)), None)
    if view is None:
        return error
    place = Place(text, view.start, view.stop)
    hint = (
        f"if {place.written} has a clause: it is a temporary view, whose query only Spark knows. Write the query in "
        f"place of the name, FROM (SELECT …) AS {view.parts[-1]}, or store the view: CREATE VIEW, without TEMPORARY."
    )
    return error.with_(place=place, hint=hint)
