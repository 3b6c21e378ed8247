"""Reads the state in the checkpoint of a streaming query, as of its last completed micro-batch.

Spark's state data source reads it without changing the checkpoint, also while the query runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sqlext.catalog.checkpoint import Checkpoint
from sqlext.engine.queries.queries import WATERMARK
from sqlext.operators.stateful import state_log
from sqlext.operators.stateful.state_log import Stored
from sqlext.spark.quiet_probes import quiet_probes

# How the names of Spark's operators begin: of those that run ours, and of its joins of streams.
_OURS, _JOIN = "transformWithState", "symmetricHashJoin"


@dataclass(frozen=True)
class _StoredState:
    """The state of an operator in a checkpoint, after the micro-batch `batch`; `number`: its number in Spark's plan."""

    spark: SparkSession
    location: str
    number: int
    batch: int

    def _read(self, **of: str) -> DataFrame:
        """The rows of the state. `of`: further options of Spark's state data source."""
        options = {"operatorId": str(self.number), "batchId": str(self.batch), **of}
        return self.spark.read.format("statestore").options(**options).load(self.location)


class StoredOperator(_StoredState):
    """The state of one of our operators."""

    @cached_property
    def headers(self) -> Mapping[int, bytes]:
        """The header of each bucket, by the bucket's number. Spark opens the store of each partition for it, which
        takes a tenth of a second or more."""
        rows = self._read(stateVarName="header").select("key.bucket", "value.value").collect()
        return {int(bucket): bytes(header) for bucket, header in rows}

    def buckets(self, numbers: Collection[int] | None = None) -> Iterator[tuple[int, Stored]]:
        """The state of the buckets of these numbers, which are read at once, or of all buckets. Of these two of Spark's
        partitions are in memory at a time: a job reads the next one meanwhile."""
        headers = {number: header for number, header in self.headers.items() if numbers is None or number in numbers}
        chunks = self._read(stateVarName="chunks").where(F.col("key.bucket").isin(list(headers)))
        chunks = chunks.select("partition_id", "key.bucket", "user_map_key.number", "user_map_value.value")
        read = chunks.toLocalIterator(prefetchPartitions=True) if numbers is None else chunks.collect()
        for _, rows in groupby(read, key=lambda row: row[0]):
            values: dict[int, dict[int, bytes]] = {}
            for _, bucket, number, value in rows:
                values.setdefault(int(bucket), {})[int(number)] = bytes(value)
            for bucket, of_bucket in values.items():
                yield bucket, state_log.read(headers.pop(bucket), of_bucket.__getitem__)
        for bucket, header in headers.items():  # without chunks
            yield bucket, state_log.read(header, dict[int, bytes]().__getitem__)


class KeptRows(NamedTuple):
    """The rows that Spark's own join of streams keeps of one relation.

    `keys`: the columns of `frame` with the values of the keys; `values`: its columns with those of the row, and the
    name of each; `times`: those of them that have a watermark.
    """

    frame: DataFrame
    keys: list[str]
    values: dict[str, str]
    times: list[str]


class StoredJoin(_StoredState):
    """The state of one of Spark's own joins of streams."""

    def rows(self, side: str) -> KeptRows:
        """The kept rows of the relation `side`, "left" or "right"."""
        own = 1  # columns of Spark's own after those of the row: whether a pair has had it
        try:
            with quiet_probes():
                state = self._read(storeName=f"{side}-keyWithIndexToValue")
        except PySparkException:  # Spark 4.1 shows the single store of state format 3 only by side
            state, own = self._read(joinSide=side), 0
        keys, values = _fields(state, "key"), _fields(state, "value")
        keys = keys[: len(keys) - (keys[-1].name == "index")]
        values = values[: len(values) - own]
        # Of two columns with one name Spark reads the last one twice if it selects `value.*`.
        columns = [F.col(of).cast(_numbered(of, _fields(state, of))).alias(of) for of in ("key", "value")]
        frame = state.select(*columns).select("key.*", "value.*")
        named = {f"value{i}": field.name for i, field in enumerate(values)}
        times = [f"value{i}" for i, field in enumerate(values) if WATERMARK in field.metadata]
        return KeptRows(frame, [f"key{i}" for i in range(len(keys))], named, times)

    @property
    def watermark_us(self) -> int | None:
        """The watermark of the micro-batch, by which rows have left the state; None before there is one."""
        batch = Checkpoint(self.spark, self.location).batch(self.batch)
        return (batch.watermark_us or None) if batch is not None else None


def _fields(state: DataFrame, of: str) -> list[T.StructField]:
    kind = state.schema[of].dataType
    assert isinstance(kind, T.StructType)
    return kind.fields


def _numbered(of: str, fields: Sequence[T.StructField]) -> T.StructType:
    return T.StructType([T.StructField(f"{of}{i}", field.dataType) for i, field in enumerate(fields)])


def stored_operators(spark: SparkSession, location: str) -> Sequence[StoredOperator]:
    """Our operators in a checkpoint, in the order of Spark's plan; none if no micro-batch has been completed."""
    return [StoredOperator(spark, location, *last) for last in _operators(spark, location, _OURS)]


def stored_joins(spark: SparkSession, location: str) -> Sequence[StoredJoin]:
    """Spark's joins of streams in a checkpoint, in the order of its plan; none if no micro-batch has been completed."""
    return [StoredJoin(spark, location, *last) for last in _operators(spark, location, _JOIN)]


def _operators(spark: SparkSession, location: str, name: str) -> list[tuple[int, int]]:
    """The number and the last micro-batch of each operator whose name begins with `name`."""
    # Spark creates the part of the driver to which readers of state report with its manager of streams. Without it the
    # first read in a session that has started no stream fails.
    assert spark.streams.active is not None
    try:
        with quiet_probes():
            rows = spark.read.format("state-metadata").load(location).collect()
    except PySparkException:  # there is no metadata before the first micro-batch
        return []
    last = {int(row["operatorId"]): int(row["maxBatchId"]) for row in rows if str(row["operatorName"]).startswith(name)}
    return sorted((number, batch) for number, batch in last.items() if batch >= 0)  # -1: none has been completed
