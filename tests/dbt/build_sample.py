"""Builds sql_examples/dbt with the real dbt, in one process with one Spark session, and prints what came out as JSON.

Run by the Python of the environment that has dbt (`make` creates it): `build_sample.py PROJECT_COPY PART`. PART is
`models`, or a streaming table, which is built with what it reads.
"""

import json
import sys
from pathlib import Path
from typing import Any

from dbt.cli.main import dbtRunner
from pyspark.sql import SparkSession

MODELS = ("journeys", "rising", "cards", "rises_by_day", "journeys_history")
STREAMS_AND_RULES = ("config.materialized:streaming_table", "config.materialized:pattern_rule")
MORE_PAYMENTS = """\
dan,2026-03-03 10:00:00,purchase,1,US
dan,2026-03-03 10:01:00,purchase,1,US
dan,2026-03-03 10:02:00,purchase,700,FR
end,2026-03-03 23:00:00,purchase,5,US
"""
MISTAKE = "SELECT * FROM {{ ref('payments') }}\n  MATCH_RECOGNIZE (ORDER BY ts PATTERN (A B) DEFINE B AS amuont > 1)\n"


def main(project: Path, part: str) -> None:
    print(json.dumps(_models(project) if part == "models" else _stream(project, part), default=str))


def _models(project: Path) -> dict[str, Any]:
    """Build all models without streams and rules; list them; then run one that has a mistake."""
    first = _dbt(project, "build", "--exclude", *STREAMS_AND_RULES)
    rows = _rows(*MODELS)
    _dbt(project, "docs", "generate", "--no-compile")
    catalog = json.loads((project / "target/catalog.json").read_text())["nodes"]
    (project / "models/mistake.sql").write_text(MISTAKE)
    mistake = _dbt(project, "run", "--select", "mistake")
    columns = {name: list(node["columns"]) for name, node in catalog.items()}
    return {"first": first, "rows": rows, "columns": columns, "mistake": mistake["mistake"]}


def _stream(project: Path, stream: str) -> dict[str, Any]:
    """Build a streaming table with what it reads; then once more, with more rows."""
    first = _dbt(project, "build", "--select", f"+{stream}")
    rows = _rows(stream)
    seed = project / "seeds/raw_payments.csv"
    seed.write_text(seed.read_text() + MORE_PAYMENTS)
    again = _dbt(project, "build", "--select", f"+{stream}", "--exclude", "resource_type:test")
    return {"first": first, "rows": rows, "again": again, "rows_again": _rows(stream)}


def _dbt(project: Path, *words: str) -> dict[str, str]:
    """The status and the message of each node of a command."""
    place = ("--project-dir", str(project), "--profiles-dir", str(project))
    result = dbtRunner().invoke(["--quiet", "--no-use-colors", *words, *place])
    if result.exception is not None:
        raise result.exception
    nodes = getattr(result.result, "results", [])
    return {n.node.name: f"{n.status}: {n.message}" for n in nodes if hasattr(n, "node")}


def _rows(*tables: str) -> dict[str, list[str]]:
    spark = SparkSession.active()
    return {
        table: sorted("  ".join(map(str, row)) for row in spark.sql(f"SELECT * FROM fraud.{table}").collect())
        for table in tables
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
