"""Rules compute expressions of constants without Spark: with its values and types, and what it refuses they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException

from sqlext.errors import BindError
from sqlext.expressions.function import ExecutionSettings
from sqlext.rewriter.scalars.static_binder import StaticBinder
from sqlext.rewriter.text.splice import join

LINES = Path(__file__).with_name("constants.txt").read_text().splitlines()
VALID = [line.rsplit(" | ", 2) for line in LINES if line[0] != "#" and not line.endswith("!")]
REFUSED = [line.removesuffix(" | !") for line in LINES if line.endswith(" | !")]


def tree(text: str):
    return StaticBinder(columns={}, settings=ExecutionSettings(is_ansi=True, time_zone="UTC")).tree(join(text))


@pytest.mark.parametrize(("text", "value", "kind"), VALID)
def test_a_rule_computes_an_expression(text, value, kind):
    assert (tree(f"CAST({text} AS STRING)").value, tree(text).type) == (value, kind)


@pytest.mark.parametrize("text", REFUSED)
def test_a_rule_refuses_a_number_that_does_not_fit_its_type(text):
    with pytest.raises(BindError, match="SQLEXT_LITERAL"):
        tree(text)


def test_spark_computes_the_same(spark):
    columns = [f"concat_ws(' | ', CAST({text} AS STRING), typeof({text}))" for text, _, _ in VALID]
    row = spark.sql(f"SELECT {', '.join(columns)}").first()
    assert list(row) == [f"{value} | {kind}" for _, value, kind in VALID]


@pytest.mark.parametrize("text", REFUSED)
def test_spark_refuses_the_same_numbers(text, spark):
    with pytest.raises(PySparkException):
        spark.sql(f"SELECT {text}")
