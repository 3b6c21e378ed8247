"""Errors that our code raises in Python workers reach the user as what they are, and not inside Spark's stack traces.

Spark sends an exception of a worker as text, in an exception of its own class (PythonException, TASK_WRITE_FAILED, …).
PySpark has one function for each kind of session that makes a Python exception of it. We let that function also find
the error of ours that the text names. The executor's log keeps all of it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from sqlext import errors
from sqlext.errors import SqlExtError

_RAISED = re.compile(
    r"^sqlext\.errors\.(\w+): SQLEXT_(\w+): (.*?)(?:\nHint: ([^\n]*))?(?=\n\s*\n|\n\s*at |\n ?SQLSTATE: |\n?\Z)",
    re.MULTILINE | re.DOTALL,
)


def recovered(text: str) -> SqlExtError | None:
    """The error of ours at the end of a worker's traceback; None if there is none.

    >>> recovered("Traceback …\\nsqlext.errors.DataError: SQLEXT_STEP_BUDGET: too many\\nHint: fewer.\\n\\n\\tat org…")
    DataError('STEP_BUDGET', 'too many', None, 'fewer.')
    """
    match = _RAISED.search(text)
    kind = getattr(errors, match[1], None) if match else None
    if match is None or not (isinstance(kind, type) and issubclass(kind, SqlExtError)):
        return None
    return kind(match[2], match[3], hint=match[4])


def install(is_connect: bool) -> None:
    """Let PySpark raise our errors in the sessions of this process; does nothing when it is called again."""
    if is_connect:
        from pyspark.sql.connect.client import core as module
    else:
        from pyspark.errors.exceptions import captured as module  # type: ignore[no-redef]
    if not hasattr(module.convert_exception, "__wrapped__"):
        module.convert_exception = _recovering(module.convert_exception)


def _recovering(convert: Callable[..., Any]) -> Callable[..., Any]:
    from pyspark.errors import StreamingQueryException

    @functools.wraps(convert)
    def convert_exception(*args: Any, **kwargs: Any) -> Any:
        converted = convert(*args, **kwargs)
        if isinstance(converted, StreamingQueryException):  # it has the query's name, and its users wait for it
            return converted
        return next(filter(None, map(recovered, _texts(converted, args))), converted)

    return convert_exception


def _texts(converted: Any, args: tuple[Any, ...]) -> list[str]:
    """Where a worker's traceback may stand: in the message, in the stack of the JVM, in what a Connect server adds."""
    details = [error.message for error in getattr(args[2], "errors", ())] if len(args) > 2 else []
    return [str(converted), str(getattr(converted, "_stackTrace", "")), *details]
