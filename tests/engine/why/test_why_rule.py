"""EXPLAIN MATCH WHY … FOR RULE: a pattern rule is explained by its last version, over all rows."""

from __future__ import annotations

import pytest

import sqlext
from tests.operators.match.event_rows import append

pytestmark = pytest.mark.spark
QUERY = "SELECT * FROM events MATCH_RULES (PARTITION BY k ORDER BY ts RULES rules)"


@pytest.fixture
def ruled(events):
    """A rule of two versions, and rows that have come before it."""
    append(events, "1 0 A 1", "1 5 B 2", "1 6 B 4", "2 0 A 3", "2 60 B 9", "3 0 A 3")
    for pattern in ("(A B)", "(A B{2}) WITHIN INTERVAL 30 SECONDS"):
        events.sql(
            "CREATE OR REPLACE PATTERN RULE pair ON rules FOR TABLE events AS MATCH_RECOGNIZE ("
            f"MEASURES LAST(B.i) AS i PATTERN {pattern} DEFINE A AS c = 'A', B AS c = 'B' AND i > 1)"
        )
    return events


def why(spark, rest: str) -> list[str]:
    return spark.sql(f"EXPLAIN MATCH WHY {QUERY} {rest}").collect()[0][0].splitlines()


def test_the_last_version_is_explained_by_the_statement_and_by_the_function(ruled):
    text = why(ruled, "FOR RULE PAIR FOR ROW k = 1 AND i > 2")
    assert text[0] == "Rule pair, version 2, over all rows of its input"
    assert "It is in match 1, as B: row 1 is A, rows 2 to 3 are B." in text
    assert sqlext.why(QUERY, "k = 1 AND i > 2", rule="pair", spark=ruled).splitlines() == text
    assert why(ruled, "FOR ROW k = 1 AND i > 2 FOR RULE pair") == text


def test_it_says_what_the_rule_should_be_for_a_match(ruled):
    text = why(ruled, "FOR RULE pair FOR ROW k = 2 AND c = 'A'")
    assert "Row 2 (ts = TIMESTAMP '2026-01-01 00:01:00') is too late for WITHIN" in "\n".join(text)


def test_a_rule_that_is_disabled_says_so_and_one_that_is_not_there_names_the_others(ruled):
    ruled.sql("ALTER PATTERN RULE pair ON rules DISABLE")
    assert why(ruled, "FOR RULE pair FOR ROW k = 3")[0] == (
        "Rule pair, version 3, which is disabled, over all rows of its input"
    )
    with pytest.raises(sqlext.BindError) as error:
        why(ruled, "FOR RULE peer FOR ROW k = 3")
    assert error.value.error_class == "SQLEXT_UNKNOWN_RULE"
    assert error.value.hint == "the rules are pair."
    assert error.value.place.written == "rules"
    ruled.sql("DROP TABLE rules")
    with pytest.raises(sqlext.BindError, match="there is no table rules of pattern rules") as error:
        why(ruled, "FOR RULE pair FOR ROW k = 3")
    assert error.value.place.written == "rules"


def test_rows_of_a_rule_are_chosen_by_the_columns_of_its_events(ruled):
    with pytest.raises(sqlext.BindError) as error:
        why(ruled, "FOR RULE pair FOR ROW card = 3")
    assert error.value.place.written == "card"
    assert why(ruled, "FOR RULE pair FOR ROW k > 9")[-1] == "FOR ROW k > 9 chooses no row of the input."
