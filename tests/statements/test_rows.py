"""Queries and their rows, for each way in which their clauses can run."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import pytest

import sqlext
from sqlext.sessions.hook import unhooked
from tests.conftest import format_of_tables

from .cases import HERE, WAYS, Case, cases, difference, results_of, settings

pytestmark = pytest.mark.spark
FILES = ["modes.txt", "names.txt", "types.txt", "measures.txt", "define.txt", "within.txt", "pushed.txt", "unread.txt",
         "cep.txt", "rowtime.txt", "subqueries.txt", "lambdas.txt", "windows.txt", "window_functions.txt",
         "emit.txt"]  # fmt: skip
ONE_WAY = {"window_functions.txt", "emit.txt"}  # no engine of MATCH_RECOGNIZE runs them, and EMIT is not plain SQL
AT_ONCE = 12  # queries in one statement, because Spark's cost per job would be most of the time


def groups(*ways: str):
    """Cases of one file with the same settings, for each of these ways."""
    for name in FILES:
        ordered = sorted(cases(name), key=lambda c: (sorted(c.settings.items()), list(c.exceptions)))
        for key, alike in groupby(ordered, key=lambda c: (sorted(c.settings.items()), list(c.exceptions))):
            group = list(alike)
            for i in range(0, len(group), AT_ONCE):
                yield from (
                    pytest.param(way, group[i : i + AT_ONCE], id=f"{name}-{way}-{group[i].title}")
                    for way in ways
                    if way not in key[1] and (way == "arrow" or name not in ONE_WAY)
                )


def query(spark, way: str, text: str) -> str:
    return sqlext.compile(text, spark=spark) if way == "portable" else text


def run(spark, way: str, group: list[Case]) -> list:
    """(columns, rows) of each case. All cases run as one statement."""
    sql = unhooked(spark) if way == "portable" else spark.sql
    return results_of(sql, (query(spark, way, case.step.text) for case in group))


def run_each(spark, way: str, group: list[Case]) -> list:
    """As `run`, but one by one; the result of a case that fails is its error."""
    results: list = []
    for case in group:
        try:
            results += run(spark, way, [case])
        except Exception as e:
            results.append(f"{type(e).__name__}: {e}"[:2000])
    return results


@pytest.mark.parametrize(("way", "group"), list(groups("arrow")))
def test_queries_give_their_rows(session, way, group):
    check(session, way, group)


@pytest.mark.random(every=8)
@pytest.mark.parametrize(("way", "group"), list(groups(*(way for way in WAYS if way != "arrow"))))
def test_queries_give_their_rows_in_other_ways(session, way, group):
    check(session, way, group)


ORDERED = [param for param in groups("arrow") if not param.id.startswith(tuple(ONE_WAY))]


@pytest.mark.random(every=10)
@pytest.mark.parametrize(("way", "group"), ORDERED)
@pytest.mark.parametrize("order", ["spark", "worker"])
def test_it_does_not_matter_who_orders_the_rows(session, order, way, group):
    check(session, way, group, {"sqlext.order": order})


@pytest.mark.random(every=9)
@pytest.mark.parametrize(("way", "group"), list(groups("arrow")))
@pytest.mark.parametrize("files", ["parquet", "delta"] if format_of_tables() == "delta" else [format_of_tables()])
def test_it_does_not_matter_who_reads_the_rows(session, tables_of_files, files, way, group):
    with_tables = [replace(case, steps=[tables_of_files.step(case.step, files)]) for case in group]
    if files == "iceberg":
        check_like_views(session, way, with_tables, group)
    else:
        check(session, way, with_tables)


def check_like_views(session, way: str, with_tables: list[Case], group: list[Case]) -> None:
    """As `check`, but what this Spark does not run over views either is equal: the data files are of a newer one."""
    with settings(session, {**group[0].settings, "sqlext.engine": way}):
        try:
            results = run(session, way, with_tables)
        except Exception:
            results = run_each(session, way, with_tables)
        pairs = [(case, result) for case, result in zip(group, results, strict=True) if difference(case, result)]
        over_views = run_each(session, way, [case for case, _ in pairs])
    others = [(case, result) for (case, result), other in zip(pairs, over_views) if essence(result) != essence(other)]
    assert not others, "\n\n".join(difference(case, result) for case, result in others)


def essence(result) -> object:
    """Columns and rows, or the class and name of an error."""
    return result.split(": ")[:2] if isinstance(result, str) else result


def check(session, way: str, group: list[Case], more: dict[str, str] | None = None) -> None:
    engine = {} if way == "portable" else {"sqlext.engine": way}
    with settings(session, {**group[0].settings, **engine, **(more or {})}):
        try:
            results = run(session, way, group)
        except Exception:
            results = run_each(session, way, group)
    wrong = [text for case, result in zip(group, results, strict=True) if (text := difference(case, result))]
    assert not wrong, "\n\n".join(wrong)


EXCEPTIONS = [
    pytest.param(way, case, id=f"{name}-{way}-{case.title}")
    for name in FILES
    for case in cases(name)
    for way in case.exceptions
]


@pytest.mark.random(every=8)
@pytest.mark.parametrize(("way", "case"), EXCEPTIONS)
def test_a_way_that_a_case_excepts_gives_an_error_or_other_rows(session, way, case):
    """Otherwise the exception is out of date."""
    engine = {} if way == "portable" else {"sqlext.engine": way}
    with settings(session, {**case.settings, **engine}):
        (result,) = run_each(session, way, [case])
    assert difference(case, result), f"delete this line from the data file: not {way}: {case.exceptions[way]}"


def test_every_data_file_is_run():
    others = {"relations.txt", "scripts.txt", "errors.txt", "keys.txt", "rules.txt"}
    assert {path.name for path in HERE.glob("*.txt")} == {*FILES, *others}
