"""The reason why a statement or a stream failed, in words that a user can act on: without plans and stacks."""

from __future__ import annotations

import re

from pyspark.errors import StreamingQueryException

from sqlext.catalog import streams


def reason(error: Exception) -> str:
    """The reason why a statement failed, or the stream that it started."""
    if isinstance(error, StreamingQueryException):
        failures = [e for query in streams.started().values() if (e := query.exception()) is not None]
        return streams.root_cause("\n".join(map(streams.whole_text, [*failures[-1:], error])))
    return without_stack(str(error))


def without_stack(message: str) -> str:
    """Spark's message without its plan and the JVM's stack; for an error that our code raised in a Python worker, that
    error.

    >>> without_stack("[DIVIDE_BY_ZERO] Division by zero.\\n\\tat org.apache…\\n")
    '[DIVIDE_BY_ZERO] Division by zero.'
    >>> without_stack("Traceback …\\n  File …\\nsqlext.errors.DataError: SQLEXT_X: no\\nHint: yes.\\n\\n\\tat org…")
    'SQLEXT_X: no\\nHint: yes.'
    """
    raised = re.search(r"^sqlext\.errors\.\w+: (.*)", message, re.MULTILINE | re.DOTALL)
    message = raised[1] if raised else message
    return re.split(r"\n'?[A-Z]\w+ \[|\n\s*at |\nJVM stacktrace:", message)[0].strip()
