"""Statements of users of other systems give the rows, or the error, that are written below them.

`python -m tests.migration.test_migration [SYSTEM …]` writes the outcomes anew. Check every row of the difference by
hand: these files are the only place that knows what other systems return.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager

import pytest

from sqlext.errors import SqlExtError
from sqlext.spark.quiet_probes import quiet_probes
from tests.statements.cases import results_of

from .statements import HERE, SYSTEMS, Outcome, System, Version, all_versions, read

AT_ONCE = 12  # queries in one statement, because Spark's cost per job would be most of the time


@contextmanager
def relations(spark, system: System):
    """The views of a file while it runs."""
    for text in system.relations:
        spark.sql(text)
    try:
        yield
    finally:
        for view in spark.catalog.listTables():
            if view.isTemporary:
                spark.catalog.dropTempView(view.name)


def run(spark, versions: list[Version]) -> list[Outcome]:
    """The outcome of each statement. Those that give rows run together, unless one of them fails."""
    for text in (text for version in versions for text in version.before):
        spark.sql(text)
    try:
        with quiet_probes():
            return [Outcome("rows", *result) for result in results_of(spark.sql, (v.text for v in versions))]
    except Exception as e:
        if len(versions) > 1:
            return [outcome for version in versions for outcome in run(spark, [Version(version.text)])]
        return [error_of(spark, versions[0].text, e)]


def error_of(spark, text: str, wrapped: Exception | None = None) -> Outcome | None:
    """The error of the statement as its author sees it: without the query that `results_of` puts around it. If it gives
    rows so, the error `wrapped` of the query around it, or None."""
    error = wrapped
    try:
        with quiet_probes():
            spark.sql(text).collect()
    except Exception as e:
        error = e
    if error is None:
        return None
    lines = str(error).strip().split("\n")
    return Outcome("error", "", lines if isinstance(error, SqlExtError) else lines[:1])


def refused(spark, version: Version) -> Outcome:
    """The outcome of a statement that is expected to fail: its error, or rows."""
    for text in version.before:
        spark.sql(text)
    return error_of(spark, version.text) or run(spark, [Version(version.text)])[0]


def outcomes(spark, system: System) -> dict[tuple[str, int], Outcome]:
    """(title, which version) → what came out of the statement; those that are expected to give rows run first."""
    chosen = [((m.title, m.versions.index(v)), v) for m, v in all_versions(system)]
    with_rows = [(key, v) for key, v in chosen if v.outcome.kind == "rows"]
    result = {}
    for i in range(0, len(with_rows), AT_ONCE):
        part = with_rows[i : i + AT_ONCE]
        result.update(zip([key for key, _ in part], run(spark, [v for _, v in part])))
    return result | {key: refused(spark, v) for key, v in chosen if v.outcome.kind == "error"}


@pytest.mark.random(every=2)
@pytest.mark.parametrize("name", SYSTEMS)
def test_statements_of_other_systems(spark, name):
    system = read(name)
    with relations(spark, system):
        actual = outcomes(spark, system)
    expected = {(m.title, m.versions.index(v)): v.outcome for m, v in all_versions(system)}
    assert {key: str(actual[key]) for key in expected} == {key: str(o) for key, o in expected.items()}


def test_nearly_all_statements_of_each_system_are_equal_or_refused_with_what_to_write():
    for name in SYSTEMS:
        statements = read(name).statements
        wrong = [s.title for s in statements if not (s.is_unchanged or s.says_what_to_write)]
        assert len(statements) >= 17 and len(wrong) <= 0.02 * len(statements), (name, wrong)
    assert sum(len(read(name).statements) for name in SYSTEMS) >= 260
    assert {path.stem for path in HERE.glob("*.sql")} == SYSTEMS.keys()


def test_a_statement_that_differs_returns_other_rows_than_the_one_to_write():
    for name in SYSTEMS:
        for statement in read(name).statements:
            if statement.version.outcome.kind == "rows":
                assert statement.differs == (statement.rewritten is not None), (name, statement.title)
                is_same = statement.differs and statement.version.outcome.lines == statement.rewritten.outcome.lines
                assert not is_same, (name, statement.title)


def write(spark, names) -> None:
    """Write the files anew with the outcomes of today, and print how many statements run unchanged."""
    for name in names or SYSTEMS:
        system = read(name)
        with relations(spark, system):
            for _, version in all_versions(system):
                (version.outcome,) = run(spark, [version])
        for statement in system.statements:
            if statement.is_unchanged:
                statement.rewritten = None
        (HERE / f"{name}.sql").write_text(str(system), "utf-8")
        unchanged = sum(statement.is_unchanged for statement in system.statements)
        print(f"{name}: {unchanged} of {len(system.statements)} run unchanged", flush=True)


if __name__ == "__main__":
    import sqlext
    from tests.conftest import SETTINGS

    session = sqlext.session("migration", master="local[2]", **SETTINGS)
    write(session, sys.argv[1:])
