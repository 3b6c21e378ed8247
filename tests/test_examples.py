"""The examples run and show what they promise: the `>>>` lines of all modules, the files in sql_examples."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import sqlext
from sqlext.cli import split_statements

MODULES = ["sqlext", *(m.name for m in pkgutil.walk_packages(sqlext.__path__, "sqlext.") if "__main__" not in m.name)]
STATEMENTS = sorted((Path(__file__).parents[1] / "sql_examples").glob("*.sql"))
EXPECT = "-- expect:"


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def expected_results(text):
    """Each `-- expect:` block of a file's header as lines of cells, the names of the columns first."""
    results = []
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        if line == EXPECT:
            results.append([])
        elif results and line != "--":
            results[-1].append(line.removeprefix("-- ").split("\t"))
    return results


def shown_results(spark, text):
    """What `sqlext run` prints for a file, as `expected_results` has it; statements without columns print nothing."""
    results = []
    for statement in split_statements(text):
        result = spark.sql(statement)
        if result.columns:
            cells = result.selectExpr(*(f"coalesce(CAST(`{name}` AS STRING), 'NULL')" for name in result.columns))
            results.append((statement, [result.columns, *map(list, cells.collect())]))
    return results


def is_ordered(statement):
    """Does the query itself, behind the last parenthesis, have an ORDER BY?"""
    return "ORDER BY" in statement.rpartition(")")[2]


def without_order(lines):
    return [lines[0], *sorted(lines[1:])]


@pytest.fixture
def clean_catalog(spark):
    """The file under test must leave no table and no view."""
    before = {table.name for table in spark.catalog.listTables()}
    yield
    assert {table.name for table in spark.catalog.listTables()} == before


@pytest.mark.parametrize("file", STATEMENTS, ids=lambda file: file.stem)
def test_a_file_of_sql_examples_shows_the_rows_of_its_header(spark, clean_catalog, file):
    text = file.read_text(encoding="utf-8")
    expected, shown = expected_results(text), shown_results(spark, text)
    assert expected, "the header has no `-- expect:` block"
    assert len(shown) == len(expected)
    for (statement, lines), wanted in zip(shown, expected):
        if is_ordered(statement):
            assert lines == wanted
        else:
            assert without_order(lines) == without_order(wanted)


def test_sql_examples_are_many_and_numbered_without_gaps():
    assert [int(file.name[:2]) for file in STATEMENTS] == list(range(1, len(STATEMENTS) + 1))
    assert len(STATEMENTS) >= 10
