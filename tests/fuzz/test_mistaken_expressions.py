"""Expressions with mistakes end in errors that have their places and show nothing internal; others each day."""

from __future__ import annotations

import pytest

from tests.sampling import sample

from .expressions import TABLE, make_table
from .mistaken_expressions import failure_on_spark, statement
from .mutations import failure

HUNDREDS = sample(range(0, 20_000, 100), 50)
ON_SPARK = sample(range(20_000), 500)


@pytest.fixture(scope="module")
def rows(spark):
    make_table(spark)
    yield spark
    spark.catalog.dropTempView(TABLE)


@pytest.mark.random
@pytest.mark.parametrize("hundred", HUNDREDS)
def test_an_expression_with_mistakes_gives_errors_with_places(hundred):
    faults = {number: failure(statement(number)) for number in range(hundred, hundred + 100)}
    assert {number: fault for number, fault in faults.items() if fault} == {}


def test_messages_about_expressions_show_nothing_internal_on_spark(rows):
    """Every fourth statement is run, the others are only analysed."""
    faults = {n: failure_on_spark(rows, statement(n), run=n % 4 == 0) for n in ON_SPARK}
    assert {(number, statement(number)): fault for number, fault in faults.items() if fault} == {}
