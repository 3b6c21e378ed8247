"""What `sqlext_match` computes of its arguments, which it reads without a session."""

from __future__ import annotations

import pytest
from pyspark.sql import types as T
from pyspark.sql.udtf import AnalyzeArgument

from sqlext.engine.shipped.match_function import MatchFunction
from sqlext.errors import BindError

SCHEMA = T.StructType([
    T.StructField("i", T.IntegerType()), T.StructField("s", T.StringType()), T.StructField("t", T.TimestampType()),
    T.StructField("d", T.DateType()), T.StructField("m", T.DecimalType(9, 2)), T.StructField("v", T.VariantType()),
    T.StructField("st", T.StructType([T.StructField("x", T.IntegerType())])),
])  # fmt: skip


def analysed(define: str, measures: str = "LAST(v) AS v, array_agg(st) AS st"):
    texts = [AnalyzeArgument(T.StringType(), text, False, True) for text in ("A B", define, measures)]
    return MatchFunction.analyze(AnalyzeArgument(SCHEMA, None, True, False), *texts)


@pytest.mark.parametrize("condition", [
    "i > A.i", "i + 1 > 2 * PREV(i)", "m > A.m * 2.5", "t > A.t", "t > max(A.t)", "upper(A.s) = s",
    "d = CAST(A.s AS DATE)",
    "d > A.d + INTERVAL 1 MONTH", "st.x > A.st.x", "CASE WHEN i > 1 THEN upper(A.s) ELSE 'x' END = s",
])  # fmt: skip
def test_operators_and_functions_of_columns_are_computed(condition):
    assert analysed(f"B AS {condition}").plan.task.conditions[1] is not None


@pytest.mark.parametrize("condition", [
    "soundex(A.s) = s", "PREV(s) = soundex(PREV(s))", "exists(PREV(array(i)), b -> b = B.i)", "nope > A.i",
    "i > LAST(A.i + 1)", "i > (SELECT 1) + A.i", "v = A.v",
    "array_agg(A.i) = array(1)",
])  # fmt: skip
def test_what_is_no_column_and_not_in_the_table_of_functions_is_refused(condition):
    with pytest.raises(BindError, match="sqlext_match reads columns") as error:
        analysed(f"B AS i > 1 AND {condition}")
    assert error.value.error_class == "SQLEXT_EXPRESSION_IN_ARGUMENT"
    words = f"cannot compute {condition}", "i + 1 is not one of them"
    assert str(error.value).split("\n")[0].endswith(words)


@pytest.mark.parametrize("condition", [
    "t - A.t > t - FIRST(t)", "t < A.t + INTERVAL 1 DAY", "hour(A.t) = hour(t)", "d = A.t",
    "t = CAST(A.s AS TIMESTAMP)",
    "t > A.t AND t > TIMESTAMP'2020-01-01 00:00:00'",
])  # fmt: skip
def test_what_depends_on_the_time_zone_is_refused_because_the_zone_is_unknown(condition):
    with pytest.raises(BindError, match="sqlext_match reads columns and cannot compute"):
        analysed(f"B AS {condition}")
