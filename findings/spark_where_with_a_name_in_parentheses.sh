#!/usr/bin/env bash
# PySpark 4.2.0: FROM t WHERE (a) does not filter; WHERE becomes the name of the relation.
#
# A table has one Boolean column, and a query puts its condition in parentheses, as generators of SQL like to do:
#
#     SELECT * FROM t WHERE (active)
#
# Words such as WHERE are not reserved by default (spark.sql.ansi.enforceReservedKeywords = false), so the parser may
# read the alias WHERE of the relation t, with (active) as the list of its columns. It does, and returns all rows, in
# silence. Without parentheses, with an alias of its own, with an operator, or with (NOT active), the same query filters.
# If the table has more columns, the list is too short, and the query ends with ASSIGNMENT_ARITY_MISMATCH, at a place
# where nothing is assigned. WHERE (TRUE) behaves alike, because TRUE may be the name of a column too. With reserved
# keywords the query filters.
#
# Needs Java 17. Installs pyspark==4.2.0 into a temporary folder. Fails if a query behaves otherwise.
set -euo pipefail
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q pyspark==4.2.0
cat > "$work/ask.py" <<'PYTHON'
import pyspark
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
spark.sql("SELECT * FROM VALUES (true), (false) AS v (active)").createOrReplaceTempView("t")
spark.sql("SELECT * FROM VALUES (1, true), (2, false) AS v (k, active)").createOrReplaceTempView("wide")


def answer(query):
    try:
        return [tuple(row) for row in spark.sql(query).collect()]
    except AnalysisException as error:
        return error.getCondition()


EXPECTED = {
    "SELECT * FROM t WHERE (active)": [(True,), (False,)],
    "SELECT where.active FROM t WHERE (active)": [(True,), (False,)],
    "SELECT * FROM t WHERE active": [(True,)],
    "SELECT * FROM t WHERE (NOT active)": [(False,)],
    "SELECT * FROM t AS x WHERE (active)": [(True,)],
    "SELECT * FROM wide WHERE (active)": "ASSIGNMENT_ARITY_MISMATCH",
    "SELECT * FROM wide WHERE (active) AND TRUE": [(1, True)],
    "SELECT k FROM wide WHERE (TRUE)": "ASSIGNMENT_ARITY_MISMATCH",
}
print("PySpark", pyspark.__version__)
for query, expected in EXPECTED.items():
    found = answer(query)
    print(f"  {query}: {found}")
    assert found == expected, (query, expected)
spark.conf.set("spark.sql.ansi.enforceReservedKeywords", "true")
reserved = answer("SELECT * FROM t WHERE (active)")
print(f"  the same as the first with reserved keywords: {reserved}")
assert reserved == [(True,)], reserved
spark.stop()
PYTHON
"$work/venv/bin/python" "$work/ask.py" 2> "$work/log" || { tail -20 "$work/log"; exit 1; }
