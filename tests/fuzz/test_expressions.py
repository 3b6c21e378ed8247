"""Random expressions over several rows of a match have Spark's values; other ones each day."""

from __future__ import annotations

import pytest

from tests.sampling import SAMPLE
from tests.statements.cases import settings

from . import expressions as e

pytestmark = pytest.mark.spark
NUMBERS = range(250) if SAMPLE == "all" else [int(SAMPLE) % 250]


@pytest.fixture(scope="module")
def rows(spark):
    e.make_table(spark)
    yield spark
    spark.catalog.dropTempView(e.TABLE)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("kind", [e.check_conditions, e.check_measures], ids=["DEFINE", "MEASURES"])
def test_expressions_have_the_values_of_spark(rows, kind, number):
    outcome = e.Outcome()
    with settings(rows, {"spark.sql.ansi.enabled": "false"}):
        kind(rows, number, outcome)
    assert outcome.wrong == []
    assert outcome.equal + sum(outcome.refused.values()) == e.AT_ONCE
