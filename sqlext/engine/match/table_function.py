"""`sqlext_match`: row pattern matching as a plain Spark table function, for text that is not rewritten.

    SELECT * FROM sqlext_match(
        TABLE(SELECT symbol, ts, price FROM ticks) PARTITION BY (symbol) ORDER BY (ts),
        pattern  => 'START DOWN+ UP+',
        define   => 'DOWN AS price < PREV(price), UP AS price > PREV(price)',
        measures => 'FIRST(symbol) AS symbol, LAST(DOWN.price) AS bottom')

`sqlext compile` prints calls of it. It reads one row at a time, which is 20 to 40 times slower than the clause.
"""

from __future__ import annotations

import warnings
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.functions import udtf

from sqlext.engine.shipped.match_function import MatchFunction
from sqlext.spark import executors

NAME = "sqlext_match"


def register(spark: SparkSession) -> None:
    """Register `sqlext_match` in a session; this may be repeated. Raises SetupError like `executors.prepare`."""
    executors.check_driver_python(spark)
    executors.prepare(spark)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Spark warns when a function is registered again
        function: Any = udtf(MatchFunction)
        spark.udtf.register(NAME, function)
