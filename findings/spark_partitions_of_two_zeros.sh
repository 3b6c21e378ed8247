#!/usr/bin/env bash
# PySpark 4.2.0: whether rows with 0.0 and -0.0 can be written in partitions depends on the order in which they come.
#
# A table is partitioned by a DOUBLE, and some of its zeros are negative, as measurements and differences yield them:
#
#     rows.write.partitionBy("d").parquet(folder)
#
# Spark sorts the rows by the partition columns, so that a task writes one partition after the other. The sort takes
# 0.0 and -0.0 for equal, as SQL does, and leaves them as they came; the writer compares bytes and takes them for two
# partitions. With the rows 0.0, -0.0, 0.0 it comes back to a partition that it has closed, creates the same file once
# more, and the job fails with FileAlreadyExistsException, after its retries. The same rows in the order 0.0, 0.0, -0.0
# are written, into two folders, of which SELECT DISTINCT makes one value. It is so with each format of files, and not
# if the writer keeps several files open (spark.sql.maxConcurrentOutputFileWriters), which needs no sorted rows.
#
# Needs Java 17. Installs pyspark==4.2.0 into a temporary folder. Fails if Spark behaves otherwise.
set -euo pipefail
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q pyspark==4.2.0
cat > "$work/ask.py" <<'PYTHON'
import os
import sys
import tempfile

import pyspark
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")


def written(values, kind):
    """The folders, or the name of the error."""
    folder = os.path.join(tempfile.mkdtemp(dir=sys.argv[1]), "t")
    rows = ", ".join(f"({i}, double('{value}'))" for i, value in enumerate(values))
    try:
        spark.sql(f"SELECT * FROM VALUES {rows} AS v (i, d)").coalesce(1).write.format(kind).partitionBy("d").save(folder)
    except Exception as error:
        return "FileAlreadyExistsException" if "FileAlreadyExistsException" in str(error) else str(error)
    return sorted(name for name in os.listdir(folder) if name.startswith("d="))


ZEROS = ["d=-0.0", "d=0.0"]
EXPECTED = [
    (["0.0", "-0.0", "0.0"], "parquet", "FileAlreadyExistsException"),
    (["0.0", "-0.0", "0.0"], "json", "FileAlreadyExistsException"),
    (["0.0", "0.0", "-0.0"], "parquet", ZEROS),
    (["-0.0", "0.0", "0.0"], "parquet", ZEROS),
    (["NaN", "1.0", "NaN"], "parquet", ["d=1.0", "d=NaN"]),
]
print("PySpark", pyspark.__version__)
for values, kind, expected in EXPECTED:
    found = written(values, kind)
    print(f"  {kind} {', '.join(values)}: {found}")
    assert found == expected, (values, kind, expected)
distinct = spark.sql("SELECT count(DISTINCT d) FROM VALUES (0.0D), (-0.0D) AS v (d)").first()[0]
print("  SELECT count(DISTINCT d):", distinct)
assert distinct == 1
spark.conf.set("spark.sql.maxConcurrentOutputFileWriters", "4")
found = written(["0.0", "-0.0", "0.0"], "parquet")
print("  with four open files, parquet 0.0, -0.0, 0.0:", found)
assert found == ZEROS
spark.stop()
PYTHON
"$work/venv/bin/python" "$work/ask.py" "$work" 2> "$work/log" || { tail -20 "$work/log"; exit 1; }
