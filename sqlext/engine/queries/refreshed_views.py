"""Temporary views over clauses, which read the files that their tables have when the views are read.

Such a view is a DataFrame with a name. Spark lists the files of a table of Parquet or another format when it analyses a
query, so without a refresh a view would read the files that its tables had when it was created.
"""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from sqlext.engine.queries.cached_views import session_of
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.rewriter.text.names import Parts, quote
from sqlext.spark.quiet_probes import quiet_probes

_VIEWS: dict[str, set[Parts]] = {}  # the names of the views of each session


def note_view(spark: SparkSession, name: Parts) -> None:
    """Remember a temporary view over a clause."""
    _VIEWS.setdefault(session_of(spark), set()).add(name)


def refresh_views(call: SqlCall, text: str) -> None:
    """List the files below the temporary views over clauses that a text names, unless Spark keeps the rows of the view
    in memory."""
    views = _VIEWS.get(session_of(call.spark)) if _VIEWS else None
    if not views:
        return
    lowered = text.lower()
    for name in [name for name in views if name[-1].lower() in lowered]:
        try:
            with quiet_probes():
                if not call.spark.catalog.isCached(quote(name)):
                    call.sql(f"REFRESH TABLE {quote(name)}")
        except AnalysisException:  # the view has been dropped
            views.discard(name)
