"""Statements of every kind, run one after the other as a user does, and the errors of wrong statements."""

from __future__ import annotations

import re

import pytest

from tests.conftest import format_of_tables

from .cases import Case, as_lines, cases, expected_of, message, result_of, settings

pytestmark = pytest.mark.spark
# What only Delta has, and what only a newer Spark than that of Iceberg's runtime runs, or names so in an error. Iceberg
# keeps a CHAR as a STRING.
_NOT_WITH_ICEBERG = re.compile(r"delta\.`|VERSION AS OF|\bQUALIFY\b|WHERE row_number|\bCHAR\(")


def run(spark, case: Case) -> list:
    """The outcomes of the steps that have an expected outcome."""
    frames = {name: spark.sql(text) for name, text in case.frames.items()}
    results: list = []
    for step in case.steps:

        text = step.text.replace("USING delta", "USING iceberg") if format_of_tables() == "iceberg" else step.text

        def execute(text=text):
            return spark.sql(text, case.args, **frames)

        if step.kind == "error":
            lines = message(lambda run=execute: run().collect()).split("\n")
            results.append(lines[: len(step.lines)])
        elif step.kind == "rows":
            execute().createOrReplaceTempView("result")
            results.append(result_of(spark.sql(as_lines("SELECT * FROM result")).first()))
        else:
            execute()
    return results


def expected(case: Case) -> list:
    return [s.lines if s.kind == "error" else expected_of(s) for s in case.steps if s.kind]


FILES = ("scripts.txt", "errors.txt", "keys.txt", "rules.txt")


@pytest.mark.parametrize("case", [case for file in FILES for case in cases(file)], ids=str)
def test_statements_give_their_rows_or_their_error(clean, case):
    if format_of_tables() == "iceberg" and any(_NOT_WITH_ICEBERG.search(step.text) for step in case.steps):
        pytest.skip("a statement of Delta, or of a newer Spark")
    with settings(clean, case.settings):
        assert run(clean, case) == expected(case)
