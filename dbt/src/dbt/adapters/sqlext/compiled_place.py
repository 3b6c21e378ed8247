"""Errors of Spark and of the extended language as errors of dbt, with their place in the compiled file."""

from __future__ import annotations

import threading
from typing import Any

from dbt_common.exceptions import DbtDatabaseError
from pyspark.errors import PySparkException

from sqlext import SqlExtError
from sqlext.errors import Place
from sqlext.sessions.failures import reason, reason_in_part

_thread = threading.local()  # dbt runs each node in one thread


def enter_node(node: Any) -> None:
    """The model, snapshot, seed or test that this thread runs from now on; None for none."""
    _thread.node = node


def database_error(error: Exception, statement: str) -> DbtDatabaseError:
    """The error with its place in the compiled file of the node that runs, instead of in the statement around it.

    `statement`: the text in which Spark has found the error.
    """
    node = getattr(_thread, "node", None)
    code, path = getattr(node, "compiled_code", None), getattr(node, "compiled_path", None)
    if isinstance(error, SqlExtError):
        in_file = in_compiled_code(error, code) if code and path else None
        return DbtDatabaseError(_with_path(str(in_file), in_file.place, path) if in_file else str(error))
    if not isinstance(error, PySparkException):
        return DbtDatabaseError(str(error))
    found = reason_in_part(error, statement, code) if code and path else None
    if found is None:
        return DbtDatabaseError(reason(error))
    message, place = found
    return DbtDatabaseError(_with_path(f"{message}\n{place.excerpt()}", place, path))


def _with_path(message: str, place: Place | None, path: str) -> str:
    return f"{message}\nat {path}:{place.line}:{place.column}" if place is not None else message


def in_compiled_code(error: SqlExtError, code: str) -> SqlExtError | None:
    """The error with its place in the code of a model, which is a part of the statement; None if it lies elsewhere.

    >>> from sqlext import BindError
    >>> from sqlext.errors import Place
    >>> statement = "create table t as\\nselect x"
    >>> error = BindError("UNKNOWN_COLUMN", "there is no column x", place=Place(statement, 25, 26))
    >>> print(in_compiled_code(error, "select x"))
    SQLEXT_UNKNOWN_COLUMN: there is no column x
      1 | select x
        |        ^
    """
    if error.place is None or code not in error.place.text:
        return None
    start = error.place.text.index(code)
    if not start <= error.place.start < start + len(code):
        return None
    return error.moved(code, -start)
