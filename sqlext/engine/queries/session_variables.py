"""The sessions that may have variables, which Spark does not list. This module is light, since plain SQL loads it
too."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.engine.queries.sql_call import SqlCall
from sqlext.spark.kind import session_of

_DECLARING: set[str] = set()


def note_declaration(call: SqlCall) -> None:
    """Remember that the session may have variables, if the statement declares one."""
    if "DECLARE" in call.text.upper():
        _DECLARING.add(session_of(call.spark))


def may_have_variables(spark: SparkSession) -> bool:
    """Return True if a statement of the session has declared a variable."""
    return session_of(spark) in _DECLARING
