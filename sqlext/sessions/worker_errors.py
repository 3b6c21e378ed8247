"""Errors that our code raises in Python workers reach the user unchanged, and not inside Spark's stack traces.

Spark sends an exception of a worker as text, in an exception of its own class (PythonException, TASK_WRITE_FAILED, …).
PySpark has one function for each kind of session that makes a Python exception of it. We extend that function, so that
it also finds the error of ours that the text names. The executor's log keeps the whole text.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from sqlext import errors
from sqlext.engine.queries.sent_texts import in_users_text
from sqlext.errors import Place, SqlExtError, with_pages
from sqlext.sessions.failures import without_stack
from sqlext.spark.quiet_probes import quiet_probes

_RAISED = re.compile(
    r"^sqlext\.errors\.(\w+): SQLEXT_(\w+): (.*?)(?:\nHint: ([^\n]*))?(?=\n\s*\n|\n\s*at |\n ?SQLSTATE: |\n?\Z)",
    re.MULTILINE | re.DOTALL,
)

_MISSING = re.compile(
    r"^ModuleNotFoundError: No module named '(sqlext\b[\w.]*|numba|numpy|pyarrow|pandas|sqlglot)'", re.MULTILINE
)
_OUR_FRAME = re.compile(r'File "[^"]+/sqlext/[^"]+\.py"')
_PACKAGES = re.compile(r'File "([^"]+)/pyspark(?:\.zip/pyspark)?/[^"]+"')

_EXCERPT = re.compile(r"\n *(\d+) \| (.*)\n *\| ([ \t]*)(\^+)\Z")


def recovered(text: str) -> SqlExtError | None:
    """The error of ours at the end of a worker's traceback; None if there is none.

    >>> recovered("Traceback …\\nsqlext.errors.DataError: SQLEXT_STEP_BUDGET: too many\\nHint: fewer.\\n\\n\\tat org…")
    DataError('STEP_BUDGET', 'too many', None, 'fewer.')
    >>> error = errors.DataError("DIVIDE_BY_ZERO", "x", place=Place("SELECT a,\\n  b / c", 12, 17))
    >>> recovered(f"sqlext.errors.{type(error).__name__}: {error}").place.excerpt() == error.place.excerpt()
    True
    """
    match = _RAISED.search(text)
    kind = getattr(errors, match[1], None) if match else None
    if match is None or not (isinstance(kind, type) and issubclass(kind, SqlExtError)):
        return None
    message, place = _place(match[3])
    return kind(match[2], message, place=place, hint=match[4])


def without_package(text: str) -> SqlExtError | None:
    """The error of a worker whose Python lacks sqlext, or a package that sqlext needs; None for any other text.

    >>> text = '''  File "/opt/py/lib/pyspark/worker.py", line 85, in read_command
    ... ModuleNotFoundError: No module named 'sqlext'
    ... '''
    >>> print(str(without_package(text)).splitlines()[0])
    SQLEXT_WORKER_WITHOUT_SQLEXT: a Python worker cannot import sqlext; it took pyspark from /opt/py/lib
    >>> without_package(text.replace("sqlext", "their_own_package")) is None
    True
    """
    missing = _MISSING.search(text)
    is_ours = missing is not None and (missing[1].startswith("sqlext") or _OUR_FRAME.search(text) is not None)
    if missing is None or not is_ours:
        return None
    folder = _PACKAGES.search(text)
    where = f"; it took pyspark from {folder[1]}" if folder else ""
    return errors.SetupError(
        "WORKER_WITHOUT_SQLEXT",
        f"a Python worker cannot import {missing[1].partition('.')[0]}{where}",
        hint="install spark-sqlext, with all that it needs, into the Python of the workers, which PYSPARK_PYTHON or "
        "spark.pyspark.python names.",
    )


def _place(message: str) -> tuple[str, Place | None]:
    """A message without the excerpt of a place at its end, and that place, in a text that has only the line of the
    excerpt."""
    match = _EXCERPT.search(message)
    if match is None:
        return message, None
    before = "\n" * (int(match[1]) - 1)
    start, stop = (errors.characters(match[2], len(columns)) for columns in (match[3], match[3] + match[4]))
    return message[: match.start()], Place(before + match[2], len(before) + start, len(before) + stop)


def install(*, is_connect: bool) -> None:
    """Make PySpark raise our errors in the sessions of this process; a second call has no effect.

    Before it raises an error, `toPandas` also writes it into a warning, which is left out.
    """
    if is_connect:
        from pyspark.sql.connect.client import core as module
    else:
        from pyspark.errors.exceptions import captured as module  # type: ignore[no-redef]

        _log_errors_of_delta()
    if not hasattr(module.convert_exception, "__wrapped__"):
        warnings.filterwarnings("ignore", "(?s)toPandas attempted Arrow optimization.* can not continue", UserWarning)
        module.convert_exception = _recovering(module.convert_exception, is_connect=is_connect)


def _log_errors_of_delta() -> None:
    """Make PySpark raise errors whose class Spark's own table lacks, such as DELTA_MERGE_UNRESOLVED_EXPRESSION.

    PySpark 4.2 looks for the message of an error in that table when it logs the error, and raises a Py4JJavaError about
    the table instead of the error.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors.exceptions.captured import CapturedException

    log = CapturedException._log_exception
    if not hasattr(log, "__wrapped__"):

        @functools.wraps(log)
        def _log_exception(self: Any) -> None:
            with suppress(Py4JError):
                log(self)

        CapturedException._log_exception = _log_exception  # type: ignore[method-assign]


