"""Which columns of a relation Spark may be given filters on, because a scan evaluates them without losing a row.

They are the columns of other types than FLOAT and DOUBLE that the relation takes unchanged from its tables. A filter on
a computed column, such as `x >= 0 AS is_high` of a view, becomes a filter on what it is computed from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyspark.errors import PySparkException

from sqlext.engine.queries.queries import Queries
from sqlext.errors import SqlExtError
from sqlext.rewriter.scalars.row_filter import Pushable, is_floating
from sqlext.rewriter.text.names import quoted
from sqlext.rewriter.text.splice import Text, join

_ANALYSED = re.compile(r"== Analyzed Logical Plan ==\n.*?\n(.*?)\n\n== Optimized", re.DOTALL)
_NODE = re.compile(r"[ :+-]*(.*)")
_ATTRIBUTE = r"[\w. ]+#\d+L?"
_UNCHANGED = re.compile(rf"(?:({_ATTRIBUTE})|cast\(({_ATTRIBUTE}) as [\w(), ]+\))(?: AS ({_ATTRIBUTE}))?")
_DEFINED = re.compile(r"#(\d+)L?$")
# nodes of a plan that pass on columns of their inputs, and others that do so by position, under new numbers
_PASSING = (
    "Filter ", "SubqueryAlias ", "View ", "Join ", "Sort ", "Distinct", "GlobalLimit ", "LocalLimit ", "ResolvedHint ",
    "EventTimeWatermark ", "StreamingRelation", "Relation ", "HiveTableRelation ", "LocalRelation ", "LogicalRDD ",
    "Range ",
)  # fmt: skip
_RENUMBERING = ("Union", "WithCTE", "CTERelationDef ", "CTERelationRef ")


def pushable_columns(
    queries: Queries, prefix: Text, relation: Text, columns: Sequence[tuple[str, str]], conditions: Sequence[Text]
) -> Pushable:
    """The columns of a relation, with those of them that the conditions read and on which filters may be pushed.

    `columns`: the names and types of all columns. Asks Spark for the plan of the relation, without running anything.
    """
    lowered = [name.lower() for name, _ in columns]
    every = Pushable(frozenset(lowered))
    floating = {name.lower() for name, spark_type in columns if is_floating(spark_type)}
    read = frozenset().union(*map(every.names, conditions)) - floating
    names = [name for name, _ in columns if name.lower() in read and lowered.count(name.lower()) == 1]
    if not names:
        return every
    shown = ", ".join(map(quoted, names))
    try:
        query = join(prefix, f"SELECT {shown} FROM ", relation, " WHERE FALSE")
        (plan,) = queries.run(join("EXPLAIN EXTENDED ", query.unplaced)).collect()
    except (PySparkException, SqlExtError):
        return every
    safe = unchanged_columns(plan[0])
    return Pushable(every.columns, frozenset(n.lower() for n, is_safe in zip(names, safe) if is_safe))


def unchanged_columns(plan: str) -> list[bool]:
    """Whether each column of a query takes its values from a table unchanged, by the query's EXPLAIN EXTENDED.

    >>> unchanged_columns('''== Analyzed Logical Plan ==
    ... k: int, p: boolean
    ... Project [k#1, p#9]
    ... +- Project [k#1, (x#2 >= 0.0) AS p#9]
    ...    +- Relation [k#1,x#2] parquet
    ...
    ... == Optimized''')
    [True, False]
    """
    found = _ANALYSED.search(plan)
    nodes = [_NODE.fullmatch(line)[1] for line in found[1].split("\n")] if found else []  # type: ignore[index]
    if not all(node.startswith(("Project [", *_PASSING, *_RENUMBERING)) for node in nodes):
        return []
    lists = [_items(node) for node in nodes if node.startswith("Project [")]
    computed: set[str] = set()
    for items in reversed(lists):  # a column may be renamed after it has been computed
        for item in items:
            source = _UNCHANGED.fullmatch(item)
            if source is None and _DEFINED.search(item) is None:
                return []  # as "... 3 more fields"
            if source is None or _number(source[1] or source[2]) in computed:
                computed.add(_number(item))
    if any(node.startswith(_RENUMBERING) for node in nodes) and computed:
        return []
    return [_number(item) not in computed for item in lists[0]] if lists else []


def _items(project: str) -> list[str]:
    """The items of a Project node."""
    items, depth, start = [], 0, len("Project [")
    for i in range(start, len(project) - 1):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(project[i], 0)
        if project[i] == "," and not depth:
            items.append(project[start:i].strip())
            start = i + 1
    return [*items, project[start : len(project) - 1].strip()]


def _number(attribute: str) -> str:
    """The number of the attribute that an item of a Project node is, or defines."""
    found = _DEFINED.search(attribute)
    return found[1] if found else ""
