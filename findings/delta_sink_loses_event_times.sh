#!/usr/bin/env bash
# Delta Lake 4.4.0 with PySpark 4.2.0: a watermark stands still where the table of the sink has a computed column.
#
# A stream of three events, at 10:00, 10:30 and 12:00, is counted by the hour with a watermark of no delay, and appended
# to a Delta table. When 12:00 has been seen, the hour from 10:00 is decided and its row is written.
#
# Into most tables it is. Where Delta has to put a projection above the rows of the micro-batch, the watermark stays at
# 1970-01-01, no window is ever decided, and the table stays empty for good; the query runs and completes its
# micro-batches without an error or a warning. These are tables with a generated column (also if the query computes the
# same value itself), an identity column or a default value (also if the query has that column), and a query whose column
# has another numeric type, or is written in other capitals, than that of the table. A column that is left out and is
# simply NULL, partitions, clustering, column mapping, NOT NULL and CHECK do no harm.
#
# Spark reads the event times that a micro-batch has seen from the physical plan that it made. Delta's sink wraps the rows
# into a new query, whose plan is another one, and executes that.
#
# Inside foreachBatch the same append, with the same table, is right: Spark executes its own plan before Delta's.
#
# Needs Java 17 and Maven Central. Installs pyspark==4.2.0 and delta-spark==4.4.0 into a temporary folder. Fails if the
# number of rows in any table is another one.
set -euo pipefail
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q pyspark==4.2.0 delta-spark==4.4.0
cat > "$work/ask.py" <<'PYTHON'
import pathlib
import sys

from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

home = pathlib.Path(sys.argv[1])
builder = (
    SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "1").config("spark.databricks.delta.snapshotPartitions", "1")
    .config("spark.ui.showConsoleProgress", "false").config("spark.sql.session.timeZone", "UTC")
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .config("spark.sql.warehouse.dir", str(home / "warehouse"))
)
spark = configure_spark_with_delta_pip(builder).getOrCreate()
spark.sparkContext.setLogLevel("OFF")
spark.sql("CREATE TABLE events (at TIMESTAMP) USING delta")
spark.sql("INSERT INTO events VALUES ('2026-01-01 10:00'), ('2026-01-01 10:30'), ('2026-01-01 12:00')")

BOTH = "hour TIMESTAMP, n BIGINT"
DAY = "day DATE GENERATED ALWAYS AS (CAST(hour AS DATE))"
CASES = [  # what is special, the columns of the table, further columns of the query, the rows in the end
    ("nothing", BOTH, {}, 1),
    ("a column that is left out", f"{BOTH}, note STRING", {}, 1),
    ("a generated column", f"{BOTH}, {DAY}", {}, 0),
    ("a generated column that the query has, too", f"{BOTH}, {DAY}", {"day": F.expr("CAST(hour AS DATE)")}, 0),
    ("an identity column", f"{BOTH}, id BIGINT GENERATED ALWAYS AS IDENTITY", {}, 0),
    ("a default that is not used", f"{BOTH}, note STRING DEFAULT 'x'", {"note": F.lit("y")}, 0),
    ("INT in the table, BIGINT in the query", "hour TIMESTAMP, n INT", {}, 0),
    ("capitals in the table", "HOUR TIMESTAMP, N BIGINT", {}, 0),
]


def append(rows, batch):
    rows.write.format("delta").mode("append").saveAsTable("sink")


def written(name, columns, more, by_us):
    spark.sql("DROP TABLE IF EXISTS sink")
    spark.sql(f"CREATE TABLE sink ({columns}) USING delta TBLPROPERTIES ('delta.feature.allowColumnDefaults'='supported')")
    hours = spark.readStream.table("events").withWatermark("at", "0 seconds").groupBy(F.window("at", "1 hour")).count()
    hours = hours.select(F.col("window.start").alias("hour"), F.col("count").alias("n")).withColumns(more)
    writer = hours.writeStream.format("delta").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(home / f"{name} {by_us}"))
    query = writer.foreachBatch(append).start() if by_us else writer.toTable("sink")
    query.awaitTermination()
    return spark.table("sink").count(), query.lastProgress["eventTime"]["watermark"]


wrong = []
for name, columns, more, expected in CASES:
    (rows, watermark), (by_us, _) = written(name, columns, more, False), written(name, columns, more, True)
    print(f"{name:44s} rows {rows}, in foreachBatch {by_us}; watermark {watermark}", flush=True)
    wrong += [] if (rows, by_us) == (expected, 1) else [name]
spark.stop()
sys.exit(f"others than expected: {wrong}" if wrong else 0)
PYTHON
echo "PySpark 4.2.0, delta-spark 4.4.0"
"$work/venv/bin/python" "$work/ask.py" "$work" 2> "$work/log" || { tail -20 "$work/log"; exit 1; }
