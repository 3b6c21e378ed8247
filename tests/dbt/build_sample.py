"""Builds sql_examples/dbt with the real dbt, in one process with one Spark session, and prints what came out as JSON.

Run by the Python of the environment that has dbt (`make` creates it): `build_sample.py PROJECT_COPY STREAM`. Of the
three streaming tables only STREAM is built.
"""

import json
import sys
from pathlib import Path

from dbt.cli.main import dbtRunner
from pyspark.sql import SparkSession

TABLES = ("journeys", "rising", "cards", "rises_by_day", "journeys_history")
STREAMS = ("takeovers", "last_journey", "alerts")
NO_TESTS = ("--exclude", "resource_type:test")
MORE_PAYMENTS = """\
dan,2026-03-03 10:00:00,purchase,1,US
dan,2026-03-03 10:01:00,purchase,1,US
dan,2026-03-03 10:02:00,purchase,700,FR
end,2026-03-03 23:00:00,purchase,5,US
"""
MISTAKE = "SELECT * FROM {{ ref('payments') }}\n  MATCH_RECOGNIZE (ORDER BY ts PATTERN (A B) DEFINE B AS amuont > 1)\n"


def main(project: Path, stream: str) -> None:
    """Build everything; build some of it with more rows; list it; then run a model that has a mistake."""
    others = [name for name in STREAMS if name != stream]
    first = _dbt(project, "build", "--exclude", *others)
    rows = _rows(stream, *TABLES)
    seed = project / "seeds/raw_payments.csv"
    seed.write_text(seed.read_text() + MORE_PAYMENTS)
    again = _dbt(project, "build", "--select", "raw_payments", "payments", "refunds", stream, *NO_TESTS)
    rows_again = _rows(stream, "card_rules")
    _dbt(project, "docs", "generate", "--no-compile")
    catalog = json.loads((project / "target/catalog.json").read_text())["nodes"]
    (project / "models/mistake.sql").write_text(MISTAKE)
    mistake = _dbt(project, "run", "--select", "mistake")
    result = {"first": first, "rows": rows, "again": again, "rows_again": rows_again, "mistake": mistake,
              "catalog": {name: list(node["columns"]) for name, node in catalog.items()}}  # fmt: skip
    print(json.dumps(result, default=str))


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
