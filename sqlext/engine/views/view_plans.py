r"""What the views and functions of a query mean: a part of the record of a query, because a view may change while its
name stays.

Of Spark's views it is the plan that EXPLAIN EXTENDED shows, of ours the words of the query. A plan is compared only
with a plan of the same version of Spark. Left out is what each process or a change of a source writes differently: the
numbers of columns, seeds, columns that are passed on as they are, options that only say how a source is read, DELAY,
and what a clause of ours in a temporary view becomes, whose own fingerprint is in its state.

>>> print(*plan_of('''== Analyzed Logical Plan ==
... v: double
... ~Project [k#226, v#228]
... +- ~SubqueryAlias tv
...    +- View (`tv`, [k#226, v#228])
...       +- ~Project [cast(k#232 as int) AS k#226, cast(v#234 as double) AS v#228]
...          +- ~Project [k#232, (v#233 + 1) AS v#234]
...             +- ~Filter (v#233 <= cast(60 as double))
...                +- ~SubqueryAlias spark_catalog.default.src
...                   +- StreamingRelation delta, [k#232, v#233], name=<Unassigned>
...
... == Optimized Logical Plan =='''), sep="\n")
SubqueryAlias tv
Project (v#3 + 1) AS v#2
Filter (v#3 <= cast(60 as double))
SubqueryAlias spark_catalog.default.src
StreamingRelation delta
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import suppress

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sqlext.catalog import views
from sqlext.engine.planning.fingerprint import digest_of, recorded_words
from sqlext.engine.queries.python_functions import body_of
from sqlext.engine.queries.queries import user_functions
from sqlext.engine.queries.session_settings import temporary_settings
from sqlext.engine.sources.tables import stored_table
from sqlext.engine.views.temporary_objects import is_temporary_view
from sqlext.rewriter.heads.kafka_options import meaning
from sqlext.rewriter.text.names import Parts, quote, unquoted
from sqlext.rewriter.text.tokens import tokenize
from sqlext.rewriter.tree.sources import relations
from sqlext.spark.quiet_probes import quiet_probes

_WHOLE = {"spark.sql.debug.maxToStringFields": "1000000", "spark.sql.maxPlanStringLength": "100000000"}
_PLAN = re.compile(r"== Analyzed Logical Plan ==\n[^\n]*\n(.*?)(?:\n\n== |\Z)", re.DOTALL)
_TREE = re.compile(r"^[ :+~-]*")  # draws the tree, and marks what is a stream
_OWN = re.compile(
    r"__\w|partial\(|transformWithState|CollectMetrics|_pyspark_|\[(rows|bucket)\b|\(kind#\d+ = 0\)|<empty>"
)
_NOISE = (  # what differs from one analysis of a plan to the next, and what takes its place
    (re.compile(r"@[0-9a-f]+\b"), ""),
    (re.compile(r"\b(rand|randn|uuid|randstr|uniform|shuffle)\([^()]*\)"), r"\1()"),
    (re.compile(r"(EventTimeWatermark) [0-9a-f-]{36}, (.*), [^,]*$"), r"\1 \2"),
    (re.compile(r"^(Sample .*), -?\d+$"), r"\1"),
    (re.compile(r"^View \(.*$"), ""),
)
_COLUMN = re.compile(r"([\w.`]*)#(\d+)L?(?:-T\d+ms)?")
_PASSED_ON = re.compile(r"[\w.`]+#\d+|cast\(([\w.`]+)#\d+ as [^()]*(?:\([\d,]*\))?\) AS \1#\d+")
_LEAF = re.compile(r"^(StreamingRelation\w*|StreamingDataSourceV2\w*)")
_SOURCE = re.compile(r"\b(subscribe|subscribePattern|assign|path|table|topic)\s*(?:=|->)\s*([^,\])]*)", re.IGNORECASE)


def view_meanings(spark: SparkSession, query: str) -> dict[str, tuple[str, ...]]:
    """The meaning of each view and function that a query, or a stored view of ours that it reads, names."""
    meanings = _meanings(spark, query, set())
    return {f"{kind} {name}": meaning for kind, name, meaning in meanings}


def _meanings(spark: SparkSession, query: str, seen: set[Parts]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    yield from _functions(spark, query)
    for name in relations(query):
        parts = tuple(part.lower() for part in name.parts)
        if parts in seen or "/" in parts[-1]:
            continue
        seen.add(parts)
        stored = None if _is_of_spark(spark, parts) else views.lookup(spark, spark.sql, parts)
        if stored is not None and stored.is_table:
            yield "table", ".".join(parts), meaning(stored_table(stored).options)
        elif stored is not None:
            yield "view", ".".join(parts), tuple(recorded_words(stored.text))
            yield from _meanings(spark, stored.qualified_text, seen)
        elif _is_view(spark, parts):
            yield "view", ".".join(parts), _explained(spark, parts)


def _functions(spark: SparkSession, query: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The bodies of the functions of the session in Python, and in SQL, that a query names. The bytecode of Python is
    that of its version, which is in the name."""
    words = {unquoted(token.text).lower() for token in tokenize(query) if token.is_name}
    python = f"function of Python {sys.version_info.major}.{sys.version_info.minor}"
    for name in sorted(words & {known.rpartition(".")[2] for known in user_functions(spark.sql)}):
        body = body_of(spark, name)
        if body is not None:
            yield python, name, (f"body {digest_of(body)}",)
            continue
        with suppress(PySparkException), quiet_probes():  # a function of another schema
            lines = [str(row[0]) for row in spark.sql(f"DESCRIBE FUNCTION EXTENDED {quote((name,))}").collect()]
            yield "function", name, tuple(line for line in lines if line.startswith("Body:"))


