"""The tour of `sqlext demo`: half a year of one person's blood sugar, and the notable crashes in it."""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from rich import box
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

from sqlext.errors import SqlExtError, with_pages
from sqlext.sessions.explain import explain
from sqlext.sessions.failures import reason
from sqlext.sessions.session import session

READINGS, CRASHES = "demo_readings", "demo_crashes"  # tables, which are replaced if they exist
DATA = Path(__file__).parents[1] / "demo_data" / "glucose.csv.gz"
_PIPE_WIDTH = 120
# words that Pygments does not know
_CLAUSE_WORDS = ("MATCH_RECOGNIZE", "MEASURES", "AFTER MATCH", "PATTERN", "SUBSET", "DEFINE")


@dataclass(frozen=True)
class TourStatement:
    """A statement of the tour, with its title and a remark on what to notice."""

    title: str
    remark: str
    sql: str


STEPS = (
    TourStatement(
        "Where is the sensor silent?",
        "Two neighbouring rows, more than half an hour apart. SKIP TO back lets a gap begin where another one ends.",
        f"""
SELECT *
FROM {READINGS} MATCH_RECOGNIZE (
  ORDER BY time
  MEASURES
    seen.time                                 AS lost_at,
    back.time                                 AS back_at,
    timestampdiff(HOUR, seen.time, back.time) AS hours
  AFTER MATCH SKIP TO back
  PATTERN (seen back)
  DEFINE back AS time > PREV(time) + INTERVAL 30 MINUTES
)
ORDER BY back_at - lost_at DESC
LIMIT 5""",
    ),
    TourStatement(
        "When does a long high end in a crash?",
        "Above 180 mg/dl for an hour or more without a gap, and below 70 within three hours of the last high reading.\n"
        "The conditions depend on the rows that are already matched: LAST(above.time), FIRST(above.time).",
        f"""
CREATE OR REPLACE TABLE {CRASHES} AS
SELECT *
FROM {READINGS} MATCH_RECOGNIZE (
  ORDER BY time
  MEASURES
    FIRST(above.time)                                          AS high_from,
    timestampdiff(MINUTE, FIRST(above.time), LAST(above.time)) AS minutes_high,
    MAX(above.mg_dl)                                           AS peak,
    FIRST(low.time)                                            AS low_at,
    timestampdiff(MINUTE, LAST(above.time), FIRST(low.time))   AS minutes_down,
    MIN(low.mg_dl)                                             AS lowest
  PATTERN (rise high* fall* low+)
  SUBSET above = (rise, high)
  DEFINE
    rise AS mg_dl > 180,
    high AS mg_dl > 180 AND time <= PREV(time) + INTERVAL 30 MINUTES,
    fall AS mg_dl BETWEEN 70 AND 180,
    low  AS mg_dl < 70
        AND FIRST(low.time) <= LAST(above.time + INTERVAL 3 HOURS)
        AND LAST(above.time) >= FIRST(above.time + INTERVAL 1 HOUR)
)""",
    ),
    TourStatement(
        "The deepest ones",
        "The matches are an ordinary Delta table now.",
        f"""
SELECT *
FROM {CRASHES}
ORDER BY lowest, high_from
LIMIT 8""",
    ),
    TourStatement(
        "Is there a habit behind them?",
        "Two of five highs begin around lunch, and the crashes come more and more often, seven of them in ten days\n"
        "of October: something to take to a doctor.",
        f"""
SELECT
  date_format(high_from, 'yyyy-MM')           AS month,
  count(*)                                    AS crashes,
  count_if(hour(high_from) BETWEEN 11 AND 13) AS of_these_from_lunch,
  min(lowest)                                 AS lowest
FROM {CRASHES}
GROUP BY month
ORDER BY month""",
    ),
)


