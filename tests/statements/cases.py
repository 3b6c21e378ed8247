"""Readers of the data files of these tests.

A file is a list of blocks. A block begins with `== title`. Below the title come

- lines that begin with `set`, `args`, `frame` or `not` (see Case),
- statements, each ended by `;` at the end of a line or by its expected outcome; a script by a line `END;` or `END`,
- as the outcome, `rows a:int,b:string` (the result's columns as Spark's typeof prints them) and below it one row a
  line, in any order, as CAST(struct(*) AS STRING) prints it, without the braces; or
- `error` and below it the message, or its first lines;
- after an empty line, more statements.

Lines before the first block that begin with # are comments.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import ndiff
from pathlib import Path
from typing import Any

from sqlext.spark.quiet_probes import quiet_probes

HERE = Path(__file__).parent
WAYS = ("arrow", "udtf", "portable")


@dataclass
class Step:
    """One statement. `kind`: "rows", "error", or "" if the statement must only run without an error."""

    text: str
    kind: str = ""
    columns: str = ""
    lines: list[str] = field(default_factory=list)


@dataclass
class Case:
    """One block.

    `set name=value`: settings. `args [..]` or `args {..}`: the parameters as JSON. `frame x SELECT ..`: keyword
    DataFrames. `not udtf: reason`, `not portable: reason`: ways in which the statement does not run.
    """

    title: str
    settings: dict[str, str] = field(default_factory=dict)
    args: Any = None
    frames: dict[str, str] = field(default_factory=dict)
    exceptions: dict[str, str] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    def __str__(self) -> str:
        return self.title

    @property
    def step(self) -> Step:
        (step,) = self.steps
        return step


def cases(name: str) -> list[Case]:
    blocks = ("\n" + (HERE / name).read_text("utf-8")).split("\n== ")[1:]
    return [_case(block) for block in blocks]


def _case(block: str) -> Case:
    title, *lines = block.rstrip("\n").split("\n")
    case = Case(title)
    while lines and (word := lines[0].split(" ")[0]) in ("set", "args", "frame", "not"):
        _read_header(case, word, lines.pop(0).partition(" ")[2])
    case.steps = list(steps(lines))
    return case


def _read_header(case: Case, word: str, rest: str) -> None:
    if word == "set":
        name, _, value = rest.partition("=")
        case.settings[name] = value
    elif word == "args":
        case.args = json.loads(rest)
    elif word == "frame":
        name, _, text = rest.partition(" ")
        case.frames[name] = text
    else:
        way, _, reason = rest.partition(": ")
        assert way in WAYS and reason, f"{case.title}: in which way does it not run, and why?"
        case.exceptions[way] = reason


def steps(lines: list[str]) -> Iterator[Step]:
    text: list[str] = []
    step: Step | None = None
    for line in lines:
        if step is not None and (line or step.kind == "error"):
            step.lines.append(line)
        elif step is not None:
            yield step
            step = None
        elif line == "error" or line.startswith("rows"):
            step, text = Step("\n".join(text), line[:5].strip(), line[5:].strip()), []
        elif line.endswith(";") and (text[:1] != ["BEGIN"] or line == "END;"):
            yield Step("\n".join([*text, line[:-1]]))
            text = []
        elif line or text:
            text.append(line)
    if step is not None:
        yield step
    elif text:
        yield Step("\n".join(text))


@contextmanager
def settings(spark, values: dict[str, str]):
    """Set these settings of the session, and restore them at the end."""
    before = {name: spark.conf.get(name, None) for name in values}
    for name, value in values.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)


def cases_of_settings(path: Path) -> list[tuple[str, dict[str, str], list[tuple[str, str]]]]:
    """The blocks of a file: the title, which is a list of settings, their values, and the expressions below, each with
    the name of the error if it is refused."""
    blocks = (block.split("\n") for block in path.read_text("utf-8").strip().split("\n\n== ")[1:])
    return [
        (
            title,
            dict(setting.split(" = ") for setting in title.split("; ")),
            [(expression, refusal) for expression, _, refusal in (line.partition(" → ") for line in lines)],
        )
        for title, *lines in blocks
    ]


def as_lines(query: str, number: int = 0) -> str:
    """A query for one row: `number`, the type of the query's rows, and all its rows as strings."""
    return (
        f"SELECT {number} AS n, typeof(any_value(r)) AS kind, collect_list(CAST(r AS STRING)) AS lines"
        f" FROM (SELECT struct(*) AS r FROM (\n{query}\n))"
    )


def result_of(row) -> tuple[str, list[str]]:
    """(columns, rows) in a row of `as_lines`, written as in the data files."""
    return row.kind[len("struct<") : -1], sorted(line[1:-1] for line in row.lines)


def results_of(sql, queries) -> list[tuple[str, list[str]]]:
    """(columns, rows) of each query; all are run as one statement by `sql`."""
    text = "\nUNION ALL\n".join(as_lines(query, number) for number, query in enumerate(queries))
    return [result_of(row) for row in sorted(sql(text).collect(), key=lambda row: row.n)]


def expected_of(step: Step) -> tuple[str, list[str]]:
    return step.columns, sorted(step.lines)


def difference(case: Case, result: tuple[str, list[str]] | str) -> str:
    """Expected and actual columns and rows line by line, as a data file has them; "" if they are equal.

    `result`: as `result_of` returns it, or the text of an error.

    >>> case = Case("two rows", steps=[Step("SELECT …", "rows", "a:int", ["1", "2"])])
    >>> print(difference(case, ("a:int", ["1", "3"])))
    == two rows
      rows a:int
      1
    - 2
    + 3
    """
    if result == expected_of(case.step):
        return ""
    (columns, rows), expected = (("", [result]) if isinstance(result, str) else result), expected_of(case.step)
    return "\n".join([f"== {case.title}", *ndiff([f"rows {expected[0]}", *expected[1]], [f"rows {columns}", *rows])])


def message(run) -> str:
    """The error of a call, without what PySpark and the worker's traceback print before it; "" if there is none."""
    try:
        with quiet_probes():
            run()
    except Exception as e:
        return str(e)[max(0, str(e).find("SQLEXT_")) :]
    return ""