def _is_of_spark(spark: SparkSession, name: Parts) -> bool:
    return views.is_known(spark, name)


def _is_view(spark: SparkSession, name: Parts) -> bool:
    if is_temporary_view(spark, name):
        return True
    try:
        with quiet_probes():
            return spark.catalog.getTable(quote(name)).tableType == "VIEW"
    except PySparkException:
        return False


def _explained(spark: SparkSession, name: Parts) -> tuple[str, ...]:
    with temporary_settings(spark, _WHOLE), quiet_probes():
        rows = spark.sql(f"EXPLAIN EXTENDED SELECT * FROM {quote(name)}").collect()
    return plan_of(str(rows[0][0]))


def plan_of(explained: str) -> tuple[str, ...]:
    """The lines of an analysed plan without what says nothing about its rows."""
    plan = _PLAN.search(explained)
    lines = () if plan is None else map(_normal, _numbered(plan[1]).splitlines())
    return tuple(line for line in lines if line and not _OWN.search(line))


def _numbered(plan: str) -> str:
    """A plan in which the columns of one name are numbered in their order, as Spark numbers all columns of a session.

    >>> _numbered("Join (v#17 < v#9L) +- a [k#3, v#17]")
    'Join (v#1 < v#2) +- a [k#1, v#1]'
    """
    numbers: dict[str, dict[str, int]] = {}

    def numbered(column: re.Match[str]) -> str:
        of_name = numbers.setdefault(column[1], {})
        return f"{column[1]}#{of_name.setdefault(column[2], len(of_name) + 1)}"

    return _COLUMN.sub(numbered, plan)


def _normal(line: str) -> str:
    """A line of a plan in its normal form; "" if it says nothing.

    >>> _normal("+- ~StreamingRelationV2 a.KafkaProvider@b7, kafka, t@3, [subscribe=a, maxOffsetsPerTrigger=3]")
    'StreamingRelationV2 kafka subscribe=a'
    >>> _normal(":  +- StreamingRelation FileSource[/tmp/in], [id#165L], name=<Unassigned>")
    'StreamingRelation FileSource[/tmp/in]'
    >>> _normal("+- ~Project [k#1, upper(s#2, a) AS u#3, cast(n#4 as decimal(5,2)) AS n#5]")
    'Project upper(s#2, a) AS u#3'
    """
    text = _TREE.sub("", line)
    for noise, shown in _NOISE:
        text = noise.sub(shown, text)
    if leaf := _LEAF.match(text):
        return _source(leaf[1], text.removeprefix(leaf[1]).strip())
    if text.startswith("Project ["):
        items = [item for item in _items(text[len("Project [") : -1]) if not _PASSED_ON.fullmatch(item)]
        return f"Project {', '.join(items)}" if items else ""
    return text


def _source(kind: str, text: str) -> str:
    names = [part for part in _items(text) if "[" not in part or part.startswith("FileSource")]
    formats = [name for name in names if "." not in name.partition("[")[0] and "=" not in name and "(" not in name]
    pairs = sorted({f"{name.lower()}={value.strip()}" for name, value in _SOURCE.findall(text)})
    return " ".join([kind, *formats[:1], *pairs])


def _items(text: str) -> list[str]:
    """The parts of a list, which are separated by commas outside of brackets."""
    items, depth, first = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            items.append(text[first:at].strip())
            first = at + 1
    return [*items, text[first:].strip()]
