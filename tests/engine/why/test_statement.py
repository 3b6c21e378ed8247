"""EXPLAIN MATCH WHY on Spark: Spark chooses the rows, reads their partitions and computes what Python does not."""

from __future__ import annotations

import pytest

import sqlext
from tests.statements.cases import settings

pytestmark = pytest.mark.spark
TICKS = """SELECT * FROM VALUES
  ('a', 1, 10.5), ('a', 2, 9.0), ('a', 3, 9.0), ('a', 4, 9.5), ('b', 1, 3.0), (NULL, 1, 1.0)
  AS t (sym, ts, v)"""
QUERY = f"""WITH ticks AS ({TICKS}) SELECT * FROM ticks t MATCH_RECOGNIZE (
  PARTITION BY t.sym ORDER BY ts MEASURES A.v AS x PATTERN (A DOWN UP) WITHIN 5
  DEFINE DOWN AS v < PREV(v) AND soundex(t.sym) IS NOT NULL, UP AS v > PREV(v))"""


def test_rows_are_explained(spark):
    text = spark.sql(f"EXPLAIN MATCH WHY {QUERY} FOR ROW sym = :s AND ts >= 3;", {"s": "a"}).collect()[0][0]
    assert text.splitlines()[:3] == [
        "Row 3 of 4 of its partition, t.sym = 'a', ts = 3",
        "It is in no match. Closest: row 1 is A, row 2 is DOWN; a match then needs 1 more row.",
        "Row 3 (ts = 3) cannot be UP: v > PREV(v) is false (v = 9.0, PREV(v) = 9.0).",
    ]
    assert "Row 4 of 4 of its partition" in text
    assert "Would match with: UP AS TRUE  -- without the condition v > PREV(v) of UP" in text


def test_the_function_says_the_same_and_what_it_leaves_out(spark):
    assert "t.sym = NULL" in sqlext.why(QUERY, "sym IS NULL", spark=spark)
    assert sqlext.why(QUERY, "ts > 9", spark=spark) == "FOR ROW ts > 9 chooses no row of the input."
    many = "SELECT * FROM range(25) MATCH_RECOGNIZE (ORDER BY id PATTERN (A B) DEFINE B AS id < 0)"
    assert sqlext.why(many, "true", spark=spark).endswith("chooses more rows: the first 20 are explained.")


def test_a_row_without_a_time_is_not_called_late(spark):
    rows = "(SELECT * FROM VALUES (1, 1), (NULL, 2), (3, 2) AS e (t, v))"
    clause = "ORDER BY t NULLS LAST PATTERN (A C B) WITHIN 5 DEFINE A AS v = 1, B AS v = 2"
    text = sqlext.why(f"SELECT * FROM {rows} MATCH_RECOGNIZE ({clause})", "t IS NULL", spark=spark)
    assert "Row 3 (t = NULL) has no time, which WITHIN needs." in text.splitlines()


def test_clauses_of_stored_views_are_explained(spark):
    spark.sql(f"CREATE VIEW why_view AS {QUERY.replace('t.sym, ', 't.sym, ')}")
    try:
        text = sqlext.why("SELECT * FROM why_view WHERE x > 0", "ts = 3", spark=spark)
        assert (
            text.splitlines()[1]
            == "It is in no match. Closest: row 1 is A, row 2 is DOWN; a match then needs 1 more row."
        )
        counted = "SELECT count(*) AS n FROM GLOBAL_WINDOW(TABLE o) GROUP BY window_start EMIT EVERY 3 ROWS"
        text = sqlext.why(f"WITH o AS ({TICKS}) SELECT * FROM why_view, ({counted})", "ts = 3", spark=spark)
        assert "Clause in line 3 of view why_view\nRow 3 of 4" in text
        assert "EMIT in line 3\nRow" in text
        counted = sqlext.explain("SELECT * FROM why_view", spark=spark, analyze=True)
        assert counted.startswith("== Clause 1, line 3 of view why_view ==")
    finally:
        spark.sql("DROP VIEW why_view")


