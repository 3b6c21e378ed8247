"""Keys that cannot match are dropped in the right cases, and it changes no result."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

import pytest

import sqlext
from sqlext.engine.match import prefilter
from sqlext.engine.match.prefilter import KeyCounts, Sample, pays
from tests.statements.cases import cases, expected_of, results_of, settings

HERE = Path(__file__).parent
SAMPLES = [line.split(" ; ") for line in (HERE / "samples.txt").read_text("utf-8").splitlines() if line[0] != "#"]
BLOCKS = {
    title: [list(lines) for _, lines in groupby(rest.strip("\n").split("\n"), lambda x: x.startswith("prefilter: "))]
    for title, rest in (
        block.split("\n", 1) for block in (HERE / "prefilter.txt").read_text("utf-8").split("\n== ")[1:]
    )
}
KEYED = [
    case
    for name in ("modes", "define", "within", "measures", "names")
    for case in cases(f"{name}.txt")
    if "PARTITION BY" in case.step.text
    and not (case.args or case.frames or case.settings)
    and not re.search("twice|spread", case.step.text)
]
AT_ONCE = 12  # queries in one statement


def counts(text: str) -> KeyCounts:
    return KeyCounts(**dict(zip(("rows", "keys", "once", "twice"), map(int, text.split("/")))))


@pytest.mark.parametrize("fields", SAMPLES, ids=lambda fields: " ; ".join(fields[:4]))
def test_a_sample_shows_whether_the_filter_pays(fields):
    rows, runs, hits, table_rows, rare, why = fields
    labels = (hit.split(" ") for hit in hits.split(", "))
    sample = Sample(counts(rows), int(runs), tuple((label, counts(hit)) for label, hit in labels))
    assert pays(sample, int(table_rows)) == (tuple(rare.split()), why)


@pytest.fixture(scope="module")
def tables(spark):
    """The session in a schema where the relations of the statements' tests are Delta tables."""
    spark.sql("CREATE SCHEMA prefiltered")
    for case in cases("relations.txt"):
        spark.sql(f"CREATE TABLE prefiltered.{case.title} USING delta AS {case.step.text}")
    before = spark.catalog.currentDatabase()
    spark.catalog.setCurrentDatabase("prefiltered")
    spark.sql("CREATE TEMPORARY VIEW view_of_ticks AS SELECT * FROM ticks")
    spark.udf.register("prefilter_twice", lambda x: 2 * x, "int")
    yield spark
    spark.sql("DROP TEMPORARY FUNCTION prefilter_twice")
    spark.catalog.dropTempView("view_of_ticks")
    spark.catalog.setCurrentDatabase(before)
    spark.sql("DROP SCHEMA prefiltered CASCADE")


def rows_of(spark, mode: str, queries: list[str]) -> list:
    with settings(spark, {"sqlext.prefilter": mode}):
        return results_of(spark.sql, queries)


@pytest.mark.parametrize("title", BLOCKS)
def test_explain_says_what_is_dropped_or_why_nothing_is(tables, title):
    query, expected = BLOCKS[title]
    with settings(tables, {"sqlext.prefilter": "on"}):
        text = sqlext.explain("\n".join(query), spark=tables)
    assert re.findall("^prefilter: .*$", text, re.M) == expected


def test_rows_are_the_same_with_and_without(tables):
    queries = ["\n".join(query) for query, _ in BLOCKS.values()]
    with_filter, without = (rows_of(tables, mode, queries) for mode in ("on", "off"))
    assert dict(zip(BLOCKS, with_filter)) == dict(zip(BLOCKS, without))


@pytest.mark.random(every=2)
@pytest.mark.parametrize("start", range(0, len(KEYED), AT_ONCE))
def test_statements_give_their_rows_with_it(tables, start):
    group = KEYED[start : start + AT_ONCE]
    results = rows_of(tables, "on", [case.step.text for case in group])
    assert {c.title: r for c, r in zip(group, results)} == {c.title: expected_of(c.step) for c in group}


