"""The page docs/functions.md, from the records of functions. `python -m website.function_pages` writes it."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from sqlext.formatting.function_records import (
    CLAUSE,
    OF_A_MATCH,
    OF_AGGREGATES,
    OF_SPARK,
    ROWS,
    FunctionRecord,
    function_records,
)

FILE = Path(__file__).parents[1] / "docs" / "functions.md"
_BEGIN = f"""# Functions

The functions, operators and aggregates that sqlext computes itself, with Spark's values and types. Where one row
decides an expression, Spark computes it, and every function of Spark is available. Where several rows meet, these are:

| where | what is available |
|---|---|
| [conditions on several rows](language.md#conditions-on-several-rows) in DEFINE | functions, operators, aggregates |
| [rules](rules.md#functions-of-rules), the [playground](playground.md) | functions, operators, aggregates |
| [EMIT](windows.md#aggregates) | aggregates |
| [MEASURES](language.md#aggregates) in batch | all of Spark |

Examples have the value that `CAST(… AS STRING)` shows in a session in UTC. Those of aggregates read these rows,

```sql
CREATE OR REPLACE TEMP VIEW t AS
{ROWS};
```

and those of functions of a match this clause, which takes all four rows:

```sql
SELECT * FROM {CLAUSE.format("CLASSIFIER() AS value")}
```
"""
_NOTES = {
    OF_AGGREGATES: "They take `DISTINCT`, `FILTER (WHERE …)` and `ORDER BY` between the parentheses. In EMIT, `first` "
    "and `last` are `first_value` and `last_value`.",
    OF_SPARK: "They are available in MEASURES in batch, and not in DEFINE, in rules, in EMIT or on streams.",
    OF_A_MATCH: "[The language](language.md#define) says more about them.",
}


def function_page() -> str:
    """The page as Markdown."""
    lines = [_BEGIN]
    for section, records in groupby(function_records(), lambda record: record.section):
        lines += [f"## {section}", ""]
        if section in _NOTES:
            lines += [_NOTES[section], ""]
        lines += ["| form | value | example | |", "|---|---|---|---|", *map(_row, records), ""]
    return "\n".join(lines)


def _row(record: FunctionRecord) -> str:
    cells = (_code(record.form), record.description, _code(record.example), _code(record.result))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _code(text: str) -> str:
    return f"`{text}`"


if __name__ == "__main__":
    FILE.write_text(function_page(), "utf-8")
