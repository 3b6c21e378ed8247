"""EXPLAIN MATCH ANALYZE over a few rows, and what it refuses; the report itself without Spark."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest

import sqlext
from sqlext.engine.match.analyze_match import recorded_steps
from sqlext.engine.match.clause_report import ClauseReport, ElementReport, VariableReport
from sqlext.errors import ParseError, UnsupportedError
from sqlext.pattern.why.attempts import attempts
from sqlext.pattern.why.funnel import Funnel
from sqlext.rewriter.statements.read_statement import read_statement
from tests.rewriter import lowered

ROWS = """SELECT * FROM VALUES ('A', 1, 10.0), ('A', 2, 9.0), ('A', 3, 8.0), ('A', 4, 8.0), ('A', 5, 8.5),
          ('A', 6, NULL), ('B', 1, 5.0), ('B', 2, 4.0), ('B', 3, 6.0), ('B', 4, 7.0) AS t(sym, ts, price)"""
CASES = [part.split("\n", 1) for part in (Path(__file__).parent / "analyze.txt").read_text().split("\n--- ")[1:]]


def option(name: str, case: str) -> str:
    """What follows `name: ` in a line of a case, or ""."""
    return next((line.removeprefix(f"{name}: ") for line in case.splitlines() if line.startswith(f"{name}: ")), "")


def statement(case: str) -> tuple[str, list[str]]:
    """The query of a case, and the lines that are expected."""
    lines = case.strip().splitlines()
    after, output = option("query", case), option("output", case)
    variable = re.findall(r"\w+", lines[0])[0]
    query = (
        f"SELECT * FROM ({ROWS}) MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES LAST({variable}.ts) AS t\n"
        f"{output} PATTERN {lines[0]} DEFINE {lines[1]}) {after}"
    )
    return query, [line.removeprefix("=> ") for line in lines if line.startswith("=> ")]


@pytest.mark.parametrize("title, case", CASES, ids=[title for title, _ in CASES])
def test_the_report_says_where_rows_are_lost(spark, title, case):
    query, expected = statement(case)
    shown = spark.sql(f"EXPLAIN MATCH ANALYZE {query}").collect()[0].plan.splitlines()
    at = 0
    for line in expected:
        found = next((i for i in range(at, len(shown)) if line in shown[i]), None)
        assert found is not None, f"{line!r} is missing in\n" + "\n".join(shown)
        at = found
    assert any(expected[0] in line for line in shown[:5])
    missing = option("missing", case)
    assert not missing or not any(missing in line for line in shown)


def test_options_and_methods_of_the_session(spark):
    query, _ = statement(CASES[0][1])
    report = json.loads(spark.sql(f"EXPLAIN MATCH ANALYZE FORMAT JSON LIMIT 1 PARTITIONS {query}").collect()[0].plan)
    assert report["clauses"][0]["funnel"]["partitions"] == 1
    assert report["clauses"][0]["rows"] in (4, 6)
    shown = sqlext.explain(f"{query};", spark=spark, analyze=True)
    assert shown.startswith("== Clause 1, line 2 ==\n== Start here ==\n1 start row reached DOWN{2,}")


def test_the_picture_of_a_query_has_the_counts_of_its_report(spark):
    query, _ = statement(CASES[0][1])
    clause = json.loads(spark.sql(f"EXPLAIN MATCH ANALYZE FORMAT JSON {query}").collect()[0].plan)["clauses"][0]
    start, *elements, match = sqlext.draw(query, spark=spark).automaton.nodes
    assert (start.count, match.count) == (clause["funnel"]["tried"], clause["funnel"]["matches"])
    assert [node.count for node in elements] == [element["reached"] for element in clause["elements"]]


def test_the_picture_has_the_counts_of_its_clause_though_another_one_begins_in_its_line(spark):
    inner = (
        "SELECT m FROM VALUES (1), (2), (3), (4) AS u(n) MATCH_RECOGNIZE (ORDER BY n MEASURES LAST(n) AS m "
        "PATTERN (x y?) DEFINE x AS true)"
    )
    query = (
        "SELECT * FROM VALUES (1), (2), (7) AS t(i) MATCH_RECOGNIZE (ORDER BY i MEASURES LAST(i) AS l PATTERN (a b) "
        f"DEFINE a AS i IN ({inner}))"
    )
    assert sqlext.draw(query, spark=spark).automaton.nodes[-1].count == 1  # the inner one has two matches


def test_what_has_no_pattern_is_not_drawn():
    with pytest.raises(UnsupportedError, match="there is no MATCH_RECOGNIZE to draw"):
        sqlext.draw("SELECT 1")


@pytest.mark.parametrize("query", ["SELECT 1", "DROP TABLE no_such_table"])
def test_what_has_nothing_to_count_is_refused(spark, query):
    with pytest.raises(UnsupportedError) as error:
        spark.sql(f"EXPLAIN MATCH ANALYZE {query}")
    assert error.value.error_class == "SQLEXT_NOT_ANALYZED"
    assert error.value.place.start == len("EXPLAIN MATCH ANALYZE ")


@pytest.mark.parametrize("text", ["FORMAT XML SELECT 1", "LIMIT 0 PARTITIONS SELECT 1", "LIMIT 3 SELECT 1", "", ";"])
def test_options_that_do_not_exist(text):
    with pytest.raises(ParseError) as error:
        read_statement(f"EXPLAIN MATCH ANALYZE {text}")
    assert error.value.error_class == "SQLEXT_UNEXPECTED_WORD"


def test_steps_have_their_element_though_an_equal_pattern_was_compiled_before():
    for words in ("", "AFTER MATCH SKIP TO NEXT ROW "):
        body = f"PARTITION BY p ORDER BY ts MEASURES v AS x {words}PATTERN (A -> B) DEFINE A AS d > 1, B AS d > 2"
        plan, funnel = lowered.plan_of(body), Funnel()
        rows = lowered.rows_of(plan, lowered.database([(0, 1, 1, 2.0, 0), (0, 2, 1, 3.0, 1)]))
        attempts(plan.task, rows, partial(funnel.add, times=1, steps=recorded_steps(plan)))
        assert funnel.matches == 1 and {element for element, _ in funnel.reached} == {0, 1}


def report(*, rows=5, true=3, needed=True, reached=(2, 0), matches=0, **funnel) -> ClauseReport:
    variable = VariableReport(name="A", is_needed=needed, is_tested=False, true=true, false=rows - true, null=0)
    elements = tuple(
        ElementReport(written=name, variable=name, at_least=1, reached=count) for name, count in zip("AB", reached)
    )
    return ClauseReport(
        line=1, column=1, rows=rows, filtered=0, filters=(), variables=(variable,), elements=elements,
        strategy="two_pass",
        funnel=Funnel(rows=rows, partitions=1, largest=rows, tried=rows, found=matches, **funnel), limit=None,
        is_contiguous=True, in_turn=False, is_in_workers=True, max_steps=99, seconds=0,
    )  # fmt: skip


def test_the_first_zero_is_marked():
    assert "rows read" in report(rows=0, true=0).lines[report(rows=0, true=0).first_zero].text
    assert report(true=0).sentence == "No row can be A: its condition is FALSE on all 5 rows."
    assert report(true=0, needed=False).lines[report(true=0, needed=False).first_zero].text.strip() == "that reached B"
    assert report(reached=(2, 2)).sentence.startswith("All elements are reached")
    assert report(reached=(2, 2), matches=1).first_zero is None
    text = report(left_out=2).text()
    assert "2 rows were not searched: the search took all its steps before them." in text
    assert text.count("<-- zero from here on") == 1


def test_rows_are_shown_of_the_twenty_parts_that_alone_refused_the_most(spark):
    parts = " AND ".join(f"id % 30 <> {i}" for i in range(25))
    query = f"SELECT * FROM range(31) MATCH_RECOGNIZE (ORDER BY id MEASURES A.id AS a PATTERN (A) DEFINE A AS {parts})"
    (plan,) = spark.sql(f"EXPLAIN MATCH ANALYZE {query}").collect()[0]
    shown = plan.splitlines()
    assert sum(" is FALSE, where id % 30 is " in line for line in shown) == 21  # two of the part that refused two rows
    assert "  no rows are shown of 5 parts that alone refused fewer rows" in shown


def test_a_condition_that_bounds_the_match_is_named(spark):
    clause = "ORDER BY ts MEASURES X.ts AS t PATTERN (X Y Z) DEFINE Z AS ts <= X.ts + 1"
    text = sqlext.explain(
        f"SELECT * FROM ({ROWS}) MATCH_RECOGNIZE (PARTITION BY sym {clause})", spark=spark, analyze=True
    )
    assert "no row was Z: 6 because of a condition that bounds the match, 2 because the partition ends." in text
    assert "\nts <= X.ts + 1: bounds the match, as WITHIN would\n" in text and "WITHIN is over" not in text


SKIPPING = "PATTERN (A -> B) DEFINE A AS price > 8 AND ts < 5 AND sym <> 'C', B AS price < 6 AND ts > 1"


@pytest.mark.parametrize("key", ["sym", "IF(sym = 'A', CAST('NaN' AS DOUBLE), 0.5)", "named_struct('a b', sym)"])
def test_the_counts_are_the_same_whoever_counts_them(spark, key):
    """Spark counts rows of which those that no match can use stay where they are; else workers count."""
    rows = f"(SELECT *, {key} AS k FROM ({ROWS}))"
    query = f"SELECT * FROM {rows} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES B.ts AS t {SKIPPING})"

    def variables() -> list[dict]:
        (report,) = spark.sql(f"EXPLAIN MATCH ANALYZE FORMAT JSON {query}").collect()[0]
        return json.loads(report)["clauses"][0]["variables"]

    shown = variables()
    assert sum(len(conjunct["examples"]) for variable in shown for conjunct in variable["conjuncts"]) == 6
    spark.conf.set("sqlext.prefilter", "off")
    try:
        assert variables() == shown
    finally:
        spark.conf.unset("sqlext.prefilter")


def test_an_input_without_rows_is_no_riddle(spark):
    clause = f"MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES B.ts AS t {SKIPPING})"
    query = f"SELECT * FROM ({ROWS} WHERE ts < 0) {clause}"
    text = sqlext.explain(query, spark=spark, analyze=True)
    assert "The input has no rows: look at its relation and WHERE." in text
    assert re.search("rows read +0   <-- zero from here on", text)


def test_values_are_short_and_in_one_line(spark):
    row = "SELECT id, concat('a\\n', repeat('b', 90)) AS s FROM range(1)"
    query = f"SELECT * FROM ({row}) MATCH_RECOGNIZE (ORDER BY s MEASURES A.id AS a PATTERN (A) DEFINE A AS s = 'c')"
    shown = f"'a\\n{'b' * 58}…'"
    assert f"    s = {shown}: s = 'c' is FALSE, where s is {shown}" in sqlext.explain(query, spark=spark, analyze=True)


def test_a_window_with_a_row_pattern_is_counted(spark):
    query = (
        f"SELECT last(price) OVER w FROM ({ROWS}) WINDOW w AS (PARTITION BY sym ORDER BY ts "
        "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B) DEFINE B AS price > A.price)"
    )
    text = sqlext.explain(query, spark=spark, analyze=True)
    assert "\nmatches" in text and "not counted here" not in text


@pytest.mark.parametrize(
    ("end", "lost"),
    [
        ("1 FOLLOWING", "7 because the frame ends"),
        ("UNBOUNDED FOLLOWING", "6 because its condition is FALSE, 1 because the partition ends"),
    ],
)
def test_the_end_of_a_frame_is_not_called_that_of_its_partition(spark, end, lost):
    """The frame of the last row but one ends where its partition does."""
    query = (
        f"SELECT last(ts) OVER w FROM ({ROWS}) WINDOW w AS (PARTITION BY sym ORDER BY ts "
        f"ROWS BETWEEN CURRENT ROW AND {end} PATTERN (X Y Z) DEFINE X AS ts < 5, Z AS ts > 9)"
    )
    text = sqlext.explain(query, spark=spark, analyze=True)
    assert f"and then no row was Z: {lost}." in text
    assert "WITHIN" not in text
