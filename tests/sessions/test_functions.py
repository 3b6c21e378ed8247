"""`spark.udf.register` of an extended session is remembered, and its functions give Spark's values in a worker."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal

import pytest
from pyspark.sql.functions import pandas_udf, udf
from pyspark.sql.types import IntegerType, StringType

import sqlext
from sqlext.engine.queries.python_functions import function_names, python_function
from sqlext.errors import DataError
from sqlext.expressions.python_functions import bind_python
from sqlext.expressions.values import from_arrow

LIMIT = 100  # a global of this module, which cloudpickle must take along


def test_a_registered_function_is_called_with_and_without_a_type(spark):
    spark.udf.register("Over_Limit", lambda v: v is not None and v > LIMIT, "boolean")
    spark.udf.register("as_text", lambda v: v)
    spark.udf.register("plus_one", udf(lambda v: v + 1, IntegerType()).asNondeterministic())
    over, text, plus = (python_function(spark, name) for name in ("OVER_LIMIT", "as_text", "plus_one"))
    assert [bind_python(pickle.loads(pickle.dumps(over)), ("int",))(v) for v in (101, 100, None)] == [
        True,
        False,
        False,
    ]
    assert (over.result, text.result, plus.result) == ("boolean", "string", "int")
    assert (over.is_deterministic, plus.is_deterministic) == (True, False)
    assert [bind_python(text, ("double",))(v) for v in (1.0, None)] == ["1.0", None]
    with pytest.raises(DataError, match="plus_one failed: TypeError"):
        bind_python(plus, ("int",))(None)


def test_unknown_and_vectorised_functions_are_not_called_row_by_row(spark):
    spark.udf.register("doubled", pandas_udf(lambda s: s * 2, "int"))
    assert python_function(spark, "doubled") is None
    assert python_function(spark, "no_such_function") is None
    assert "doubled" in function_names(spark)


ROUND_TRIP = [
    ("boolean", "true"),
    ("tinyint", "CAST(3 AS TINYINT)"),
    ("bigint", "9L"),
    ("float", "CAST(0.1 AS FLOAT)"),
    ("double", "0.1D"),
    ("decimal(10,2)", "CAST(1.5 AS DECIMAL(10, 2))"),
    ("string", "'é'"),
    ("binary", "X'00FF'"),
    ("date", "DATE'2024-02-29'"),
    ("timestamp", "TIMESTAMP'2024-02-29 01:02:03.000004'"),
    ("timestamp_ntz", "TIMESTAMP_NTZ'2024-02-29 01:02:03.000004'"),
    ("interval day to second", "INTERVAL '1 02:03:04.5' DAY TO SECOND"),
    ("array<int>", "array(1, NULL)"),
    ("map<string,date>", "map('a', DATE'2024-02-29')"),
    ("struct<a:int,b:array<string>>", "named_struct('a', 1, 'b', array('x'))"),
]


def test_values_of_all_types_reach_a_function_and_come_back_as_in_spark(spark):
    for i, (spark_type, _) in enumerate(ROUND_TRIP):
        spark.udf.register(f"same_{i}", lambda v: v, spark_type)
    columns = ", ".join(f"{text} AS v{i}, same_{i}({text}) AS s{i}" for i, (_, text) in enumerate(ROUND_TRIP))
    table = spark.sql(f"SELECT {columns}").toArrow()
    for i, (spark_type, text) in enumerate(ROUND_TRIP):
        value, same = (from_arrow(table[f"{c}{i}"].combine_chunks(), spark_type)[0] for c in "vs")
        assert bind_python(python_function(spark, f"same_{i}"), (spark_type,))(value) == same, text


RESULTS = [1, 2**40, 2**70, True, 1.5, Decimal("2.345"), "7", b"x", datetime.date(2024, 2, 29), None]
DECLARED = ["int", "smallint", "double", "decimal(5,2)", "boolean", "binary"]


def test_a_result_of_another_type_is_what_spark_makes_of_it(spark):
    names = []
    for i, value in enumerate(RESULTS):
        for j, spark_type in enumerate(DECLARED):
            names.append((f"f_{i}_{j}", spark_type))
            spark.udf.register(f"f_{i}_{j}", lambda value=value: value, spark_type)
    table = spark.sql("SELECT " + ", ".join(f"{name}() AS {name}" for name, _ in names)).toArrow()
    for name, spark_type in names:
        assert (
            bind_python(python_function(spark, name), ())() == from_arrow(table[name].combine_chunks(), spark_type)[0]
        ), name


def test_restore_puts_the_own_method_back_and_forgets(spark):
    method = type(spark.udf).register
    spark.udf.register("short_lived", lambda: "x", StringType())
    try:
        sqlext.restore(spark)
        assert python_function(spark, "short_lived") is None
        assert type(spark.udf).register is not method
    finally:
        sqlext.extend(spark)
    spark.udf.register("short_lived", lambda: "y")
    assert bind_python(python_function(spark, "short_lived"), ())() == "y"
