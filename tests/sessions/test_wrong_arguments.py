"""What is no text of a query is refused by an error of ours, before a session is needed."""

from __future__ import annotations

import pytest

import sqlext

CALLS = {
    "draw": sqlext.draw,
    "draw without counts": lambda query: sqlext.draw(query, counts=False),
    "why": lambda query: sqlext.why(query, "id = 1"),
    "explain": sqlext.explain,
    "compile": sqlext.compile,
    "state": sqlext.state,
}


@pytest.mark.parametrize("value", [None, 5, b"SELECT 1", ["SELECT 1"]], ids=repr)
@pytest.mark.parametrize("call", CALLS)
def test_a_query_that_is_no_text_is_refused(call, value):
    with pytest.raises(sqlext.BindError) as error:
        CALLS[call](value)
    assert error.value.error_class == "SQLEXT_ARGUMENT_TYPE"
    assert type(value).__name__ in error.value.message


@pytest.mark.spark
def test_the_report_about_no_query_is_refused(spark):
    with pytest.raises(sqlext.UnsupportedError, match="there is no query"):
        sqlext.explain(" -- nothing", analyze=True, spark=spark)


@pytest.mark.spark
def test_a_rule_is_found_after_a_query_that_ends_with_a_comment(spark):
    with pytest.raises(sqlext.SqlExtError) as error:
        sqlext.why("SELECT * FROM range(3) MATCH_RULES (RULES r) -- all", "id = 1", rule="a `b`", spark=spark)
    assert error.value.error_class != "SQLEXT_MISSING_FOR_ROW"
