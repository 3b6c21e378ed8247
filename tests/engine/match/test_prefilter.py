"""Keys that cannot match are dropped in the right cases, and it changes no result."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

import pytest

import sqlext
from sqlext.engine.match.prefilter import Counts, Sample, pays
from tests.statements.cases import as_lines, cases, expected_of, result_of, settings

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


def counts(text: str) -> Counts:
    return Counts(**dict(zip(("rows", "keys", "once", "twice"), map(int, text.split("/")))))


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
    """(columns, rows) of each query, run as one statement."""
    with settings(spark, {"sqlext.prefilter": mode}):
        texts = [as_lines(query, i) for i, query in enumerate(queries)]
        return [
            result_of(row) for row in sorted(spark.sql("\nUNION ALL\n".join(texts)).collect(), key=lambda row: row.n)
        ]


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


@pytest.mark.parametrize("start", range(0, len(KEYED), AT_ONCE))
def test_statements_give_their_rows_with_it(tables, start):
    group = KEYED[start : start + AT_ONCE]
    results = rows_of(tables, "on", [case.step.text for case in group])
    assert {c.title: r for c, r in zip(group, results)} == {c.title: expected_of(c.step) for c in group}


def test_a_row_that_comes_later_is_seen_by_both_readings_or_by_none(tables):
    query = """SELECT sym, n FROM later MATCH_RECOGNIZE (PARTITION BY sym ORDER BY t MEASURES COUNT(*) AS n
               PATTERN (A B) DEFINE B AS price < 0)"""
    tables.sql("CREATE TABLE later USING delta AS SELECT 'a' AS sym, 1 AS t, 1 AS price")
    with settings(tables, {"sqlext.prefilter": "on"}):
        frame = tables.sql(query)
    tables.sql("INSERT INTO later VALUES ('a', 2, -1), ('b', 1, 1)")
    assert [tuple(row) for row in frame.collect()] in ([], [("a", 2)])
