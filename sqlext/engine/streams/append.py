"""Appends micro-batches to a table whose columns Delta computes: with generated, identity or default columns.

For such a table Delta's own sink of streams makes another plan of the micro-batch, in which Spark does not find the
event times: the watermark stays in 1970, and nothing is ever decided. In `foreachBatch` Spark runs its own plan. Each
append carries Delta's transaction identifiers, as the sink's does, so a micro-batch that is run again changes nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession


@dataclass
class AppendWriter:
    """The function that Spark calls with each micro-batch. `table`: the folder of the table."""

    table: str
    checkpoint: str
    query: str = field(default="", init=False)

    def __call__(self, rows: DataFrame, batch: int) -> None:
        self.query = self.query or query_of(rows.sparkSession, self.checkpoint)
        writer = rows.write.format("delta").mode("append")
        writer.option("txnAppId", self.query).option("txnVersion", str(batch)).save(self.table)


def query_of(spark: SparkSession, checkpoint: str) -> str:
    """The identifier of a query, which is stored in its checkpoint."""
    return str(json.loads(spark.read.text(f"{checkpoint}/metadata").collect()[0][0])["id"])
