"""The lessons: each has rows, a statement to begin with, a task, and a solution against which an answer is checked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sqlext.playground.read_csv import csv_table
from sqlext.playground.table import Table

_FOLDER = Path(__file__).parent / "lessons"
_PARTS = ("title", "task", "hint", "rows", "statement", "solution")


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """`number` counts from 1; `rows` is CSV; a lesson is passed by a statement that finds what `solution` finds."""

    number: int
    title: str
    task: str
    hint: str
    rows: str
    statement: str
    solution: str

    @property
    def table(self) -> Table:
        name = re.search(r"FROM (\w+)", self.statement)
        assert name is not None
        return csv_table(self.rows.encode(), name[1])

    def as_json(self) -> dict[str, object]:
        return {part: getattr(self, part) for part in ("number", "title", "task", "hint", "statement", "solution")}


@lru_cache(maxsize=1)
def lessons() -> tuple[Lesson, ...]:
    """All lessons, in order.

    >>> [lesson.title for lesson in lessons()][0]
    'A V shape'
    """
    files = sorted(_FOLDER.glob("*.txt"))
    return tuple(_lesson(number, file.read_text(encoding="utf-8")) for number, file in enumerate(files, 1))


def _lesson(number: int, text: str) -> Lesson:
    parts = dict(re.findall(r"^== (\w+)\n(.*?)(?=^== |\Z)", text, re.MULTILINE | re.DOTALL))
    assert tuple(parts) == _PARTS, parts.keys()
    return Lesson(number=number, **{name: part.strip() for name, part in parts.items()})
