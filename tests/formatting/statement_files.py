"""All statements that the data files of the tests and the examples have, as users would write them into files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.migration.statements import SYSTEMS, all_versions, read
from tests.statements.cases import HERE, cases

ROOT = Path(__file__).parents[2]


def examples() -> dict[str, str]:
    """The files of sql_examples by their names, without notebooks and templates of dbt."""
    paths = [*sorted((ROOT / "sql_examples").glob("*.sql")), *sorted((ROOT / "sql_examples" / "rules").glob("*.sql"))]
    return {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in paths}


def statements() -> Iterator[tuple[str, str]]:
    """(where it is, the statement)"""
    for path in sorted(HERE.glob("*.txt")):
        for case in cases(path.name):
            for step in case.steps:
                yield f"{path.name}: {case.title}", step.text
    for system in SYSTEMS:
        for migrated, version in all_versions(read(system)):
            yield f"{system}: {migrated.title}", version.text
