"""Builds sql_examples/dbt with the real dbt, in one process with one Spark session, and prints what came out as JSON.

Run by the Python of the environment that has dbt (`make` creates it): `build_sample.py PROJECT_COPY PART WORD…`. PART
is `models`, or a streaming table or a materialized view, which is built with what it reads; the words are those of
docs/tools.md: `build …`.
"""

import json
import os
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
LATE_PAYMENT = "bob,2026-03-02 09:00:00,purchase,3,FR\n"
CORRECTION = ("cyd,2026-03-02 11:20:00,purchase,30,FR", "cyd,2026-03-02 11:20:00,purchase,30,GB")
MISTAKE = "SELECT * FROM {{ ref('payments') }}\n  MATCH_RECOGNIZE (ORDER BY ts PATTERN (A B) DEFINE B AS amuont > 1)\n"
PLAIN_MISTAKE = "SELECT card,\n  amuont\nFROM {{ ref('payments') }}\n"


def main(part: str, build: list[str]) -> None:
    """In the folder of the project."""
    parts = {"models": _models, "travels": _view}
    result = parts[part](build) if part in parts else _stream(part, build)
    print(json.dumps({**result, "program": SparkSession.active().conf.get("spark.app.name")}, default=str))


def _models(build: list[str]) -> dict[str, Any]:
    """Build all models without streams and rules; list them; then run two that have a mistake."""
    first = _dbt(*build, "--exclude", *STREAMS_AND_RULES)
    rows = _rows(*MODELS)
    _dbt("docs", "generate", "--no-compile", *build[1:])
    catalog = json.loads(Path("target/catalog.json").read_text())["nodes"]
    Path("models/mistake.sql").write_text(MISTAKE)
    Path("models/plain_mistake.sql").write_text(PLAIN_MISTAKE)
    mistakes = _dbt("run", "--select", "mistake", "plain_mistake", *build[1:])
    columns = {name: list(node["columns"]) for name, node in catalog.items()}
    return {"first": first, "rows": rows, "columns": columns, "mistakes": mistakes}


def _stream(stream: str, build: list[str]) -> dict[str, Any]:
    """Build a streaming table with what it reads; then once more, with more rows."""
    first = _dbt(*build, "--select", f"+{stream}")
    rows = _rows(stream)
    seed = Path("seeds/raw_payments.csv")
    seed.write_text(seed.read_text() + MORE_PAYMENTS)
    again = _dbt(*build, "--select", f"+{stream}", "--exclude", "resource_type:test")
    return {"first": first, "rows": rows, "again": again, "rows_again": _rows(stream)}


def _view(build: list[str]) -> dict[str, Any]:
    """Build a materialized view; again with a late and a corrected payment; again with another query, in each way."""
    words = [*build, "--select", "+travels"]
    built, rows = [_dbt(*words)], [_rows("travels")["travels"]]
    seed, model = Path("seeds/raw_payments.csv"), Path("models/travels.sql")
    seed.write_text(seed.read_text().replace(*CORRECTION) + LATE_PAYMENT)
    built.append(_dbt(*words))
    rows.append(_rows("travels")["travels"])
    described = SparkSession.active().sql("DESCRIBE MATERIALIZED VIEW fraud.travels").collect()
    text = model.read_text().replace("<> PREV(country))", "<> PREV(country) AND amount < 40)")
    for on_change in ("fail", "continue", "apply"):
        change = f"'materialized_view', on_configuration_change='{on_change}'"
        model.write_text(text.replace("'materialized_view'", change))
        built.append(_dbt(*words))
        rows.append(_rows("travels")["travels"])
    return {"first": built[0], "built": built[1:], "views": rows, "described": dict(map(tuple, described))}


def _dbt(*words: str) -> dict[str, str]:
    """The status and the message of each node of a command."""
    result = dbtRunner().invoke(["--quiet", "--no-use-colors", *words])
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
    os.chdir(sys.argv[1])
    main(sys.argv[2], sys.argv[3:])
