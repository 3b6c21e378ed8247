"""Joins on time over tables: queries with their rows, and what is refused."""

from __future__ import annotations

import pytest

from tests.statements.cases import Case, as_lines, cases, expected_of, message, result_of, results_of, settings

pytestmark = pytest.mark.spark
KINDS = ("asof", "interval", "aggregates")
QUERIES = [case for name in KINDS for case in cases(f"../engine/joins/{name}.txt")]
REFUSED = [case for name in KINDS for case in cases(f"../engine/joins/{name}_errors.txt")]
AGGREGATES = cases("../engine/joins/aggregates.txt")
AT_ONCE = 12  # queries in one statement: Spark's cost per job would be most of the time


def alike(case: Case) -> bool:
    """Return True if the query can be one of several in a statement."""
    return case.args is None and not case.frames and not case.settings


TOGETHER = [case for case in QUERIES if alike(case)]
GROUPS = [TOGETHER[i : i + AT_ONCE] for i in range(0, len(TOGETHER), AT_ONCE)]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group[0].title)
def test_queries_give_their_rows(given, group):
    titles, results = [case.title for case in group], results_of(given.sql, (case.step.text for case in group))
    assert list(zip(titles, results)) == [(case.title, expected_of(case.step)) for case in group]


@pytest.mark.parametrize("case", [case for case in QUERIES if not alike(case)], ids=str)
def test_queries_with_parameters_frames_and_settings_give_their_rows(given, case):
    frames = {name: given.sql(text) for name, text in case.frames.items()}
    with settings(given, case.settings):
        given.sql(case.step.text, case.args, **frames).createOrReplaceTempView("result")
        rows = given.sql(as_lines("SELECT * FROM result")).first()
    given.catalog.dropTempView("result")
    assert result_of(rows) == expected_of(case.step)


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_what_is_refused_is_told_with_its_place(given, case):
    with settings(given, case.settings):
        assert message(lambda: given.sql(case.step.text)).split("\n") == case.step.lines


@pytest.mark.parametrize("case", AGGREGATES, ids=str)
def test_aggregates_of_ranges_are_the_same_by_pairs_of_spark(given, case):
    with settings(given, {"sqlext.order": "spark"}):
        assert results_of(given.sql, [case.step.text]) == [expected_of(case.step)]
