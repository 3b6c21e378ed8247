"""Run a MatchPlan through an Arrow table function: `SET sqlext.engine = udtf`.

This is for environments without `mapInArrow`. Spark divides the input into buckets by the hash of the keys and sorts
it. Each bucket is matched by a function that is made for this one statement, because an Arrow function cannot compute
its result type.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sqlext.engine.match.run_batch import check_types, result, windowed_query
from sqlext.engine.queries.queries import Queries
from sqlext.engine.shipped.output_schema import output_schema
from sqlext.expressions.spark_types import COLLATED
from sqlext.operators.match.plan import MatchOperatorPlan
from sqlext.rewriter.lowering.match_plan import WINDOW, MatchPlan
from sqlext.rewriter.lowering.operator_plan import worker_plan
from sqlext.rewriter.text.splice import Text, join
from sqlext.spark.versions import arrow_table_function

BUCKET, ROW = "__bucket", "__row"


def run_udtf(plan: MatchPlan, queries: Queries, prefix: Text, spark: SparkSession) -> DataFrame:
    """The clause's result. `prefix`: the WITH clause that the relation may need."""
    rows = queries.run(input_query(plan, prefix, spark))
    check_types(plan, rows.schema)
    if any(COLLATED in rows.schema[key].dataType.simpleString() for key in plan.carried[: len(plan.partition_by)]):
        rows = rows.withColumn(BUCKET, F.lit(0))  # equal keys have different hashes
    schema = output_schema(plan, rows.schema)
    handler = _matcher(worker_plan(plan))
    function = arrow_table_function(handler, schema, plan.clause.keyword.place)
    keys = [*plan.carried[: len(plan.partition_by)], ROW]
    # A table function belongs to the active session of the thread, and the rows belong to this session, so this session
    # becomes the active one.
    spark.createDataFrame([], rows.schema)
    matches = function(rows.asTable().partitionBy(BUCKET).orderBy(*keys))
    return result(plan, matches, queries, prefix)


def input_query(plan: MatchPlan, prefix: Text, spark: SparkSession) -> Text:
    """The rows of `run_batch.input_query`, with their bucket and their number in the partition."""
    keys = join(*plan.partition_by, separator=", ") if plan.partition_by else join("0")
    buckets = spark.conf.get("spark.sql.shuffle.partitions")
    bucket = join("pmod(hash(", keys, f"), {buckets}) AS {BUCKET}")
    return windowed_query(plan, prefix, [bucket, join(f"row_number() OVER {WINDOW} AS {ROW}")])


def _matcher(plan: MatchOperatorPlan) -> type:
    """The handler class of a statement's function: it is called once for each batch, and once after the last batch of a
    bucket."""

    class MatchHandler:
        def __init__(self) -> None:
            from sqlext.operators.match import match_rows  # loads Numba, which the driver does not need

            self.module, self.buffer = match_rows, match_rows.PartitionBuffer(plan.limits, plan.partition_by)

        def eval(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
            yield from self.results(self.buffer.push(batch))

        def terminate(self) -> Iterator[pa.Table]:
            yield from self.results(self.buffer.rest())

        def results(self, parts: Iterator[dict[str, pa.Array]]) -> Iterator[pa.Table]:
            for columns in parts:
                for batch in self.module.match_partitions(columns, plan):
                    yield pa.Table.from_batches([batch])

    return MatchHandler
