"""Spark's errors about a statement, with their place in the part of it that the user wrote: errors as Connect makes
them, without a server."""

from __future__ import annotations

import pytest
from pyspark.errors.exceptions.connect import AnalysisException, NumberFormatException, SQLQueryContext
from pyspark.sql.connect.proto import FetchErrorDetailsResponse

from sqlext.engine.queries.spark_errors import user_error
from sqlext.rewriter.text.splice import Source
from sqlext.sessions.failures import reason_in_part

MODEL = "select card,\n  amuont\nfrom payments"
STATEMENT = f'/* {{"app": "dbt"}} */\n\n  create or replace table fraud.m\n      using delta\n      as\n      {MODEL}\n'
PLAN = """'ReplaceTableAsSelect TableSpec(Map(),Some(delta),Map(),None,None,None,false), true
+- 'Project ['card, 'amuont]
   +- SubqueryAlias payments

JVM stacktrace:
org.apache.spark.sql.catalyst.ExtendedAnalysisException
\tat org.apache.spark.sql.errors.QueryCompilationErrors$.unresolvedAttributeError(QueryCompilationErrors.scala:423)"""


def spark_error(kind, condition, message, text, fragment, **parameters):
    start = text.index(fragment)
    context = FetchErrorDetailsResponse.QueryContext(
        context_type=FetchErrorDetailsResponse.QueryContext.SQL, start_index=start,
        stop_index=start + len(fragment) - 1, fragment=fragment,
    )  # fmt: skip
    return kind(f"[{condition}] {message}", condition, parameters, contexts=[SQLQueryContext(context)])


ERRORS = [
    (
        AnalysisException, "UNRESOLVED_COLUMN.WITH_SUGGESTION",
        "A column with name `amuont` cannot be resolved. SQLSTATE: 42703", f"; line 7 pos 2;\n{PLAN}",
    ),
    (
        NumberFormatException, "CAST_INVALID_INPUT", "The value 'x' cannot be cast to INT. SQLSTATE: 22018",
        "\n== SQL (line 7, position 3) ==\n  amuont\n  ^^^^^^\n\n\tat org.apache.spark…",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "condition", "sentence", "rest"), ERRORS)
def test_an_error_has_its_place_in_the_model_and_neither_plan_nor_stack(kind, condition, sentence, rest):
    error = spark_error(kind, condition, sentence + rest, STATEMENT, "amuont")
    message, place = reason_in_part(error, STATEMENT, MODEL)
    assert message == f"[{condition}] {sentence}"
    assert place.excerpt() == "  2 |   amuont\n    |   ^^^^^^"
    assert reason_in_part(error, STATEMENT, "select other") is None


RELATIONS = [
    ("STREAM no_such WATERMARK ts DELAY OF INTERVAL 10 SECONDS", "`no_such`", "no_such"),
    ("STREAM DB . `no such` WATERMARK ts DELAY OF INTERVAL 10 SECONDS AS no_such", "`db`.`no such`", "DB . `no such`"),
    ("no_such VERSION AS OF 3", "`no_such`", "no_such"),
    ("IDENTIFIER('no_' || 'such')", "`no_such`", "IDENTIFIER('no_' || 'such')"),
]


@pytest.mark.parametrize(("relation", "name", "underlined"), RELATIONS)
def test_an_unknown_relation_is_underlined_by_its_name(relation, name, underlined):
    text = f"SELECT * FROM {relation}"
    message = f"The table or view {name} cannot be found."
    error = spark_error(AnalysisException, "TABLE_OR_VIEW_NOT_FOUND", message, text, relation, relationName=name)
    place = user_error(error, Source(text, ()).slice(0, len(text)), text).place
    assert text[place.start : place.stop] == underlined