@pytest.mark.parametrize(
    "steps, expected",
    [
        ("element_at(array('login', 'buy', 'leave'), 1 + CAST(id div 40000 AS INT))", "none, 260 of 260 sampled keys"),
        ("IF(id % 500 = 7 AND id > 100000, 'buy', 'login')", "keys without a row for B .* 0 of 260 sampled keys"),
        ("IF(id % 500 = 7, 'buy', IF(id % 3 = 0, 'leave', 'login'))", "keys without a row for B .* sampled rows"),
    ],
    ids=["the first rows are unlike others", "the first rows are alike", "the first rows differ"],
)
def test_a_uniform_sample_is_not_trusted(tables, monkeypatch, steps, expected):
    monkeypatch.setattr(prefilter, "MIN_BYTES", 0)
    tables.sql(f"""CREATE OR REPLACE TABLE log USING delta AS
        SELECT id AS t, id % 500 AS k, {steps} AS step FROM range(0, 120000, 1, 1)""")
    query = """SELECT k, n FROM log MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES COUNT(*) AS n
               PATTERN (A X* B) DEFINE A AS step = 'login', B AS step = 'buy')"""
    with settings(tables, {"sqlext.prefilter": "auto", "sqlext.read": "spark"}):
        (line,) = re.findall("^prefilter: (.*)$", sqlext.explain(query, spark=tables), re.M)
        found = sorted(map(tuple, tables.sql(query).collect()))
    assert re.match(expected, line), line
    with settings(tables, {"sqlext.prefilter": "off"}):
        assert found == sorted(map(tuple, tables.sql(query).collect()))


@pytest.mark.parametrize(
    "steps, expected",
    [
        ("IF(id % 100 < 2, IF(id % 100 = 0, 'login', 'buy'), 'other')",
         "none, a match can use 656 of 32,768 sampled rows, and no others are read"),
        ("IF(id % 500 = 7, 'buy', IF(id % 3 = 0, 'other', 'login'))", "keys without a row for B .* sampled rows"),
    ],
    ids=["few rows are usable", "many rows are usable"],
)  # fmt: skip
def test_keys_are_not_dropped_where_few_rows_are_read(tables, monkeypatch, steps, expected):
    monkeypatch.setattr(prefilter, "MIN_BYTES", 0)
    tables.sql(f"""CREATE OR REPLACE TABLE log USING delta AS
        SELECT id AS t, id % 500 AS k, {steps} AS step FROM range(0, 120000, 1, 1)""")
    query = """SELECT k, n FROM log MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES COUNT(*) AS n
               PATTERN (A -> B) DEFINE A AS step = 'login', B AS step = 'buy')"""
    with settings(tables, {"sqlext.prefilter": "auto", "sqlext.read": "spark"}):
        text = sqlext.explain(query, spark=tables)
        found = sorted(map(tuple, tables.sql(query).collect()))
    (line,) = re.findall("^prefilter: (.*)$", text, re.M)
    assert re.match(expected, line), line
    assert "rows: only those with" in text
    with settings(tables, {"sqlext.prefilter": "off"}):
        assert found == sorted(map(tuple, tables.sql(query).collect()))


def test_a_row_that_comes_later_is_seen_by_both_readings_or_by_none(tables):
    query = """SELECT sym, n FROM later MATCH_RECOGNIZE (PARTITION BY sym ORDER BY t MEASURES COUNT(*) AS n
               PATTERN (A B) DEFINE B AS price < 0)"""
    tables.sql("CREATE TABLE later USING delta AS SELECT 'a' AS sym, 1 AS t, 1 AS price")
    with settings(tables, {"sqlext.prefilter": "on"}):
        frame = tables.sql(query)
    tables.sql("INSERT INTO later VALUES ('a', 2, -1), ('b', 1, 1)")
    assert [tuple(row) for row in frame.collect()] in ([], [("a", 2)])


def test_a_version_of_a_table_is_sampled_once(tables, monkeypatch):
    monkeypatch.setattr(prefilter, "MIN_BYTES", 0)
    monkeypatch.setattr(prefilter, "_ANSWERS", {})
    read = []
    sample = prefilter._sample
    monkeypatch.setattr(prefilter, "_sample", lambda *args: read.append(args) or sample(*args))
    tables.sql("CREATE OR REPLACE TABLE log USING delta AS SELECT id AS t, id % 5 AS k, 'login' AS step FROM range(99)")
    query = """SELECT k FROM log MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES COUNT(*) AS n
               PATTERN (A X* B) DEFINE A AS step = 'login', B AS step = '{}')"""

    def plan_lines(word: str) -> list[str]:
        return re.findall("^prefilter: .*$", sqlext.explain(query.format(word), spark=tables), re.M)

    with settings(tables, {"sqlext.prefilter": "auto", "sqlext.read": "spark"}):
        first = plan_lines("buy")
        assert plan_lines("buy") == first and len(read) == 1
        plan_lines("leave")
        assert len(read) == 2
        tables.sql("INSERT INTO log VALUES (100, 1, 'buy')")
        plan_lines("buy")
        assert len(read) == 3
