"""The code of conditions is that of `condition_code.txt`, instruction by instruction.

The file has the code of every condition of `cases.txt`, and of conditions of DEFINE that are lowered without Spark. Its
lines are what a change of the compiler must not change by accident.
`python -m tests.pattern.conditions.test_condition_code` writes it anew.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sqlext.engine.planning.plan_parts import outline_of
from sqlext.expressions.function import ExecutionSettings
from sqlext.pattern.conditions.condition_reads import is_interpreted
from sqlext.pattern.program.program import Done, Program
from sqlext.pattern.task.task import Condition, MatchTask
from sqlext.pattern.threads.condition_code import assemble
from sqlext.rewriter.lowering.input_query import InputRelation
from sqlext.rewriter.lowering.lower_clause import lower
from sqlext.rewriter.match.parse_match import parse_match
from sqlext.rewriter.match.sites import scan
from sqlext.rewriter.scalars.static_binder import StaticBinder
from sqlext.rewriter.text.splice import Source
from sqlext.rewriter.text.tokens import tokenize

from .notation import read

LABELS = ("A", "B", "C")
FILE = Path(__file__).with_name("condition_code.txt")
COLUMNS = (
    ("i", "int"), ("j", "bigint"), ("y", "tinyint"), ("f", "float"), ("g", "double"), ("b", "boolean"),
    ("m", "decimal(9,2)"), ("k", "decimal(18,4)"), ("w", "decimal(38,10)"), ("d", "date"), ("t", "timestamp"),
    ("s", "string"),
)  # fmt: skip
# The condition of B; with "wrap:" before it, overflow is no error.
DEFINED = (
    "i < PREV(i)",
    "PREV(i) IS NULL OR i >= PREV(i)",
    "NOT (i = FIRST(A.i) AND b)",
    "i + j > LAST(A.i) * 2",
    "wrap: i + j > LAST(A.i) * 2",
    "-i < abs(LAST(A.i))",
    "wrap: -y < abs(LAST(A.y))",
    "y % 3 = LAST(A.y)",
    "i / 2 > LAST(A.g)",
    "f <= LAST(A.g) - 1.5",
    "g <> PREV(g, 2) + 1e3",
    "m + LAST(A.m) < 100",
    "m * LAST(A.m) < k",
    "m - i = LAST(A.k)",
    "wrap: m + LAST(A.m) < 100",
    "w < LAST(A.w)",
    "i BETWEEN LAST(A.i) AND LAST(A.j)",
    "i IN (1, LAST(A.i), 3)",
    "i NOT IN (1, LAST(A.i))",
    "b <=> LAST(A.b)",
    "coalesce(PREV(i), 0) < j",
    "nullif(LAST(A.i), 0) < i",
    "if(b, LAST(A.i), j) < 7",
    "least(i, LAST(A.i), 3) < greatest(j, LAST(A.j))",
    "CASE WHEN b THEN LAST(A.i) WHEN i = 2 THEN 3 ELSE i END > 1",
    "CASE i WHEN LAST(A.i) THEN b WHEN 4 THEN TRUE END",
    "CAST(LAST(A.i) AS BIGINT) < j",
    "CAST(LAST(A.m) AS DOUBLE) < g",
    "t - LAST(A.t) > t - FIRST(t)",
    "d > LAST(A.d)",
    "s = LAST(A.s)",
    "CLASSIFIER() = CLASSIFIER(A)",
    "MATCH_NUMBER() = 2",
    "count(*) < 3 AND sum(A.i) < 100 AND avg(B.g) >= min(g)",
    "count(DISTINCT A.i) > max(i)",
    "sum(m) < 10",
    "wrap: sum(m) < 10",
    "sum(S.j) > count(S.*)",
    "i > NULL",
    "i > CAST(NULL AS INT) OR LAST(A.b)",
)


@cache
def conditions() -> dict[str, tuple[Condition | None, ...]]:
    """The conditions of the labels of each case, by its title."""
    cases = {}
    for line in FILE.with_name("cases.txt").read_text("utf-8").splitlines():
        if line and line[0] != "#":
            name, path, text, _ = (part.strip() for part in line.split("|"))
            cases[f"{name} | {path} | {text}"] = tuple(read(text) if label == path[-1] else None for label in LABELS)
    return cases | {f"DEFINE B AS {text}": defined(text) for text in DEFINED}


def defined(text: str) -> tuple[Condition | None, ...]:
    """The conditions of a clause in which B has this one, lowered without Spark."""
    condition = text.removeprefix("wrap: ")
    settings = ExecutionSettings(is_ansi=condition == text, time_zone="UTC")
    statement = f"SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A+ B+) SUBSET S = (A, B) DEFINE B AS {condition})"
    relation = InputRelation(
        columns=COLUMNS,
        resolver=StaticBinder(columns=dict(COLUMNS), settings=settings),
        is_aggregate=lambda name: False,
        settings=settings,
        is_static=True,
    )
    clause = parse_match(statement, tokenize(statement), scan(statement)[0])
    return lower(clause, Source(statement), relation).task.conditions


def printed(conditions: tuple[Condition | None, ...]) -> list[str]:
    """The lines of the code, and what else the kernel receives that is not empty; of an interpreted condition, what its
    fingerprint holds."""
    if any(map(is_interpreted, conditions)):
        task = MatchTask(program=Program((Done(),), LABELS), bits=(None,) * len(conditions), conditions=conditions)
        return [json.dumps(outline_of(task)[1][1])]
    code = assemble(conditions)
    constants = zip(code.registers[: code.result].tolist(), code.is_null[: code.result].tolist())
    tables: dict[str, Any] = {
        "constants": " ".join("NULL" if is_null else str(value) for value, is_null in constants),
        "registers": len(code.registers),
        "columns": _numbers(code.columns),
        "distinct": _numbers(code.distinct),
        "starts": _numbers(code.code_start),
        "sets": _numbers(code.push) and f"{_numbers(code.push_start)} : {_numbers(code.push)}",
        "accumulators": " ".join(
            f"({_numbers(row)} : {_numbers(feeds)})" for row, feeds in zip(code.accumulators, code.feeds)
        ),
        "seen": " ".join(f"{label}:{sorted(parts)}" for label, parts in enumerate(code.seen) if parts),
    }
    return [*(f"{name} {value}" for name, value in tables.items() if value != ""), *map(_numbers, code.code)]


def _numbers(values: Any) -> str:
    return " ".join(str(int(value)) for value in np.asarray(values).tolist())


def blocks() -> dict[str, list[str]]:
    """The lines of the data file, by title."""
    titles = [block.splitlines() for block in FILE.read_text("utf-8").split("== ")[1:]]
    return {lines[0]: lines[1:] for lines in titles}


@pytest.fixture(scope="module")
def wanted() -> dict[str, list[str]]:
    return blocks()


def test_the_file_has_the_code_of_every_case(wanted):
    assert list(wanted) == list(conditions())


@pytest.mark.random
@pytest.mark.parametrize("title", conditions())
def test_the_code_is_the_one_of_the_file(title, wanted):
    assert printed(conditions()[title]) == wanted[title]


if __name__ == "__main__":
    FILE.write_text("".join(f"== {t}\n" + "\n".join(printed(c)) + "\n" for t, c in conditions().items()), "utf-8")
