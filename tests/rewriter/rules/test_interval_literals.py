"""Rules read the literals of intervals without Spark: with its values and types, and what it refuses they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException

from sqlext.errors import BindError
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.spark_types import is_year_month
from sqlext.rewriter.scalars.static_binder import StaticBinder
from sqlext.rewriter.text.splice import join

LINES = Path(__file__).with_name("intervals.txt").read_text().splitlines()
CASES = [(text, expected) for text, _, expected in (line.partition(" | ") for line in LINES if line[0] != "#")]
VALID = [case for case in CASES if case[1] != "!"]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_a_rule_reads_an_interval(text, expected):
    binder = StaticBinder(columns={}, settings=ExecutionSettings(is_ansi=True, time_zone="UTC"))
    if expected == "!":
        with pytest.raises(BindError, match="SQLEXT_LITERAL"):
            binder.tree(join(text))
    else:
        tree = binder.tree(join(text))
        assert f"{binder.constant(join(text))} {tree.type}" == expected


def test_spark_reads_the_same_values(spark):
    texts = [text for text, _ in VALID]
    frame = spark.sql(f"SELECT {', '.join(f'{text} AS x{i}' for i, text in enumerate(texts))}")
    numbers = [
        f"CAST(CAST(x{i} AS INTERVAL MONTH) AS BIGINT)" if is_year_month(kind)
        else f"unix_micros(timestamp_micros(0) + x{i})"
        for i, (_, kind) in enumerate(frame.dtypes)
    ]  # fmt: skip
    values = frame.selectExpr(*numbers).first()
    assert [f"{value} {kind}" for value, (_, kind) in zip(values, frame.dtypes)] == [e for _, e in VALID]


@pytest.mark.parametrize("text", [text for text, expected in CASES if expected == "!"])
def test_spark_refuses_the_same_texts(text, spark):
    with pytest.raises(PySparkException):
        spark.sql(f"SELECT {text}").collect()
