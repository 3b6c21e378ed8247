"""Statements with mistakes end in errors that have their places, and in nothing else; another sample each day."""

from __future__ import annotations

import pytest

from sqlext.errors import SqlExtError
from sqlext.spark.quiet_probes import quiet_probes
from tests.sampling import SAMPLE

from .mutations import failure, mutated, statements

ALL = 100_000
PORTIONS = 50
PORTION = 0 if SAMPLE == "all" else int(SAMPLE) % PORTIONS
NUMBERS = range(ALL) if SAMPLE == "all" else range(PORTION * ALL // PORTIONS, (PORTION + 1) * ALL // PORTIONS)
WITH_SPARK = 60


def test_many_statements_are_mutated():
    assert len(statements()) > 500


@pytest.mark.random
@pytest.mark.parametrize("hundred", range(NUMBERS.start, NUMBERS.stop, 100))
def test_a_statement_with_mistakes_gives_errors_with_places(hundred):
    assert {number: fault for number in range(hundred, hundred + 100) if (fault := failure(mutated(number)))} == {}


def test_statements_with_mistakes_end_in_errors_on_spark(spark):
    """Spark binds them too. Those that run are not run."""
    from pyspark.errors import PySparkException

    unexpected = {}
    for number in range(NUMBERS.start, NUMBERS.start + WITH_SPARK):
        try:
            with quiet_probes():
                spark.sql("EXPLAIN MATCH " + mutated(number))
        except (SqlExtError, PySparkException):
            continue
        except Exception as e:
            unexpected[mutated(number)] = f"{type(e).__name__}: {e}"
    assert unexpected == {}


def test_an_analysis_on_which_spark_fails_by_itself_ends_in_an_error_with_a_place(spark):
    """Spark 4.2 has no text for its own error, and raises one of Java."""
    clause = "MATCH_RECOGNIZE (ORDER BY id MEASURES count(*) AS n PATTERN (A) DEFINE A AS id:part > 1)"
    with pytest.raises(SqlExtError) as refused:
        spark.sql(f"SELECT * FROM range(3) {clause}")
    assert refused.value.place.written == "id"