def test_a_part_of_define_that_cannot_be_computed_on_a_row_is_null_there(spark):
    """The query never computes it there, because the part before it is false."""
    query = """SELECT * FROM VALUES (1, 1), (2, 2), (3, 1) AS t (n, v)
      MATCH_RECOGNIZE (ORDER BY n MEASURES COUNT(*) AS m PATTERN (A C)
      DEFINE C AS v <> 1 AND 10 / (v - 1) > 70 AND v > A.v)"""
    assert spark.sql(query).collect() == []
    assert sqlext.why(query, "n = 3", spark=spark).splitlines()[2] == (
        "Row 3 (n = 3) cannot be C: v <> 1 is false (v = 1); 10 / (v - 1) > 70 is NULL (10 / (v - 1) = NULL); v > A.v "
        "is false (v = 1, A.v = 2)."
    )


def test_a_stored_view_is_explained_with_the_settings_of_its_creation(spark):
    rows = "SELECT * FROM VALUES (1, '1'), (2, 'x'), (3, '3') AS t (n, s)"
    clause = "ORDER BY n MEASURES A.n AS x PATTERN (A B) DEFINE A AS n = 1, B AS CAST(s AS INT) > A.n"
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        spark.sql(f"CREATE VIEW why_inner AS SELECT * FROM ({rows}) MATCH_RECOGNIZE ({clause})")
        spark.sql("CREATE VIEW why_view AS SELECT x FROM why_inner WHERE x > 0")
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    try:
        lines = sqlext.why("SELECT * FROM why_view", "CAST(s AS INT) IS NULL", spark=spark).splitlines()
        counted = sqlext.explain("SELECT * FROM why_view", spark=spark, analyze=True)
    finally:
        spark.sql("DROP VIEW why_view")
        spark.sql("DROP VIEW why_inner")
    assert lines[0] == (
        "View why_inner is read with spark.sql.ansi.enabled = false, as when it was created; so is the condition of "
        "FOR ROW."
    )
    assert lines[1] == "Row 2 of 3, n = 2"
    assert "Row 2 (n = 2) cannot be B: CAST(s AS INT) > A.n is NULL (CAST(s AS INT) = NULL, A.n = 1)." in lines
    of = "of view why_inner, read with spark.sql.ansi.enabled = false as when it was created =="
    assert counted.splitlines()[0].endswith(of)


def test_a_part_that_is_not_explained_does_not_hide_the_answers_about_the_others(spark):
    first = "(SELECT 1 AS x) INTERVAL JOIN range(9) AS r ON r.id BETWEEN x AND x + 5"
    without_name = f"{first} INTERVAL JOIN range(3) AS q ON q.id BETWEEN x AND x + 1"
    query = QUERY.replace(" SELECT * FROM ticks", f", j AS (SELECT * FROM {without_name}) SELECT * FROM j, ticks")
    text = sqlext.why(query, "true", spark=spark)
    assert "Row 3 of 4 of its partition, t.sym = 'a', ts = 3" in text.splitlines()
    assert text.splitlines()[-2].startswith("INTERVAL JOIN in line 3, column ")
    assert text.splitlines()[-1] == (
        "It is not explained. WHY explains a join of joined relations if each of them has a name: name the relation in "
        "WITH, or give it an alias."
    )
    with pytest.raises(sqlext.UnsupportedError, match="each of them has a name"):
        sqlext.why(query, "q.id = 1", spark=spark)


def test_two_clauses_in_one_line_are_told_apart_by_their_columns(spark):
    clause = "MATCH_RECOGNIZE (ORDER BY id MEASURES A.id AS a PATTERN (A B{}) DEFINE B AS id > 3)"
    query = f"SELECT * FROM range(4) {clause.format('')} UNION ALL SELECT * FROM range(5) {clause.format('?')}"
    lines = sqlext.why(query, "id = 0", spark=spark).splitlines()
    assert [line for line in lines if line.startswith("Clause")] == [
        f"Clause in line 1, column {column}" for column in (24, query.rindex("MATCH") + 1)
    ]


@pytest.mark.parametrize("condition", ["x = 10.5", "v > PREV(v)", "MATCH_NUMBER() = 1"])
def test_a_condition_over_the_result_says_which_columns_there_are(spark, condition):
    with pytest.raises(sqlext.BindError) as error:
        sqlext.why(QUERY, condition, spark=spark)
    assert error.value.hint == "FOR ROW chooses rows of the input of MATCH_RECOGNIZE, with sym, ts, v."


def test_a_comparison_with_null_is_named(spark):
    assert sqlext.why(QUERY, "sym = NULL", spark=spark).endswith("Nothing is equal to NULL: write sym IS NULL.")


