"""`extend(spark)` makes the session's own `sql` understand the extended language.

The methods `table`, `read.table` and `catalog` then also know stored views. The methods are hooked on the session's
class, because Spark creates new Python objects for one session (`SparkSession.getActiveSession()`, `df.sparkSession`).
A classic session is marked as extended in its runtime settings, a Connect session by its id (servers may refuse unknown
settings). In all other sessions, and for all plain Spark SQL, the original method receives exactly the same arguments.
`spark.udf.register` is hooked, too (`python_functions`).
"""

from __future__ import annotations

import functools
import uuid
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlext.engine.queries.python_functions import forget, hook_register, unhook_register
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.spark.kind import SESSION, is_connect, session_of
from sqlext.spark.namesake import warn_of_namesake
from sqlext.spark.pandas_versions import warn_of_pandas
from sqlext.spark.worker_python import warn_of_other_python

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    Sql = Callable[..., DataFrame]

ORIGINAL = "__sqlext_original__"  # the attribute of the hooked method that holds Spark's own method
_CONNECT_SESSIONS: set[str] = set()
_ORIGINALS: dict[type, dict[str, Any]] = {}  # the attributes that restore() restores besides `sql`
_EXTENDED: Counter[type] = Counter()  # how many sessions of a hooked class are extended, stopped ones included


def extend(spark: SparkSession) -> SparkSession:
    """Make `spark.sql` understand the extended language, in this session only. Returns `spark`.

    Works with classic and with Connect sessions, and may be called again. A `newSession()` is another session, which
    must be extended separately.
    """
    cls = defining_class(spark)
    if not hasattr(cls.sql, ORIGINAL):
        _ORIGINALS[cls] = {name: vars(cls)[name] for name in ("table", "read", "catalog")}
        cls.table, cls.read, cls.catalog = _with_views(**_ORIGINALS[cls])
        cls.sql = _hooked(cls.sql)
        from sqlext.sessions import worker_errors  # needs pyspark, which workers that import sqlext do not load

        worker_errors.install(is_connect=is_connect(spark))
        warn_of_namesake()
        if not is_connect(spark):
            warn_of_other_python(spark)
            warn_of_pandas(spark)
    if not _is_marked(spark):
        _mark(spark)
        _EXTENDED[cls] += 1
        hook_register(spark)
    return spark


def restore(spark: SparkSession) -> SparkSession:
    """Undo `extend(spark)`. After the last session of a class, the class gets its own method back. Returns `spark`."""
    cls = defining_class(spark)
    if _is_marked(spark):
        forget(spark)
        _unmark(spark)
        _EXTENDED[cls] -= 1
    if _EXTENDED[cls] <= 0 and hasattr(cls.sql, ORIGINAL):
        cls.sql = getattr(cls.sql, ORIGINAL)
        for name, original in _ORIGINALS.pop(cls).items():
            setattr(cls, name, original)
        unhook_register(spark)
        del _EXTENDED[cls]
    return spark


def is_extended(spark: SparkSession) -> bool:
    """Return True if `spark.sql` understands the extended language."""
    return hasattr(defining_class(spark).sql, ORIGINAL) and _is_marked(spark)


def unhooked(spark: SparkSession) -> Sql:
    """Spark's own `sql` of the session, with the signature `sql(text, args=None, **frames)`."""
    method = defining_class(spark).sql
    return functools.partial(getattr(method, ORIGINAL, method), spark)


def defining_class(spark: SparkSession) -> Any:
    """The session's class, or its base class that defines the method `sql`."""
    return next(cls for cls in type(spark).__mro__ if "sql" in vars(cls))


def _is_marked(spark: Any) -> bool:
    if is_connect(spark):
        return spark.session_id in _CONNECT_SESSIONS
    return bool(session_of(spark))


def _mark(spark: Any) -> None:
    if is_connect(spark):
        _CONNECT_SESSIONS.add(spark.session_id)
    else:
        spark.conf.set(SESSION, uuid.uuid4().hex)


def _unmark(spark: Any) -> None:
    if is_connect(spark):
        _CONNECT_SESSIONS.discard(spark.session_id)
    else:
        spark.conf.unset(SESSION)


def _hooked(original: Sql) -> Sql:
    from sqlext.sessions.dispatch import (
        dispatch,  # needs pyspark and sqlglot, which workers that import sqlext do not load
    )

    @functools.wraps(original)
    def sql(self: SparkSession, sqlQuery: str, args: Any = None, **kwargs: Any) -> DataFrame:
        if not isinstance(sqlQuery, str) or not _is_marked(self):
            return original(self, sqlQuery, args, **kwargs)
        own = functools.partial(original, self)
        return dispatch(SqlCall(spark=self, sql=own, text=sqlQuery, args=args, frames=kwargs))

    setattr(sql, ORIGINAL, original)
    return sql


def _with_views(table: Any, read: Any, catalog: Any) -> tuple[Any, property, property]:
    """The method and the two properties (or cached properties) for a session's class, which also know stored views."""
    from sqlext.sessions import catalog_methods  # needs pyspark, which workers that import sqlext do not load

    def call(self: SparkSession) -> SqlCall:
        return SqlCall(spark=self, sql=unhooked(self), text="")

    @functools.wraps(table)
    def extended_table(self: SparkSession, tableName: str) -> DataFrame:
        own = functools.partial(table, self)
        return catalog_methods.table(call(self), own, tableName) if _is_marked(self) else own(tableName)

    def extended_read(self: SparkSession) -> Any:
        own = read.__get__(self, type(self))
        return catalog_methods.with_stored_views(call(self), own) if _is_marked(self) else own

    def extended_catalog(self: SparkSession) -> Any:
        own = catalog.__get__(self, type(self))
        return catalog_methods.with_views_listed(call(self), own) if _is_marked(self) else own

    return extended_table, property(extended_read, doc=read.__doc__), property(extended_catalog, doc=catalog.__doc__)
