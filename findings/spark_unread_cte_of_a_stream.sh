#!/usr/bin/env bash
# PySpark 4.2.0: a CTE that nothing reads stops a streaming query from ever emitting a row.
#
# A query counts the events of each minute of a stream, in append mode. In front of it stands a CTE over a second reader
# of the same files, with a watermark of its own, whose name the query does not mention:
#
#     WITH unread AS (SELECT * FROM again) SELECT window.start, count(*) FROM timed GROUP BY window(ts, '1 minute')
#
# In batch such a CTE costs nothing, because the optimizer drops it. On a stream the sources of a query are collected
# before the optimizer runs. The CTE becomes a second source, from which no row is ever read because it is not in the
# plan that runs. The watermark of the query is the least of its sources', so it stays at 1970-01-01. The query reads
# its rows, reports no error, and emits nothing, however many micro-batches it has. Without the CTE the same query
# emits each minute that has passed. Who generates SQL, and leaves a CTE behind that has lost its reader, gets an empty
# table.
#
# Needs Java 17. Installs pyspark==4.2.0 into a temporary folder. Fails if the two queries behave otherwise.
set -euo pipefail
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q pyspark==4.2.0
cat > "$work/ask.py" <<'PYTHON'
import os
import pathlib
import sys

import pyspark
from pyspark.sql import SparkSession

home = pathlib.Path(sys.argv[1])
spark = (
    SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "1")
    .config("spark.ui.enabled", "false").config("spark.sql.session.timeZone", "UTC").getOrCreate()
)
spark.sparkContext.setLogLevel("OFF")
events = home / "events"
events.mkdir()
for minute in range(6):
    file = events / f"{minute}.json"
    file.write_text(f'{{"ts": "2026-01-01T00:0{minute}:00Z"}}\n')
    os.utime(file, (minute, minute))  # the order in which a stream reads files
for view in ("timed", "again"):
    stream = spark.readStream.schema("ts TIMESTAMP").option("maxFilesPerTrigger", 1).json(str(events))
    stream.withWatermark("ts", "0 seconds").createOrReplaceTempView(view)
counts = "SELECT window.start AS minute, count(*) AS n FROM timed GROUP BY window(ts, '1 minute')"


def run(name, text):
    query = (
        spark.sql(text).writeStream.format("memory").queryName(name).outputMode("append")
        .trigger(availableNow=True).option("checkpointLocation", str(home / name)).start()
    )
    query.awaitTermination()
    batches = query.recentProgress
    read = [sum(batch["sources"][i]["numInputRows"] for batch in batches) for i in range(len(batches[0]["sources"]))]
    last = batches[-1]["eventTime"].get("watermark")
    print(f"> {text}\n  rows read from each source {read}, watermark {last}, rows emitted {spark.table(name).count()}")
    return read, last, spark.table(name).count()


print("PySpark", pyspark.__version__)
plain = run("plain", counts)
unread = run("unread_cte", f"WITH unread AS (SELECT * FROM again) {counts}")
assert plain[0] == [6] and plain[2] == 5, plain
assert sorted(unread[0]) == [0, 6] and unread[1].startswith("1970-01-01") and unread[2] == 0, unread
spark.stop()
PYTHON
"$work/venv/bin/python" "$work/ask.py" "$work" 2> "$work/log" || { tail -20 "$work/log"; exit 1; }