def show_tour(warehouse: str | None, master: str) -> int:
    """Show the tour, and return the exit status: 1 if Spark could not be started or a statement failed."""
    try:
        _run(warehouse, master)
    except (SqlExtError, PySparkException) as error:
        print(with_pages(reason(error)), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _run(warehouse: str | None, master: str) -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=_PIPE_WIDTH)
    with ExitStack() as cleanup:
        folder = warehouse or cleanup.enter_context(tempfile.TemporaryDirectory(prefix="sqlext-demo-"))
        with console.status("Starting Spark (its very first start downloads Delta, 87 MB)"):
            spark = session("sqlext demo", master=master, warehouse=folder, **{"spark.log.level": "OFF"})
        cleanup.callback(spark.stop)
        tour(spark, console)
    _print_next_steps(console, warehouse)


def tour(spark: SparkSession, console: Console) -> None:
    """Load the readings into the table READINGS and print every step: its SQL, its rows, and how they were matched."""
    load(spark)
    rows, first, last = spark.sql(f"SELECT count(*), date(min(time)), date(max(time)) FROM {READINGS}").collect()[0]
    console.print(
        f"{rows:,} readings of one person's glucose monitor, about one every five minutes, {first} to {last},\n"
        f"in the Delta table {READINGS}. Public domain, from bokeh_sampledata.",
        highlight=False,
    )
    for number, step in enumerate(STEPS, 1):
        _show(spark, console, number, step)


def load(spark: SparkSession) -> None:
    """Write the readings into the Delta table READINGS. They have clock times without a zone: TIMESTAMP_NTZ."""
    readings = spark.read.csv(str(DATA), header=True, schema="time TIMESTAMP_NTZ, mg_dl INT")
    readings.write.format("delta").mode("overwrite").saveAsTable(READINGS)


def _show(spark: SparkSession, console: Console, number: int, step: TourStatement) -> None:
    sql = step.sql.strip()
    console.print(f"\n{number}. {step.title}", style="bold", highlight=False)
    console.print(f"{step.remark}\n", highlight=False)
    _print_sql(console, sql)
    start = perf_counter()
    result = spark.sql(sql)
    if result.columns:
        _print_rows(console, result)
    seconds = perf_counter() - start
    console.print(f"{_strategy(spark, sql)}{seconds:.1f} s", style="dim", highlight=False)


def _print_sql(console: Console, sql: str) -> None:
    text = Syntax(sql, "sql", theme="ansi_dark", background_color="default").highlight(sql)
    text.highlight_words(_CLAUSE_WORDS, "bold magenta")
    console.print(text, soft_wrap=True)


def _strategy(spark: SparkSession, sql: str) -> str:
    """The strategy of the clause and the reason for it, from EXPLAIN MATCH; "" if there is no clause."""
    lines = explain(sql, spark=spark).splitlines()
    heading = "== Strategy =="
    return f"EXPLAIN MATCH: {lines[lines.index(heading) + 1]}\n" if heading in lines else ""


def _print_rows(console: Console, result: DataFrame) -> None:
    # without padding beside the edges of the box, so that all columns fit into 80 characters
    table = Table(
        box=box.SIMPLE_HEAD if console.is_terminal else None,
        pad_edge=False,
        padding=0 if console.is_terminal else (0, 1),
    )
    for name, kind in result.dtypes:
        table.add_column(name, justify="left" if kind in ("string", "timestamp_ntz") else "right", no_wrap=True)
    for row in result.collect():
        table.add_row(*map(str, row))
    console.print(table)


def _print_next_steps(console: Console, warehouse: str | None) -> None:
    console.print("\nWhat next?", style="bold")
    lines = [
        "Change a condition: write a statement into a file and run it on the same tables,",
        f"    sqlext run --warehouse {warehouse} crashes.sql",
    ]
    if warehouse is None:
        lines = [
            "The tables are deleted now. Keep them, change a condition, and run it on the same rows:",
            "    sqlext demo --warehouse glucose",
            "    sqlext run --warehouse glucose crashes.sql",
        ]
    lines += [
        "More statements, each runs by itself: the folder sql_examples of the repository,",
        "    sqlext run sql_examples/01_v_shape.sql",
    ]
    console.print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)
