"""The 500 random queries with the answers of a real Trino 476 server (README.md here)."""

from __future__ import annotations

import json
import pathlib
import re
from decimal import Decimal
from typing import Any

HERE = pathlib.Path(__file__).parent
CASES = json.loads((HERE / "trino_random.json").read_text())

# Trino's ThreadEquivalence resolves PREV(CLASSIFIER()) on the labels before the row that is being tested: at the second
# row it takes the paths [C] and [B] for the same, drops [B], and so misses the preferred match B A A (rows 0 to 2).
# The standard's answer, as `reference` finds it by trying all paths in order:
TRINO_IS_WRONG = 373
CASES[TRINO_IS_WRONG]["rows"] = [
    [0, 0, 0, 1, "a"], [0, 1, 0, 2, "b"], [0, 2, 0, 2, "a"], [0, 3, 3, 6, "a"], [0, 4, 3, None, "b"], [0, 5, 3, 3, "b"],
    [0, 6, 6, 5, "a"], [0, 7, 6, 0, "a"], [0, 8, 6, 6, "c"], [2, 0, 0, 6, "c"], [2, 1, 0, 2, "b"], [2, 2, 0, 1, "a"],
]  # fmt: skip
# By reason, file and number of the case, the rows that are right instead of Trino's (README.md here).
REPLACED = list(json.loads((HERE / "replaced_rows.json").read_text()).values())
for files in REPLACED:
    for number, rows in files["trino_random.json"].items():
        CASES[int(number)]["rows"] = rows
ERRORS = {
    "cannot skip to first row of match": "SQLEXT_SKIP_TO_FIRST_ROW",
    "pattern variable is not present in match": "SQLEXT_SKIP_TO_MISSING_ROW",
}


def spark_text(case: dict[str, Any]) -> str:
    """The query; Spark wants to know the type of a NULL in VALUES."""
    values, clause = case["sql"].split(" AS t(", 1)
    return re.sub(r"\bnull\b", "CAST(NULL AS INT)", values) + " AS t(" + clause


def error_class(case: dict[str, Any]) -> str:
    return next(name for text, name in ERRORS.items() if text in case["error"])


def answer(rows: Any) -> list[tuple]:
    """Rows in an order of their own, numbers as numbers, Trino's NULL array as Spark's empty one."""
    return sorted((tuple(map(_plain, row)) for row in rows), key=repr)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_plain, value)) or None
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return round(float(value), 9)
    return value
