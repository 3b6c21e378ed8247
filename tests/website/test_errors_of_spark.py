"""The pages of Spark's commonest errors: each example raises its error, and has the message that its page shows."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from sqlext.error_pages import is_of_spark, page_name
from sqlext.sessions.failures import reason
from website.error_pages import errors_of_spark, listed_errors

ERRORS = errors_of_spark()


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.name)
def test_an_example_raises_its_error(error, spark):
    try:
        with pytest.raises(PySparkException) as caught:
            for statement in error.statement.split("; "):
                spark.sql(statement).collect()
    finally:
        spark.sql("DROP TABLE IF EXISTS prices")
    assert reason(caught.value) == error.error
    assert page_name(caught.value.getCondition()) == error.name


def test_the_errors_with_a_page_are_listed():
    names = {name for name, kinds in listed_errors().items() if "PySparkException" in kinds}
    assert {error.name for error in ERRORS} == names
    assert [name for name in sorted(names) if not is_of_spark(name)] == []
