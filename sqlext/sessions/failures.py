"""The reason why a statement or a stream failed, in words that a user can act on: without plans and stacks."""

from __future__ import annotations

import re

from pyspark.errors import PySparkException, StreamingQueryException

from sqlext.catalog import streams
from sqlext.engine.queries.spark_errors import place_of
from sqlext.errors import Place, SqlExtError, file_fault
from sqlext.rewriter.text.splice import Source
from sqlext.spark.java_errors import Py4JError

_BEFORE_STATEMENT = re.compile(r"(\n== SQL ==\n)(?:EXPLAIN\n)?(?:[ \t]*\n)*")  # blank lines, and a word of `sqlext run`
_SPARKS_PLACE = re.compile(r";? ?\(?\bline \d+,? pos \d+\)?;?|\n+== SQL\b")

# What a statement may end with. PySpark has no class for some errors of Java, as of a file that cannot be read.
STATEMENT_ERRORS = (SqlExtError, PySparkException, Py4JError)


def reason(error: Exception) -> str:
    """The reason why a statement failed, or the stream that it started."""
    if isinstance(error, StreamingQueryException):
        failures = [e for query in streams.started().values() if (e := query.exception()) is not None]
        return streams.root_cause("\n".join(map(streams.whole_text, [*failures[-1:], error])))
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {file_fault(error)}"
    return streams.root_cause(str(error)) if isinstance(error, Py4JError) else without_stack(str(error))


def without_stack(message: str) -> str:
    """Spark's message without its plan and the JVM's stack; for an error that our code raised in a Python worker, that
    error.

    >>> without_stack("[DIVIDE_BY_ZERO] Division by zero.\\n\\tat org.apache…\\n")
    '[DIVIDE_BY_ZERO] Division by zero.'
    >>> without_stack("Traceback …\\n  File …\\nsqlext.errors.DataError: SQLEXT_X: no\\nHint: yes.\\n\\n\\tat org…")
    'SQLEXT_X: no\\nHint: yes.'
    >>> without_stack("[PARSE_SYNTAX_ERROR] … (line 4, pos 0)\\n\\n== SQL ==\\nEXPLAIN\\n\\n\\nSELEC 1\\n^^^\\n")
    '[PARSE_SYNTAX_ERROR] … (line 4, pos 0)\\n\\n== SQL ==\\nSELEC 1\\n^^^'
    """
    raised = re.search(r"^sqlext\.errors\.\w+: (.*)", message, re.MULTILINE | re.DOTALL)
    message = raised[1] if raised else message
    message = _BEFORE_STATEMENT.sub(r"\1", message)
    return re.split(r";\n'?[A-Z]\w+[ (]|\n'?[A-Z]\w+ \[|\n\s*at |\nJVM stacktrace:", message)[0].strip()


def reason_in_part(error: PySparkException, statement: str, part: str) -> tuple[str, Place] | None:
    """Spark's message about a statement, and its place in a part of the statement that the user wrote; None if Spark
    names no place in this part.

    >>> error = PySparkException("[PARSE_SYNTAX_ERROR] Syntax error at or near 'x'. (line 2, pos 6)\\n\\n== SQL ==\\n…")
    >>> message, place = reason_in_part(error, "create table t as\\nselec x", "selec x")
    >>> message, place.line, place.column
    ("[PARSE_SYNTAX_ERROR] Syntax error at or near 'x'.", 1, 7)
    """
    place, start = place_of(error, Source(statement, ()).slice(0, len(statement)), statement), statement.find(part)
    if place is None or not start <= place.start < start + len(part) or start < 0:
        return None
    stop = min(place.stop - start, len(part))
    return _SPARKS_PLACE.split(without_stack(str(error)))[0].strip(), Place(part, place.start - start, stop)
