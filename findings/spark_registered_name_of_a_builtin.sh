#!/usr/bin/env bash
# PySpark 4.1.3 and 4.2.0: a UDF that is registered under the name of a built-in function replaces it, or is never called.
#
# Two UDFs are registered as `abs` and `isnull`, which Spark also has. Both versions accept that without a word:
#
#     spark.udf.register("abs", lambda x: 42, "int"); spark.sql("SELECT abs(-1)")
#
# Up to 4.1 the answer is 42: the UDF has taken the place of Spark's function, in SQL, in call_function and for every
# other statement of the session. SHOW USER FUNCTIONS does not list it. Since 4.2 the answer is 1: SQL, call_function
# and even call_udf, whose name says UDF, call Spark's own function, and the UDF can only be called through the object
# that register returned. But now SHOW USER FUNCTIONS lists it. So the list names exactly the functions that are not
# called. A program that overrode a built-in on purpose gives other rows after an upgrade, with no error.
#
# Needs Java 17. Installs both versions into a temporary folder. Fails if one of them behaves otherwise.
set -euo pipefail
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cat > "$work/ask.py" <<'PYTHON'
import sys

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
registered = spark.udf.register("abs", lambda x: 42, "int")
spark.udf.register("isnull", lambda x: True, "boolean")
minus = F.lit(-1)
sql = tuple(spark.sql("SELECT abs(-1), isnull(1)").collect()[0])
(row,) = spark.range(1).select(F.call_function("abs", minus), F.call_udf("abs", minus), registered(minus)).collect()
listed = [row[0] for row in spark.sql("SHOW USER FUNCTIONS").collect()]
print("PySpark", pyspark.__version__)
print(f"  SELECT abs(-1), isnull(1): {sql}")
print(f"  call_function, call_udf, the registered object: {tuple(row)}")
print(f"  SHOW USER FUNCTIONS: {listed}")
expected = {
    "4.1.3": ((42, True), (42, 42, 42), []),
    "4.2.0": ((1, False), (1, 1, 42), ["abs", "isnull"]),
}
assert (sql, tuple(row), listed) == expected[pyspark.__version__], "another behaviour"
spark.stop()
PYTHON
for version in 4.1.3 4.2.0; do
  python3 -m venv "$work/venv-$version"
  "$work/venv-$version/bin/pip" install -q "pyspark==$version"
  "$work/venv-$version/bin/python" "$work/ask.py" 2> "$work/log" || { tail -20 "$work/log"; exit 1; }
done
