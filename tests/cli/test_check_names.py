"""`sqlext check --schema catalog` on the session of the tests: names and types, also of what a file itself creates."""

from __future__ import annotations

import re
from pathlib import Path

from sqlext.cli.check_names import check_on_session
from sqlext.cli.check_reports import Finding
from sqlext.cli.sql_files import SqlFile

_PARTS = re.compile(r"== schema\n(.*\n)== statements\n(.*\n)== findings\n(.*)", re.DOTALL)


def parts() -> tuple[str, str, list[tuple[int, str, str]]]:
    """The tables, the statements, and the line, class and words of each finding of names.txt."""
    match = _PARTS.search((Path(__file__).parent / "names.txt").read_text("utf-8"))
    assert match is not None
    findings = [line.split(" ", 2) for line in match[3].splitlines()]
    return match[1], match[2], [(int(line), name, words) for line, name, words in findings]


def shown(finding: Finding) -> tuple[int, str, str]:
    place = finding.error.place
    return finding.ends[0], finding.error.error_class.removeprefix("SQLEXT_"), place.text[place.start : place.stop]


def test_names_and_types_are_checked_and_nothing_is_created(spark):
    schema, statements, expected = parts()
    before = schema.count("\n")
    tables = {table.name for table in spark.catalog.listTables()}
    findings = check_on_session(spark, [SqlFile("a.sql", schema + statements, None)], None)
    assert [shown(finding) for finding in findings] == [(line + before, *rest) for line, *rest in expected]
    assert {table.name for table in spark.catalog.listTables()} == tables
