#!/usr/bin/env bash
# PySpark 4.2.0: WHERE x = 0 over Parquet misses the rows with -0.0, if the column is stored with a dictionary.
#
# A table of doubles, as differences or roundings yield them, is written by Spark and read by Spark, with default
# settings. Half of its values are -0.0, the other half 5.0. In SQL -0.0 equals 0.0, and Spark's own = says so; yet
#
#     SELECT count(*) FROM t WHERE x = 0
#
# returns 0 and not 50,000. Spark hands the condition to the Parquet reader, which may skip row groups. The least and
# the greatest value in a file's statistics cannot mislead it, because writers widen a zero there to both signs. But it
# also looks into the dictionary of the column, finds no 0.0 among -0.0 and 5.0 by comparing bits, and skips the whole
# group. Where no value is positive, x >= 0 and BETWEEN 0 AND 1 lose the rows as well. Conditions that no dictionary can
# decide, files without one (short columns have none if Spark writes them, but have one if PyArrow does), and
# spark.sql.parquet.filterPushdown = false give the right rows, so the same query changes its answer with the writer
# of the file and with the number of its rows.
#
# Needs Java 17. Installs pyspark==4.2.0 and pyarrow==22.0.0 into a temporary folder. Fails if Spark behaves otherwise.
set -euo pipefail
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q pyspark==4.2.0 pyarrow==22.0.0
cat > "$work/ask.py" <<'PYTHON'
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from pyspark.sql import SparkSession

folder = sys.argv[1]
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")


def by_spark(name, other, rows):
    values = f"IF(id % 2 = 0, double('-0.0'), double('{other}')) AS x"
    spark.range(rows).selectExpr(values).coalesce(1).write.parquet(f"{folder}/{name}")


by_spark("many", "5.0", 100_000)
by_spark("none_positive", "-5.0", 100_000)
by_spark("few", "5.0", 2)
pq.write_table(pa.table({"x": [-0.0, 5.0]}), f"{folder}/few_by_pyarrow")
EXPECTED = {  # rows with and without pushdown
    ("many", "x = 0"): (0, 50_000),
    ("many", "x IN (0, 1)"): (0, 50_000),
    ("many", "x <= 0"): (50_000, 50_000),
    ("many", "x + 0 = 0"): (50_000, 50_000),
    ("none_positive", "x >= 0"): (0, 50_000),
    ("none_positive", "x BETWEEN 0 AND 1"): (0, 50_000),
    ("few", "x = 0"): (1, 1),
    ("few_by_pyarrow", "x = 0"): (0, 1),
}
print("PySpark", pyspark.__version__, "PyArrow", pa.__version__)
for (name, condition), expected in EXPECTED.items():
    found = []
    for pushdown in ("true", "false"):
        spark.conf.set("spark.sql.parquet.filterPushdown", pushdown)
        found.append(spark.sql(f"SELECT count(*) FROM parquet.`{folder}/{name}` WHERE {condition}").first()[0])
    print(f"  {name} WHERE {condition}: {found[0]:,} rows, without pushdown {found[1]:,}")
    assert tuple(found) == expected, (name, condition, found)
spark.stop()
PYTHON
"$work/venv/bin/python" "$work/ask.py" "$work" 2> "$work/log" || { tail -20 "$work/log"; exit 1; }