@pytest.mark.parametrize("of_query", ["EXPLAIN MATCH ANALYZE {}", "EXPLAIN MATCH WHY {} FOR ROW ts = 3"])
def test_what_is_in_a_temporary_view_is_not_explained_and_the_error_says_what_to_write(spark, of_query):
    query = "SELECT * FROM why_view AS v WHERE x > 0"
    spark.sql(f"CREATE TEMPORARY VIEW why_view AS {QUERY}")
    try:
        with pytest.raises(sqlext.UnsupportedError) as error:
            spark.sql(of_query.format(query))
        assert error.value.place.written == "why_view"
        assert "Write the query in place of the name, FROM (SELECT …) AS why_view" in error.value.hint
    finally:
        spark.catalog.dropTempView("why_view")
    shown = spark.sql(of_query.format(query.replace("why_view", f"({QUERY})"))).collect()[0][0]
    assert "Row 3 of 4 of its partition" in shown or shown.startswith("== Clause 1, line 3 ==")


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        (f"{QUERY} FOR ROW nothing = 1", "SQLEXT_UNRESOLVED_COLUMN"),
        ("SELECT 1 FOR ROW x = 1", "SQLEXT_WHY"),
        (f"{QUERY} FOR RULE r FOR ROW ts = 1", "SQLEXT_WHY"),
        (QUERY, "SQLEXT_MISSING_FOR_ROW"),
        (f"{QUERY} FOR ROW", "SQLEXT_MISSING_EXPRESSION"),
        (f"{QUERY} FOR RULE FOR ROW ts = 1", "SQLEXT_UNEXPECTED_WORD"),
        (f"{QUERY} FOR RULE a b FOR ROW ts = 1", "SQLEXT_UNEXPECTED_WORD"),
        (f"{QUERY} FOR RULE 'a' FOR ROW ts = 1", "SQLEXT_UNEXPECTED_WORD"),
        (f"FORMAT JSON {QUERY} FOR ROW ts = 1", "SQLEXT_UNEXPECTED_WORD"),
        (f"WITH ticks AS ({TICKS}) SELECT last(v) OVER w FROM ticks WINDOW w AS (PARTITION BY sym ORDER BY ts "
         "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B) DEFINE B AS v > A.v) FOR ROW ts = 1",
         "SQLEXT_WHY"),
    ],
)  # fmt: skip
def test_errors_have_a_place(spark, statement, name):
    with pytest.raises(sqlext.SqlExtError) as error:
        spark.sql(f"EXPLAIN MATCH WHY {statement}")
    assert error.value.error_class.startswith(name)
    assert error.value.place is not None and error.value.place.text.startswith("EXPLAIN MATCH WHY")


@pytest.mark.parametrize(
    "query",
    [
        QUERY,
        "SELECT l.id FROM range(9) l ASOF JOIN range(9) r MATCH_CONDITION (l.id > r.id)",
        "SELECT count(*) AS n FROM GLOBAL_WINDOW(TABLE numbers) GROUP BY window_start EMIT EVERY 3 ROWS",
    ],
)
def test_explain_without_analyze_runs_no_job(spark, query):
    jobs, context = f"explain {query}", spark.sparkContext
    spark.range(9).createOrReplaceTempView("numbers")
    context.setJobGroup(jobs, "")
    try:
        assert sqlext.explain(query, spark=spark)
        explained = len(context.statusTracker().getJobIdsForGroup(jobs))
        spark.sql(f"EXPLAIN MATCH ANALYZE {query}").collect()
        assert explained == 0 < len(context.statusTracker().getJobIdsForGroup(jobs))
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
        spark.catalog.dropTempView("numbers")


@pytest.mark.parametrize("words", ["", "ANALYZE", "WHY"])
def test_answers_need_no_setting_of_our_sessions(spark, words):
    """With Delta's parser, Spark 4.2 drops all parameters unless this setting is made, as `sqlext.session()` does."""
    chosen = " FOR ROW sym = 'b'" if words == "WHY" else ""
    with settings(spark, {"spark.sql.legacy.parameterSubstitution.constantsOnly": "false"}):
        ((answer,),) = spark.sql(f"EXPLAIN MATCH {words} {QUERY}{chosen}").collect()
    assert "DOWN" in answer