def _runtime_error(error: Any) -> Any:
    """An error of a class that PySpark raises; of the class UnknownException it raises Java's, with all its text."""
    from pyspark.errors.exceptions.captured import SparkRuntimeException

    message = error._desc.removeprefix("org.apache.spark.SparkException: ")
    raised = SparkRuntimeException(desc=message, stackTrace=error._stackTrace)
    raised._cause = error._cause
    return raised


def _recovering(convert: Callable[..., Any], *, is_connect: bool) -> Callable[..., Any]:
    from pyspark.errors import StreamingQueryException, UnknownException

    @functools.wraps(convert)
    def convert_exception(*args: Any, **kwargs: Any) -> Any:
        with quiet_probes() as records:  # PySpark logs the error, with the SQL that sqlext made
            converted = convert(*args, **kwargs)
        is_changed = _show_users_text(converted)
        if not is_changed:
            records.release()
        if is_changed and not is_connect and isinstance(converted, UnknownException):
            converted = _runtime_error(converted)
        if is_changed:  # it is about a clause of ours, and all lines of its traceback are Spark's
            shown = with_pages(without_stack(str(converted))).splitlines()
            converted._render_traceback_ = lambda: shown  # IPython asks for it
        # this error has the query's name, and users of the query wait for it
        if isinstance(converted, StreamingQueryException):
            return converted
        texts = _texts(converted, args)
        return next(filter(None, (find(text) for find in (recovered, without_package) for text in texts)), converted)

    return convert_exception


def _show_users_text(converted: Any) -> bool:
    """Show the user's own text in the message of an exception, in place of the SQL that sqlext made from it. Returns
    whether this changed the message."""
    is_changed = False
    for name in ("_desc", "_message"):  # of a classic session; of Connect
        message = getattr(converted, name, None)
        if isinstance(message, str):
            shown = in_users_text(message)
            is_changed |= shown != message
            setattr(converted, name, shown)
    return is_changed


def _texts(converted: Any, args: tuple[Any, ...]) -> list[str]:
    """The texts that may contain a worker's traceback: the message, the stack of the JVM, and the text that a Connect
    server adds."""
    details = [error.message for error in getattr(args[2], "errors", ())] if len(args) > 2 else []
    return [str(converted), str(getattr(converted, "_stackTrace", "")), *details]
