"""The 200 random queries with rich expressions and the answers of a real Trino 476 server (README.md here)."""

from __future__ import annotations

import json
import pathlib
from decimal import Decimal
from typing import Any

from .trino import REPLACED

HERE = pathlib.Path(__file__).parent
CASES = [{"number": i, **case} for i, case in enumerate(json.loads((HERE / "trino_rich.json").read_text()))]
# The numbers of the cases that do not hold yet, one in each line, with the reason. The list shrinks to nothing.
OPEN_FILE = HERE / "trino_rich_open.txt"
OPEN = {int(line.split()[0]) for line in OPEN_FILE.read_text().splitlines()} if OPEN_FILE.exists() else set()


def expected_rows(case: dict[str, Any]) -> list[list]:
    """The right rows. A column that ORDER BY names twice is twice in Trino's, and once in ours."""
    for files in REPLACED:
        if str(case["number"]) in files["trino_rich.json"]:
            return files["trino_rich.json"][str(case["number"])]
    columns = case["columns"]
    kept = [i for i, name in enumerate(columns) if name not in columns[:i]]
    return [[row[i] for i in kept] for row in case["rows"]]


def answer(case: dict[str, Any], rows: list[list]) -> list[tuple]:
    """Rows in an order of their own, each value in one form: those of the file, or of Spark's JSON."""
    types = dict(zip(case["columns"], case["types"]))
    return sorted((tuple(_plain(v, t) for v, t in zip(row, types.values(), strict=True)) for row in rows), key=repr)


def _plain(value: Any, trino_type: str) -> Any:
    """Doubles by their leading digits, other numbers exactly, Trino's NULL array as Spark's empty one."""
    if trino_type.startswith("array"):
        return tuple(value or ()) or None
    if value is not None and trino_type == "timestamp(3)":
        return value.rstrip("0").rstrip(".") if "." in value else value
    if value is None or trino_type in ("boolean", "varchar", "date"):
        return value
    if trino_type == "double":
        return round(float(value), 9)
    return f"{Decimal(value).normalize() + 0:f}"
