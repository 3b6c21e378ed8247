"""The streaming queries that write into tables, by the names of the tables.

A query has the name of its table: `alerts`, or `db.alerts` outside of the schema `default`, in lower case. Outside of
the session's default catalog, the name of the catalog stands before it. For further
queries of a table, a slash and another name follow: `alerts/insert` for INSERT INTO, `alerts/late_rows/…` for the
copy of late rows.
"""

from __future__ import annotations

import re
from typing import Any

from sqlext.formats.catalogs import DEFAULT_CATALOG, SESSION_CATALOG, whole_name
from sqlext.rewriter.text.names import Parts

# An error's class with its message, which ends before a stack, or before the name of an exception of Java.
_CAUSE = re.compile(r"\[[A-Z][A-Z0-9_.]+\] .*(?:\n(?!\s+at |\s*\.{3} \d+ more|=== |[\w.$]+(?:Exception|Error)\b).*)*")
# How the text of a Py4JJavaError begins, which PySpark raises if it has no class for an error, and the messages of the
# error and of its causes in that text.
_BEFORE_STACK = re.compile(
    r"\n(?:=== Streaming Query ===|\s+at |\s*JVM stacktrace|Caused by: |[\w.$]+(?:Exception|Error)\b)"
)
_OF_JAVA = "An error occurred while calling "
_MESSAGE = re.compile(r"^(?:Caused by)?: [\w.$]+: (.*(?:\n(?!\s*at |\s*\.{3} |Caused by: ).*)*)", re.MULTILINE)

STARTED, RESUMED, SKIPPED = "started", "resumed", "exists"  # what a statement did with the query of a table

_effects: dict[str, str] = {}  # what the last statement of this process did with queries, by their names
_started: dict[str, Any] = {}  # the queries that this process started, running or not, by name
_reports: dict[str, Any] = {}  # what their last micro-batches reported, by name; outlives the queries


def table_title(spark: Any, parts: Parts) -> str:
    """The name of a table as it is written in the names of its queries."""
    catalog, *rest = whole_name(spark, parts)
    name = ".".join(rest).lower().removeprefix("default.")
    is_default = catalog == spark.conf.get(DEFAULT_CATALOG, SESSION_CATALOG)
    return name if is_default else f"{catalog}.{name}".lower()


def remember(query: Any) -> None:
    """Store a query that was started, so that its end can be reported."""
    _started[query.name] = query


def started() -> dict[str, Any]:
    """The queries that this process started, by name, including queries that have ended."""
    return dict(_started)


def note_effect(name: str, effect: str) -> None:
    """Note what a statement did with a query: STARTED, RESUMED or SKIPPED, which IF NOT EXISTS does."""
    _effects[name] = effect


def effects() -> dict[str, str]:
    """What the last statement about each query did, by the names of the queries, in their order."""
    return dict(_effects)


def forget_effects() -> None:
    """Begin anew to note what statements do."""
    _effects.clear()


def keep_report(name: str, report: Any) -> None:
    """Keep what the last micro-batch of a query reported for queries of the same name."""
    _reports[name] = report


def last_report(name: str) -> Any | None:
    """The report that was kept for queries of a name, or None."""
    return _reports.get(name)


def running(spark: Any, title: str) -> list[Any]:
    """The running queries of a table, also those that copy its late and failed rows."""
    active = [query for query in spark.streams.active if query.name]
    return [query for query in active if query.name == title or query.name.startswith(f"{title}/")]


def writing(spark: Any, title: str) -> list[Any]:
    """The running queries that write into a table itself."""
    return [query for query in running(spark, title) if query.name.removeprefix(title).count("/") < 2]


def name_of_copy(title: str, rows: str, folder: str) -> str:
    """The name of the query that copies late or failed rows from a folder. It has two words more than the table's.

    >>> name_of_copy("alerts", "late_rows", "4fd2")
    'alerts/late_rows/4fd2'
    """
    return f"{title}/{rows}/{folder}"


def stop(spark: Any, title: str) -> bool:
    """Stop all queries of a table and wait until they have ended. Returns True if there were any."""
    queries = running(spark, title)
    for query in queries:
        query.stop()
    return bool(queries)


def forget(title: str) -> None:
    """Remove the queries of a table that is dropped, and their reports."""
    for known in (_started, _reports, _effects):
        for name in [name for name in known if name == title or name.startswith(f"{title}/")]:
            del known[name]


def whole_text(error: Exception) -> str:
    """The message of an error of Spark and of its causes, with the stack of the JVM, which a setting may hide."""
    cause = getattr(error, "_cause", None)
    suffix = f"\nCaused by: {whole_text(cause)}" if isinstance(cause, Exception) else ""
    return f"{error}\n{getattr(error, '_stackTrace', '')}{suffix}"


def root_cause(message: str) -> str:
    """The error that our code raised in a worker, or the last one that Spark names in a message, without stacks.

    >>> root_cause("[STREAM_FAILED] Query: [TASK_FAILED] x\\nCaused by: [DIVIDE_BY_ZERO] Division.\\n\\tat org")
    '[DIVIDE_BY_ZERO] Division.'
    >>> root_cause("[STREAM_FAILED] …\\nCaused by: o.Delta: [DELTA_X] It changed:\\nk int\\nTry again.\\n\\tat org")
    '[DELTA_X] It changed:\\nk int\\nTry again.'
    >>> root_cause("An error occurred while calling o1.\\n: o.E: [X] Read.\\n\\tat o…\\nCaused by: j.E: bad\\n\\tat o")
    '[X] Read.\\nCaused by: bad'
    >>> root_cause("[STREAM_FAILED] Lost.\\nRows are lost.\\n set failOnDataLoss.\\n=== Streaming Query ===\\nId: 1")
    '[STREAM_FAILED] Lost.\\nRows are lost.\\n set failOnDataLoss.'
    >>> root_cause("[STREAM_FAILED] None\\n=== Streaming Query ===\\n…\\nCaused by: o.Config: No url given\\n\\tat o")
    '[STREAM_FAILED] None\\nCaused by: No url given'
    """
    ours = re.findall(r"^(?:sqlext\.errors\.\w+: )?(SQLEXT_\w+: .*)", message, re.MULTILINE)
    causes = _CAUSE.findall(message.rpartition("Caused by: ")[2])
    if ours or causes:
        return str([*causes, *ours][-1]).strip()
    messages = [found.strip() for found in _MESSAGE.findall(message)]
    if not message.startswith(_OF_JAVA):
        messages.insert(0, _BEFORE_STACK.split(message.strip(), maxsplit=1)[0])
    first, last = next((text for text in messages if text[:1] == "["), messages[0]), messages[-1]
    return first if last in first else f"{first}\nCaused by: {last}"
