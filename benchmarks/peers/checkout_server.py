"""Answer statements with the sqlext of the Python that runs this script, which `benchmarks.compare` starts for each
checkout.

One line of JSON in, one line out. {"sql": …} gives {"rows": […]}. {"sql": …, "schema": …, "folder": …} reads the
folder's Parquet files as the stream `arriving`, one file in each micro-batch, and gives one row: the number of result
rows, and the input rows a second of all micro-batches after the first.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings

import sqlext

SETTINGS = {
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "4g",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
}


def main() -> None:
    warnings.simplefilter("ignore")
    os.chdir(tempfile.gettempdir())  # Spark's streaming runner imports what lies in the working folder first
    spark = sqlext.session("compare", master="local[2]", **SETTINGS)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            rows = stream(spark, **request) if "folder" in request else spark.sql(request["sql"]).collect()
            reply = {"rows": [list(row) for row in rows]}
        except Exception as error:  # the failure of one statement is its answer
            reply = {"error": str(error)}
        print(json.dumps(reply, default=str), flush=True)


def stream(spark, sql: str, schema: str, folder: str) -> list[tuple]:
    from pyspark.sql import functions as F

    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(folder)
    source.createOrReplaceTempView("arriving")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    counted = spark.sql(sql).observe("matches", F.count(F.lit(1)).alias("n"))
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = counted.writeStream.format("noop").option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
    spark.conf.set("spark.sql.shuffle.partitions", SETTINGS["spark.sql.shuffle.partitions"])
    progress = [p for p in query.recentProgress if p["numInputRows"]]
    matches = sum(p["observedMetrics"]["matches"]["n"] for p in query.recentProgress)
    warm = progress[1:]
    seconds = sum(p["durationMs"]["triggerExecution"] for p in warm) / 1000
    return [(matches, sum(p["numInputRows"] for p in warm) / seconds)]


if __name__ == "__main__":
    main()
