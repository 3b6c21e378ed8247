"""Errors of Spark and of the extended language as errors of dbt, with their place in the compiled file."""

from __future__ import annotations

import threading
from typing import Any

from dbt_common.exceptions import DbtDatabaseError

from sqlext import SqlExtError

_thread = threading.local()  # dbt runs each node in one thread


def enter_node(node: Any) -> None:
    """The model, snapshot, seed or test that this thread runs from now on; None for none."""
    _thread.node = node


def database_error(error: Exception) -> DbtDatabaseError:
    """The error with its place in the compiled file of the node that runs, instead of in the statement around it."""
    node = getattr(_thread, "node", None)
    code, path = getattr(node, "compiled_code", None), getattr(node, "compiled_path", None)
    if isinstance(error, SqlExtError) and code and path:
        in_file = in_compiled_code(error, code)
        if in_file is not None and in_file.place is not None:
            return DbtDatabaseError(f"{in_file}\nat {path}:{in_file.place.line}:{in_file.place.column}")
    return DbtDatabaseError(str(error))


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
