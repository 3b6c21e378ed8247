"""Rows that no match can use are not read; EXPLAIN MATCH says which, and no result changes."""

from __future__ import annotations

import re

import pytest

import sqlext
from tests.statements.cases import results_of, settings

pytestmark = pytest.mark.spark
READ = "rows: only those with {} are read: no match can use others."
ALL = "rows: all rows are read: {}."
EVENTS = """SELECT * FROM VALUES
  ('a', 1, 0, 'x'), ('a', 2, 7, 'x'), ('a', 3, 1, 'y'), ('a', 4, 0, 'x'), ('a', 5, NULL, 'x'), ('a', 6, 2, 'x'),
  ('a', 7, 1, NULL), ('b', 1, 7, 'x'), ('b', 2, 0, 'y'), ('b', 9, 1, 'y'), (NULL, 3, 0, 'x'), (NULL, 4, 1, 'x'),
  ('c', 1, 7, 'x') AS t(k, t, v, s)"""
AB = "A AS v = 0, B AS v = 1"
# the parts before PATTERN, PATTERN and what follows, DEFINE, the line of EXPLAIN MATCH
CASES = [
    ("MEASURES A.t AS a, B.t AS b", "A -> B", AB, READ.format("(v = 0) OR (v = 1)")),
    ("MEASURES A.t AS a, COUNT(*) AS n AFTER MATCH NO SKIP", "A (->> B)+ WITHIN 4", AB,
     READ.format("(v = 0) OR (v = 1)")),
    ("MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS c ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW",
     "A !-> N -> B", f"{AB}, N AS v IN (2, 3)", READ.format("(v = 0) OR (v IN (2, 3)) OR (v = 1)")),
    ("MEASURES A.t AS a, MATCH_ROWTIME() AS at", "A (-> B)+ UNTIL S WITHIN 5",
     "A AS v = 0 AND s LIKE 'x%', B AS v BETWEEN 1 AND 2 AND v > A.v, S AS s IS NULL",
     READ.format("((v = 0) AND (s LIKE 'x%')) OR (v BETWEEN 1 AND 2) OR (s IS NULL)")),
    ("MEASURES A.t AS a, MATCH_TIMED_OUT() AS o ONE ROW PER MATCH SHOW TIMEOUT MATCHES", "A -> B WITHIN 2", AB,
     READ.format("(v = 0) OR (v = 1)")),
    ("MEASURES A.t AS a", "A -> B", "A AS upper(s) = 'X' AND v = 0, B AS v % 2 = 1",
     READ.format("((upper(s) = 'X') AND (v = 0)) OR (v % 2 = 1)")),
    ("MEASURES A.t AS a", "A B+", AB, ALL.format("the rows of a match are neighbours")),
    ("MEASURES A.t AS a", "A -> B+", AB, ALL.format("B must be the very next row")),
    ("MEASURES A.t AS a", "A -> B C?", f"{AB}, C AS v = 7", ALL.format("C must be the very next row")),
    ("MEASURES A.t AS a", "A -> B", "A AS v = 0", ALL.format("B has no condition that a row alone decides")),
    ("MEASURES A.t AS a", "A -> B", "A AS v = 0, B AS v > A.v",
     ALL.format("B has no condition that a row alone decides")),
    ("MEASURES A.t AS a", "A -> B", "A AS v = 0, B AS v = 1 AND t > PREV(t)", ALL.format("DEFINE reads PREV or NEXT")),
    ("MEASURES NEXT(A.t) AS a", "A -> B", AB, ALL.format("a measure reads PREV or NEXT")),
    ("MEASURES A.t AS a", "A -> B", "A AS v = 0, B AS v = 1 + rand() * 0",
     ALL.format("an expression may fail on a row, or differ when it is computed again")),
    ("MEASURES A.t AS a", "A -> B", "A AS v = 0, B AS v = (SELECT 1)",
     ALL.format("an expression may fail on a row, or differ when it is computed again")),
    ("MEASURES t AS t, CLASSIFIER() AS c ALL ROWS PER MATCH WITH UNMATCHED ROWS", "A -> B", AB,
     ALL.format("unmatched rows are shown")),
]  # fmt: skip


@pytest.fixture(scope="module")
def events(spark):
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW usable_events AS {EVENTS}")
    yield spark
    spark.catalog.dropTempView("usable_events")


def query(before: str, pattern: str, define: str) -> str:
    pattern, within, bound = pattern.partition(" WITHIN")
    clause = f"{before} PATTERN ({pattern}){within}{bound} DEFINE {define}"
    return f"SELECT * FROM usable_events AS e MATCH_RECOGNIZE (PARTITION BY k ORDER BY t {clause})"


def test_explain_says_which_rows_are_read(events):
    lines = [re.search("^rows: .*$", sqlext.explain(query(*case), spark=events), re.M)[0] for *case, _ in CASES]
    assert lines == [line for *_, line in CASES]


def rows_of(spark, prefilter: str) -> list:
    with settings(spark, {"sqlext.prefilter": prefilter}):
        return results_of(spark.sql, (query(*case) for *case, _ in CASES))


def test_results_are_those_of_all_rows(events):
    results = rows_of(events, "auto")
    assert results == rows_of(events, "off")
    assert all(rows for _, rows in results)


def test_a_row_on_which_an_expression_fails_is_an_error_as_without_the_filter(events):
    failing = query("MEASURES SUM(10 / (v - 7)) AS x", "A -> B", AB)
    with settings(events, {"spark.sql.ansi.enabled": "true"}), pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        events.sql(failing).collect()
