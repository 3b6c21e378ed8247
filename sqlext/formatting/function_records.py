"""What documents and editors show of each function, operator and aggregate: its form, a sentence, an example."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

FILE = files("sqlext.formatting").joinpath("functions.txt")  # also in a zip
ROWS = """SELECT * FROM VALUES
  (TIMESTAMP '2026-03-02 10:00:00', 1, 10, 'a'),
  (TIMESTAMP '2026-03-02 10:01:00', 2, 20, 'b'),
  (TIMESTAMP '2026-03-02 10:02:00', 2, 50, 'b'),
  (TIMESTAMP '2026-03-02 10:05:00', 4, NULL, 'c') AS t(ts, x, y, name)"""
CLAUSE = "t MATCH_RECOGNIZE (ORDER BY ts MEASURES {} PATTERN (a b{{3}}) DEFINE b AS x >= PREV(x))"  # takes all rows
OF_AGGREGATES = "Aggregates"
OF_SPARK = "Aggregates that only Spark computes"
OF_A_MATCH = "Functions of a match"


@dataclass(frozen=True, kw_only=True)
class FunctionRecord:
    """A name of the tables of functions and aggregates, or a function of a match.

    `form`: how it is called. `example`: an expression, whose value is `result` as `CAST(… AS STRING)` writes it. The
    rows of `ROWS` are its input in sections of aggregates, and a match of `CLAUSE` in that of functions of a match.
    """

    section: str
    name: str
    form: str
    description: str
    example: str
    result: str

    @property
    def is_call(self) -> bool:
        """True if it is called by its name, with arguments in parentheses."""
        return self.form.startswith(f"{self.name}(")


@cache
def function_records() -> tuple[FunctionRecord, ...]:
    """All records, by section; none in an archive of `sqlext pack`, which has code only.

    >>> [record.result for record in function_records() if record.name == "nvl2"]
    ['unset']
    """
    try:
        text = FILE.read_text("utf-8")
    except OSError:
        return ()
    records, section = [], ""
    lines = iter(line for line in text.splitlines() if line and not line.startswith("# "))
    for line in lines:
        if line.startswith("== "):
            section = line.removeprefix("== ")
            continue
        name, _, form = line.partition("  ")
        example, _, result = (description := next(lines), next(lines))[1].partition(" → ")
        records.append(
            FunctionRecord(
                section=section,
                name=name if form else line.partition("(")[0],
                form=form or line,
                description=description,
                example=example,
                result=result,
            )
        )
    return tuple(records)
