"""Rows of the table `events`, and the rows of the tables that streams write."""

from __future__ import annotations

STREAM = "STREAM events WATERMARK ts DELAY OF INTERVAL 5 SECONDS"


def append(spark, *rows: str) -> None:
    """Rows `k second letter i`."""
    values = ", ".join(
        f"({k}, TIMESTAMP '2026-01-01 00:00:00' + INTERVAL {second} SECONDS, '{letter}', {i})"
        for k, second, letter, i in (row.split() for row in rows)
    )
    spark.sql(f"INSERT INTO events VALUES {values}")


def lines(spark, table: str) -> list[str]:
    return sorted(" ".join(map(str, row)) for row in spark.table(table).collect())
