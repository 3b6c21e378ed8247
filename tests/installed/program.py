"""What each cell of the matrix runs, as a user would: a Python UDF, plain SQL, and two clauses of sqlext.

It prints one line, `RESULT` and JSON. SQLEXT_TEST_OPTIONS has the options of the session's builder, as JSON. The shell
`pyspark` and notebooks run this text, too.
"""

import json
import os
import sys

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

spark = SparkSession.builder.config(map=json.loads(os.environ["SQLEXT_TEST_OPTIONS"])).getOrCreate()


@udf("struct<next: long, prefix: string, finders: array<string>>")
def worker(x):
    return x + 1, sys.prefix, [getattr(finder, "__module__", "") for finder in sys.meta_path]


def rows(query, session=spark):
    """The rows of a query as lists, or the condition of Spark's error."""
    try:
        return [list(row) for row in session.sql(query).collect()]
    except PySparkException as error:
        return error.getCondition()


spark.createDataFrame([(1, 5), (2, 4), (3, 6), (4, 2)], "n int, v int").createOrReplaceTempView("t")
other = spark.newSession() if hasattr(spark, "newSession") else spark  # sessions of Connect have none
other.createDataFrame([(1, 5), (2, 4), (3, 6), (4, 2)], "n int, v int").createOrReplaceTempView("t")
CLAUSE = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY n MEASURES FIRST(n) AS f, LAST(n) AS l PATTERN (A B+) DEFINE B AS "
answers = [row.worker for row in spark.range(4).select(worker("id").alias("worker")).collect()]
result = {
    "udf": sorted(answer.next for answer in answers),
    "hook in workers": any("sqlext" in finder for answer in answers for finder in answer.finders),
    "plain": rows("SELECT count(*), sum(v) FROM t"),
    "views": [table.name for table in spark.catalog.listTables()],
    "no table": rows("SELECT * FROM no_such_table"),
    "previous row": rows(f"{CLAUSE} v > PREV(v))"),
    "in a new session": rows(f"{CLAUSE} v > PREV(v))", other),
    "mapped rows": rows(f"{CLAUSE} v < AVG(A.v))"),
    "workers": sorted({answer.prefix for answer in answers}),
}
print("RESULT", json.dumps(result), flush=True)
spark.stop()
