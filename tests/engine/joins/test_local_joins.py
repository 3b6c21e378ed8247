"""Joins on time over files that one worker reads: the rows of the data files, and what Spark reads instead."""

from __future__ import annotations

import pytest

from tests.engine.joins.conftest import VIEWS
from tests.engine.joins.test_statements import GROUPS, QUERIES, alike
from tests.statements.cases import expected_of, message, results_of, settings

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def tables(given, tmp_path_factory):
    """The views as tables of files. The rows of one have several files, those of another one a file without rows."""
    folder = tmp_path_factory.mktemp("tables")
    for number, (name, rows) in enumerate(VIEWS.items()):
        given.sql(f"SELECT * FROM {rows}").repartition(1 + number % 3).write.parquet(f"{folder}/{name}")
        given.read.parquet(f"{folder}/{name}").createOrReplaceTempView(name)
    yield given
    for name, rows in VIEWS.items():
        given.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS SELECT * FROM {rows}")


@pytest.mark.random(every=3)
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group[0].title)
def test_queries_over_files_give_their_rows(tables, group):
    titles, results = [case.title for case in group], results_of(tables.sql, (case.step.text for case in group))
    assert list(zip(titles, results)) == [(case.title, expected_of(case.step)) for case in group]


def test_most_queries_over_files_are_read_by_a_worker(tables):
    explained = [
        "\n".join(row[0] for row in tables.sql(f"EXPLAIN MATCH {case.step.text}").collect())
        for case in QUERIES
        if alike(case)
    ]
    found = [text for text in explained if "local: one worker reads" in text]
    assert len(found) > 50


@pytest.mark.parametrize("case", [case for case in QUERIES if "integers of" in case.title], ids=str)
def test_integers_of_different_widths_are_compared_by_a_worker(tables, case):
    assert "local: one worker reads" in tables.sql(f"EXPLAIN MATCH {case.step.text}").first()[0]


@pytest.mark.parametrize(
    "join",
    [
        "INTERVAL JOIN b ON b.t BETWEEN a.t AND a.t + 1",
        "ASOF JOIN b MATCH_CONDITION (a.t >= b.t) ON a.k = b.k",
        "ASOF JOIN b MATCH_CONDITION (array(a.t) >= array(b.t)) ON a.k = b.k",
        "ASOF JOIN b MATCH_CONDITION (a.t >= b.t) ON a.k = b.k WHERE a.k = 1",
    ],
)
def test_a_session_that_asks_for_a_worker_is_told_why_it_cannot(given, join):
    query = f"WITH a AS (SELECT 1 AS k, 1 AS t), b AS (SELECT 1 AS k, 2 AS t) SELECT a.t FROM a {join}"
    with settings(given, {"sqlext.read": "worker"}):
        assert message(lambda: given.sql(query)).startswith("SQLEXT_READ_BY_WORKER: no worker can read the input")
