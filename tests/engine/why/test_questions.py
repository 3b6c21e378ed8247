"""Questions of users, and whether one of the first five lines of the answer solves each of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from .harness import partition_why

PAGE = Path(__file__).parents[3] / "docs" / "why.md"
FILE = Path(__file__).parent / "questions.txt"
CONVERTED: dict[str, Callable[[str], Any]] = {
    "int": int, "bigint": int, "string": str, "timestamp": lambda x: datetime.fromisoformat(f"2026-03-04T{x}"),
}  # fmt: skip


def questions() -> list[Any]:
    blocks = re.split(r"^== ", FILE.read_text(), flags=re.M)[1:]
    cases = []
    for block in blocks:
        title, *lines = block.strip().splitlines()
        cases.append(pytest.param(dict(line.split(": ", 1) for line in lines), id=title))
    return cases


def answer(question: dict[str, str]) -> list[str]:
    """The lines about the row, after the line that names it."""
    columns = dict(column.split() for column in question["columns"].split(", "))
    rows = [
        [CONVERTED[kind](value) for kind, value in zip(columns.values(), row.split())]
        for row in question["rows"].split(" | ")
    ]
    row = int(question["row"]) - 1
    text = f"SELECT * FROM t MATCH_RECOGNIZE ({question['clause']}) m"
    why = partition_why(text, columns, rows, chosen=[row])
    return why.lines(why.chosen()[0])


def test_there_are_twenty_questions_each_with_a_source():
    sources = [param.values[0]["source"] for param in questions()]
    assert len(sources) >= 20
    assert all(source.startswith(("http://", "https://")) for source in sources)


@pytest.mark.parametrize("question", questions())
def test_the_first_five_lines_answer_the_question(question):
    assert question["source"].startswith("http")
    lines = answer(question)
    assert any(question["answer"] in line for line in lines[:4]), "\n".join(lines)


CASES = re.findall(
    r"^\[[^\]]+\]\((http[^)]+)\):\n\n```sql\n(EXPLAIN MATCH WHY\n.*?)\n```\n\n```\n([^\n]+)\n```$",
    PAGE.read_text("utf-8"),
    re.MULTILINE | re.DOTALL,
)


def test_the_page_has_ten_questions():
    assert len(CASES) >= 10
    assert {source for source, _, _ in CASES} <= {param.values[0]["source"] for param in questions()}


@pytest.mark.parametrize(("statement", "line"), [case[1:] for case in CASES])
def test_a_command_of_the_page_has_the_answer_that_is_below_it(spark, statement, line):
    shown = spark.sql(statement).collect()[0][0].splitlines()
    assert any(line in part for part in shown[:5]), "\n".join(shown)
