"""Temporary views over clauses, which read the files that their tables have when the views are read.

Such a view is a DataFrame with a name. Spark lists the files of a table of Parquet or another format when it analyses a
query, so without a refresh a view would read the files that its tables had when it was created. Delta lists them when a
query runs, so views that read only Delta are not refreshed: a refresh also drops the rows that Spark keeps in memory of
queries over the view. A plain temporary view is a text with a name, and reads such views when it is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pyspark.errors import AnalysisException

from sqlext.engine.queries.sql_call import SqlCall
from sqlext.rewriter.text.names import Parts, quote
from sqlext.spark.kind import session_of
from sqlext.spark.quiet_probes import quiet_probes

# for each session, the temporary views, and the views over clauses that each of them reads: a view over a clause itself
_VIEWS: dict[str, dict[Parts, frozenset[Parts]]] = {}
_LISTED = re.compile(r"Location: (InMemory|Catalog)FileIndex")  # in EXPLAIN, where Spark lists the files itself


def note_view(call: SqlCall, name: Parts) -> None:
    """Remember a temporary view over a clause if it reads files that Spark lists, and forget one that it replaces."""
    (plan,) = call.sql(f"EXPLAIN SELECT * FROM {quote(name)}").collect()
    views = _VIEWS.setdefault(session_of(call.spark), {})
    if _LISTED.search(plan[0]):
        views[name] = frozenset({name})
    else:
        views.pop(name, None)


def note_plain_view(call: SqlCall, name: Parts, query: str) -> None:
    """Remember a plain temporary view if its query names a view that is refreshed, and forget one that it replaces."""
    views = _VIEWS.get(session_of(call.spark)) if _VIEWS else None
    if not views:
        return
    read = [views[other] for other in _named(views, query) if other != name]
    if read:
        views[name] = frozenset().union(*read)
    else:
        views.pop(name, None)


def refresh_views(call: SqlCall, text: str) -> None:
    """List the files below the temporary views over clauses that a text names, unless Spark keeps the rows of the view
    in memory."""
    views = _VIEWS.get(session_of(call.spark)) if _VIEWS else None
    if not views:
        return
    for name in _named(views, text):
        try:
            with quiet_probes():
                if not _is_cached(call, name):
                    for view in views[name] & views.keys():
                        _refresh(call, view)
        except AnalysisException:  # the view has been dropped, or one that it reads
            views.pop(name, None)


def _refresh(call: SqlCall, view: Parts) -> None:
    if not _is_cached(call, view):
        call.sql(f"REFRESH TABLE {quote(view)}")


def _named(views: Iterable[Parts], text: str) -> list[Parts]:
    """The views whose names are in a text."""
    lowered = text.lower()
    return [name for name in views if name[-1].lower() in lowered]


def _is_cached(call: SqlCall, name: Parts) -> bool:
    return call.spark.catalog.isCached(quote(name))
