"""`extend(spark)`: the session's own `sql` understands the extended language.

The method is hooked on the session's class, because Spark hands out new Python objects for one session
(`SparkSession.getActiveSession()`, `df.sparkSession`). Which sessions are extended is kept with the session: in the
runtime settings of a classic one, under the session id of a Connect one (servers may refuse unknown settings). In all
other sessions, and for all text that is not ours, the original method gets the very same arguments.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlext.quiet import quiet_probes

if TYPE_CHECKING:
    from pyspark.errors import AnalysisException
    from pyspark.sql import DataFrame, SparkSession

    from sqlext.catalog.views import View

    Sql = Callable[..., DataFrame]

ORIGINAL = "__sqlext_original__"  # the attribute of the hooked method that keeps Spark's own
_MARKER = "sqlext.enabled"
_CONNECT_SESSIONS: set[str] = set()
_EXTENDED: Counter[type] = Counter()  # hooked class → how many of its sessions are extended, stopped ones included

_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*(\w+)", re.DOTALL)


def extend(spark: SparkSession) -> SparkSession:
    """Let `spark.sql` understand the extended language, in this session only; again is no harm. Returns `spark`.

    Works with classic and with Connect sessions. A `newSession()` is another session: extend it too.
    """
    cls = defining_class(spark)
    if not hasattr(cls.sql, ORIGINAL):
        cls.sql = _hooked(cls.sql)
    if not _is_marked(spark):
        _mark(spark)
        _EXTENDED[cls] += 1
    return spark


def restore(spark: SparkSession) -> SparkSession:
    """Undo `extend(spark)`; with the last session of its class the class gets its own method back. Returns `spark`."""
    cls = defining_class(spark)
    if _is_marked(spark):
        _unmark(spark)
        _EXTENDED[cls] -= 1
    if _EXTENDED[cls] <= 0 and hasattr(cls.sql, ORIGINAL):
        cls.sql = getattr(cls.sql, ORIGINAL)
        del _EXTENDED[cls]
    return spark


def is_extended(spark: SparkSession) -> bool:
    """Whether `spark.sql` understands the extended language."""
    return hasattr(defining_class(spark).sql, ORIGINAL) and _is_marked(spark)


def unhooked(spark: SparkSession) -> Sql:
    """Spark's own `sql` of the session, with the signature `sql(text, args=None, **frames)`."""
    method = defining_class(spark).sql
    return functools.partial(getattr(method, ORIGINAL, method), spark)


def defining_class(spark: SparkSession) -> Any:
    """The session's class or the base class of it that defines the method `sql`."""
    return next(cls for cls in type(spark).__mro__ if "sql" in vars(cls))


def _is_connect(spark: Any) -> bool:
    return ".connect." in type(spark).__module__


def _is_marked(spark: Any) -> bool:
    if _is_connect(spark):
        return spark.session_id in _CONNECT_SESSIONS
    return spark.conf.get(_MARKER, "false") == "true"


def _mark(spark: Any) -> None:
    if _is_connect(spark):
        _CONNECT_SESSIONS.add(spark.session_id)
    else:
        spark.conf.set(_MARKER, "true")


def _unmark(spark: Any) -> None:
    if _is_connect(spark):
        _CONNECT_SESSIONS.discard(spark.session_id)
    else:
        spark.conf.unset(_MARKER)


def _hooked(original: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
    from sqlext.rewriter.scan import is_extended as uses_extension

    @functools.wraps(original)
    def sql(self: SparkSession, sqlQuery: str, args: Any = None, **kwargs: Any) -> DataFrame:
        if not isinstance(sqlQuery, str) or not _is_marked(self):
            return original(self, sqlQuery, args, **kwargs)
        own = functools.partial(original, self)
        if "sqlext_match" in sqlQuery.lower():
            _register_table_function(self)
        if uses_extension(sqlQuery):
            return _run(self, sqlQuery, args, kwargs, own)
        if _first_word(sqlQuery) in ("CREATE", "DROP"):
            own = functools.partial(_create_or_drop, self, own)
        return _with_stored_views(self, sqlQuery, args, kwargs, own)

    setattr(sql, ORIGINAL, original)
    return sql


def _register_table_function(spark: SparkSession) -> None:
    """Only where a text names it: it loads numba."""
    from sqlext.engine.portable.table_function import register

    register(spark)


def _first_word(text: str) -> str:
    """In upper case, behind blanks and comments; "" if there is none."""
    found = _FIRST_WORD.match(text)
    return found[1].upper() if found else ""


def _run(spark: SparkSession, text: str, args: Any, frames: dict[str, Any], sql: Sql) -> DataFrame:
    # Imported on the first use: plain SQL does not wait for the planner.
    from sqlext.engine.explanation import explain_statement
    from sqlext.engine.plan_statement import SqlCall
    from sqlext.engine.statement import run
    from sqlext.rewriter.scan import explained

    call = SqlCall(spark=spark, sql=sql, text=text, args=args, frames=frames)
    query = explained(text)
    if query is None:
        return run(call)
    explanation = explain_statement(replace(call, text=query.text))
    return spark.createDataFrame([(explanation,)], "plan STRING")


def _with_stored_views(spark: SparkSession, text: str, args: Any, frames: dict[str, Any], sql: Sql) -> DataFrame:
    """Spark's own answer, but for a text that fails only because it names a stored extended view.

    Asking Spark first costs plain statements nothing, and lets a table of that name win. Both kinds of session analyze
    names in this very call.
    """
    from pyspark.errors import AnalysisException

    try:
        with quiet_probes() as held:
            return sql(text, args, **frames)
    except AnalysisException as error:
        # A script may have carried out half of its statements: it is not run again.
        if _first_word(text) == "BEGIN" or _missing_view(spark, error) is None:
            held.release()
            raise
    return _run(spark, text, args, frames, unhooked(spark))


def _missing_view(spark: SparkSession, error: AnalysisException) -> View | None:
    """The stored view that Spark did not find."""
    if error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
        return None
    from sqlext.catalog import views

    name = (error.getMessageParameters() or {}).get("relationName")
    return views.lookup(spark, unhooked(spark), name) if name else None


def _create_or_drop(spark: SparkSession, sql: Sql, text: str, args: Any = None, **frames: Any) -> DataFrame:
    """CREATE and DROP of tables and plain views, where stored views and registered tables must follow."""
    from sqlext.catalog import views, warehouse
    from sqlext.rewriter.heads import parse_target

    target = parse_target(text)
    if target is not None and not target.is_insert:
        return _run(spark, text, args, frames, unhooked(spark))
    done = views.run_plain(spark, sql, text)
    return warehouse.run_drop(spark, sql, text, args, frames) if done is None else done
