"""Temporary views over clauses, which read the files that their tables have when the views are read.

Such a view is a DataFrame with a name. Spark lists the files of a table of Parquet or another format when it analyses a
query, so without a refresh a view would read the files that its tables had when it was created. Delta lists them when a
query runs, so views that read only Delta are not refreshed: a refresh also drops the rows that Spark keeps in memory of
queries over the view.
"""

from __future__ import annotations

import re

from pyspark.errors import AnalysisException

from sqlext.engine.queries.cached_views import session_of
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.rewriter.text.names import Parts, quote
from sqlext.spark.quiet_probes import quiet_probes

_VIEWS: dict[str, set[Parts]] = {}  # the names of the views of each session
_LISTED = re.compile(r"Location: (InMemory|Catalog)FileIndex")  # in EXPLAIN, where Spark lists the files itself


def note_view(call: SqlCall, name: Parts) -> None:
    """Remember a temporary view over a clause if it reads files that Spark lists, and forget one that it replaces."""
    (plan,) = call.sql(f"EXPLAIN SELECT * FROM {quote(name)}").collect()
    views = _VIEWS.setdefault(session_of(call.spark), set())
    if _LISTED.search(plan[0]):
        views.add(name)
    else:
        views.discard(name)


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
