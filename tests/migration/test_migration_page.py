"""docs/migration.md: the SQL in its tables is a part of the statements of this folder, which run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .statements import HERE, SYSTEMS

PAGE = (Path(__file__).parents[2] / "docs" / "migration.md").read_text("utf-8")
TITLES = {"oracle": "Oracle", "snowflake": "Snowflake", "trino": "Trino", "flink": "Flink SQL", "duckdb": "DuckDB",
          "databricks": "Databricks", "clickhouse": "ClickHouse, Doris and StarRocks", "questdb": "QuestDB and kdb",
          "esper": "Esper, Beam, Kafka Streams, pandas and Polars"}  # fmt: skip
CODE = re.compile(r"``(.+?)``|`(.+?)`|<code>(.+?)</code>")


def in_one_line(text: str) -> str:
    return " ".join(text.split())


def snippets(system: str) -> list[str]:
    """The SQL in the first two columns of the table of a system."""
    section = PAGE.split(f"\n## {TITLES[system]}\n")[1].split("\n## ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ") and "|---" not in line]
    codes = (match for row in rows[1:] for cell in row[:2] for match in CODE.finditer(cell))
    return [in_one_line(match[1] or match[2] or match[3]).replace("&#124;", "|") for match in codes]


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_sql_of_the_page_is_run(system):
    statements = in_one_line((HERE / f"{system}.sql").read_text("utf-8"))
    assert [snippet for snippet in snippets(system) if snippet not in statements] == []
    assert len(snippets(system)) >= 5
