#!/usr/bin/env bash
# Delta Lake 4.4.0 with PySpark 4.2.0: table and checkpoint, both put back to one moment, lose what came after it.
#
# A stream reads a folder of files, one in each micro-batch, and appends to a Delta table. After the first micro-batch
# the checkpoint is copied. Two more follow, and they turn out to be wrong. So the operator stops the query, puts the
# table back with RESTORE TABLE … TO VERSION AS OF, puts back the copy of the checkpoint, and starts the same query.
#
# Both are of the same moment now, so micro-batches 1 and 2 should be computed and written again. The query plans them and
# commits them in its checkpoint, without an error or a warning, and the table gets none of their rows. RESTORE brings
# back the files of the older version, but not its transaction identifiers: the newest `txn` of the query stays 2 in the
# table's state, so the sink takes micro-batches 1 and 2 for repetitions and skips them. The next file that arrives is
# appended as if nothing were missing.
#
# With a new checkpoint, or with the option txnAppId changed, the rows would arrive. Only the copied checkpoint, which
# is the careful way, loses them.
#
# Needs Java 17 and Maven Central. Installs pyspark==4.2.0 and delta-spark==4.4.0 into a temporary folder. Fails if the
# rows are others than these.
set -euo pipefail
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q pyspark==4.2.0 delta-spark==4.4.0
cat > "$work/ask.py" <<'PYTHON'
import os
import pathlib
import shutil
import sys

from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession

home = pathlib.Path(sys.argv[1])
builder = (
    SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "1").config("spark.databricks.delta.snapshotPartitions", "1")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .config("spark.sql.warehouse.dir", str(home / "warehouse"))
)
spark = configure_spark_with_delta_pip(builder).getOrCreate()
spark.sparkContext.setLogLevel("OFF")
source, sink, checkpoint, copy = (home / name for name in ("source", "sink", "checkpoint", "copy"))
source.mkdir()


def arrive(n):
    (source / f"{n}.json").write_text(f'{{"n": {n}}}\n')
    os.utime(source / f"{n}.json", (n, n))


def run():
    query = (
        spark.readStream.schema("n INT").option("maxFilesPerTrigger", 1).json(str(source))
        .writeStream.format("delta").option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True).start(str(sink))
    )
    query.awaitTermination()
    return sorted(int(file.name) for file in (checkpoint / "commits").iterdir() if file.name.isdigit())


def rows():
    return sorted(row.n for row in spark.read.format("delta").load(str(sink)).collect())


def show(what, value):
    print(f"{what:58s} {value}", flush=True)
    return value


arrive(0)
run()
shutil.copytree(checkpoint, copy)
version = spark.sql(f"DESCRIBE HISTORY delta.`{sink}` LIMIT 1").collect()[0].version
arrive(1), arrive(2)
run()
assert show("rows of three micro-batches", rows()) == [0, 1, 2]
spark.sql(f"RESTORE TABLE delta.`{sink}` TO VERSION AS OF {version}").collect()
shutil.rmtree(checkpoint)
shutil.move(copy, checkpoint)
assert show("rows after RESTORE", rows()) == [0]
assert show("micro-batches that are committed after the next run", run()) == [0, 1, 2]
assert show("rows after this run", rows()) == [0]
arrive(3)
assert show("micro-batches after one more file", run()) == [0, 1, 2, 3]
assert show("rows in the end, of the files 0, 1, 2 and 3", rows()) == [0, 3]
spark.stop()
PYTHON
echo "PySpark 4.2.0, delta-spark 4.4.0"
"$work/venv/bin/python" "$work/ask.py" "$work" 2> "$work/log" || { tail -20 "$work/log"; exit 1; }
