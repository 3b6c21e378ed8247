"""`extend` and `restore`: what reaches Spark, and from which sessions."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import sqlext
from sqlext.sessions.hook import unhooked

PLAIN = [
    "SELECT 1",
    "  select\t'it''s'  --  a comment\n;",
    "SELECT '{}' AS pattern, \"x\" AS `match`, 1 AS within",
    "SELECT {d}.id FROM {d}",
    "\n/* CREATE VIEW */ SELECT ':x', '?'",
    "SELECT 'MATCH_RECOGNIZE (' -- MATCH_RECOGNIZE (",
    "DROP VIEW IF EXISTS no_such_view",
    "",
]
ARGUMENTS = [((), {}), (([1, "a"],), {}), (({"x": None},), {}), ((), {"args": {"x": 1}, "d": "a frame"})]


@pytest.fixture
def own_session(spark):
    """The shared session, not extended; extended again after the test."""
    yield sqlext.restore(spark)
    sqlext.extend(spark)


@pytest.fixture
def calls(own_session, monkeypatch):
    """What Spark's own method is called with."""
    seen = []

    def record(self, sqlQuery, args=None, **kwargs):
        seen.append((self, sqlQuery, args, kwargs))
        return "a DataFrame"

    monkeypatch.setattr(SparkSession, "sql", record)
    sqlext.extend(own_session)
    yield seen
    sqlext.restore(own_session)


@pytest.mark.parametrize("text", PLAIN)
@pytest.mark.parametrize(("positional", "named"), ARGUMENTS)
def test_plain_text_reaches_spark_as_it_is(spark, calls, text, positional, named):
    assert spark.sql(text, *positional, **named) == "a DataFrame"
    args = positional[0] if positional else named.get("args")
    frames = {name: frame for name, frame in named.items() if name != "args"}
    assert calls == [(spark, text, args, frames)]


def test_extending_again_changes_nothing(spark):
    before = SparkSession.sql
    assert sqlext.extend(spark) is spark
    assert SparkSession.sql is before


def test_restoring_gives_the_class_its_own_method_back(own_session):
    names = ("sql", "table", "read", "catalog")
    own = [vars(SparkSession)[name] for name in names]
    sqlext.extend(own_session)
    assert not any(vars(SparkSession)[name] is method for name, method in zip(names, own))
    assert sqlext.restore(own_session) is own_session
    assert [vars(SparkSession)[name] for name in names] == own
    sqlext.restore(own_session)
    assert [vars(SparkSession)[name] for name in names] == own
    assert not sqlext.is_extended(own_session)


def test_the_hook_looks_like_sparks_method(spark):
    assert SparkSession.sql.__name__ == "sql"
    assert SparkSession.sql.__doc__ == unhooked(spark).func.__doc__


def test_only_the_session_itself_is_extended(spark):
    other = spark.newSession()
    assert sqlext.is_extended(spark)
    assert not sqlext.is_extended(other)
    sqlext.restore(sqlext.extend(other))
    assert sqlext.is_extended(spark)


def test_every_python_object_of_the_session_is_extended(spark):
    assert sqlext.is_extended(SparkSession.getActiveSession())
    assert sqlext.is_extended(spark.range(1).sparkSession)


def test_parameters_and_frames_work(spark):
    frame = spark.range(3)
    assert spark.sql("SELECT id FROM {d} WHERE id > :low", {"low": 1}, d=frame).collect() == [(2,)]
    assert spark.sql("SELECT ? + 1", [1]).collect() == [(2,)]


def test_sparks_errors_stay_sparks_errors(spark, capfd):
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException) as caught:
        spark.sql("SELECT * FROM no_such_table")
    assert caught.value.getCondition() == "TABLE_OR_VIEW_NOT_FOUND"
