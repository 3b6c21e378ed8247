"""Statements of every kind, run one behind the other as a user would, and what is wrong with others."""

from __future__ import annotations

import pytest

from .cases import Case, as_lines, cases, found, message, settings, wanted

pytestmark = pytest.mark.spark


@pytest.fixture
def clean(given):
    """The session; tables that the case makes are dropped behind it."""
    before = {t.name for t in given.catalog.listTables()}
    yield given
    for table in given.catalog.listTables():
        if table.name not in before:
            given.sql(f"DROP {'VIEW' if table.isTemporary else 'TABLE'} `{table.name}`")


def run(spark, case: Case) -> list:
    """What is found where a step says what it expects."""
    frames = {name: spark.sql(text) for name, text in case.frames.items()}
    results: list = []
    for step in case.steps:

        def execute(text=step.text):
            return spark.sql(text, case.args, **frames)

        if step.kind == "error":
            lines = message(lambda run=execute: run().collect()).split("\n")
            results.append(lines[: len(step.lines)])
        elif step.kind == "rows":
            execute().createOrReplaceTempView("result")
            results.append(found(spark.sql(as_lines("SELECT * FROM result")).first()))
        else:
            execute()
    return results


def expected(case: Case) -> list:
    return [s.lines if s.kind == "error" else wanted(s) for s in case.steps if s.kind]


@pytest.mark.parametrize("case", [*cases("scripts.txt"), *cases("errors.txt")], ids=str)
def test_statements_give_their_rows_or_their_error(clean, case):
    with settings(clean, case.settings):
        assert run(clean, case) == expected(case)
