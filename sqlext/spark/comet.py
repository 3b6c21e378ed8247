"""Apache DataFusion Comet, a plugin of Spark that computes in Arrow's form: how its rows reach Python workers in it.

Comet replaces `mapInArrow` where its own operator is directly below. Adaptive execution puts a read of coalesced
partitions over a shuffle, which is no operator of Comet, so the rows would be converted to those of Spark and back. A
projection over it is Comet's again, if Spark's optimizer cannot leave it out (decision 53).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HAND_OVER = "spark.comet.exec.pyarrowUDF.enabled"
SHUFFLE_MANAGER = "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager"
_VERSION = "spark.comet.version"  # its plugin sets it on the driver
_VERSIONS: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
# Metadata of a column, by which its projection is another one than the column below it.
_KEPT = {"sqlext": "kept"}


def version(spark: SparkSession) -> str:
    """The version of Comet whose plugin the session's Spark has, which never changes; "" if it has none."""
    if spark not in _VERSIONS:
        _VERSIONS[spark] = str(spark.conf.get(_VERSION, "") or "")
    return _VERSIONS[spark]


def handed_over(rows: DataFrame) -> DataFrame:
    """The rows of a batch for `mapInArrow`, in a form that Comet can hand over, if it is there."""
    if not version(rows.sparkSession) or rows.isStreaming:
        return rows
    first = rows.schema.fields[0]
    return rows.withMetadata(first.name, {**first.metadata, **_KEPT})
