"""The lines of EXPLAIN MATCH about Apache DataFusion Comet: whether rows reach the workers in Arrow's form.

Where they do not, Spark converts them to rows of its own and back, and the line says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession

from sqlext.engine.queries.queries import Queries
from sqlext.engine.queries.session_settings import is_on, temporary_settings
from sqlext.rewriter.text.splice import join
from sqlext.spark import comet

# EXPLAIN then has a second tree of the operators, with Comet's reason beside each that it has left to Spark.
_WITH_REASONS = {"spark.sql.extendedExplainProviders": "org.apache.comet.ExtendedExplainInfo"}
_REASONS = "== Extended Information (Comet) ==\n"
_NODE = re.compile(r"[ :]*(?:[:+]- *)?(?P<name>\w+)(?:.*?\[COMET: (?P<reason>.*)\])?")
_BY_SPARK, _BY_COMET = "MapInArrow", "CometMapInBatch"
_LARGE_TYPES = "spark.sql.execution.arrow.useLargeVarTypes"
_LOST = "rows leave Arrow's form before the workers"


def comet_report(queries: Queries, spark: SparkSession, relation: str) -> str | None:
    """The lines about a relation of the statement, which workers compute; None without Comet, of a stream, or if no
    worker receives rows by `mapInArrow`, as where it reads files itself."""
    version = comet.version(spark)
    if not version or queries.helpers[relation].isStreaming:
        return None
    with temporary_settings(spark, _WITH_REASONS):
        explained = queries.run(join("EXPLAIN SELECT * FROM ", relation)).collect()[0][0]
    nodes = list(_nodes(explained.partition(_REASONS)[2]))
    if not any(_gets_rows(nodes[i:]) for i in range(len(nodes))):
        return None
    losses = [_setting_against(spark)] if _setting_against(spark) else list(dict.fromkeys(_losses(nodes)))
    lines = [f"{_LOST}: {loss}" for loss in losses] or ["rows stay in Arrow's form up to the workers"]
    return "\n".join([f"== Comet {version} ==", *lines])


def _setting_against(spark: SparkSession) -> str:
    """The setting with which Comet hands over no rows, and what to do about it; "" if there is none."""
    if not is_on(spark, "spark.comet.enabled", default="true"):
        return "Comet is off, SET spark.comet.enabled = true."
    if not is_on(spark, "spark.memory.offHeap.enabled", default="false"):
        return "Comet is off, start Spark with spark.memory.offHeap.enabled = true and a spark.memory.offHeap.size."
    if "Comet" not in (spark.conf.get("spark.shuffle.manager", "") or ""):
        return f"Spark shuffles the rows, start it with spark.shuffle.manager = {comet.SHUFFLE_MANAGER}."
    if not is_on(spark, comet.HAND_OVER, default="false"):
        return f"SET {comet.HAND_OVER} = true."
    if is_on(spark, _LARGE_TYPES, default="false"):
        return f"SET {_LARGE_TYPES} = false."
    return ""


def _nodes(tree: str) -> Iterator[tuple[str, str]]:
    """The name of each operator of a tree, and Comet's reason why it is Spark's, or "".

    >>> list(_nodes("MapInArrow\\n+-  Sort [COMET: Unsupported]\\n   +- CometExchange\\n\\nComet accelerated …"))
    [('MapInArrow', ''), ('Sort', 'Unsupported'), ('CometExchange', '')]
    """
    for line in tree.partition("\n\n")[0].split("\n"):
        node = _NODE.match(line)
        if node is not None:
            yield node["name"], node["reason"] or ""


def _gets_rows(nodes: Sequence[tuple[str, str]]) -> bool:
    """Return True if the first operator is a `mapInArrow` of rows that were shuffled.

    >>> _gets_rows([("MapInArrow", ""), ("CometExchange", "")]), _gets_rows([("MapInArrow", ""), ("Scan", "")])
    (True, False)
    """
    return nodes[0][0] in (_BY_SPARK, _BY_COMET) and any("Exchange" in name for name, _ in nodes)


def _losses(nodes: Sequence[tuple[str, str]]) -> Iterator[str]:
    """The reason of each `mapInArrow` that does not get its rows from Comet.

    >>> list(_losses([("MapInArrow", "no"), ("CometProject", ""), ("MapInArrow", ""), ("Exchange", "types")]))
    ['Comet does not run Exchange: types']
    >>> list(_losses([("MapInArrow", ""), ("Sort", ""), ("Exchange", "")]))
    ['Sort is no operator of Comet']
    """
    for i, (name, _) in enumerate(nodes):
        below = nodes[i + 1 :]
        if name != _BY_SPARK or not _gets_rows(nodes[i:]):
            continue
        if below[0][0].startswith("Comet") and "ToRow" not in below[0][0]:
            continue
        named = (f"Comet does not run {operator}: {reason}" for operator, reason in below if reason)
        yield next(named, f"{below[0][0]} is no operator of Comet")
