"""Says why a run of available-now has emitted nothing: one of several sources had no row in it.

Spark computes the watermark of a query from those of its sources, and the least one counts. It keeps only the result
in the checkpoint. After each start a source counts as 1970-01-01 until its first row, so a run in which one source has
no row cannot move the watermark, whatever the source had in the runs before. What the rows of the others decide waits
for a run in which all sources have rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from sqlext.engine.streams.last_progress import recent_progress
from sqlext.engine.streams.watermarks import watermark_count
from sqlext.spark.user_warnings import warn

_CLOCK = "RateStream"  # how the description of IDLE AFTER's clock begins


def warn_of_silent_sources(spark: SparkSession, stream: DataFrame, query: Any) -> None:
    """Warn if a source without rows held the watermark back in all micro-batches of a run that has ended."""
    batches = recent_progress(query)
    silent = silent_sources(batches)
    clocks = sum(source["description"].startswith(_CLOCK) for batch in batches[:1] for source in batch["sources"])
    if silent and watermark_count(spark, stream) > max(clocks, 1):
        warn([_sentence(query.name, silent, batches[-1]["eventTime"].get("watermark", "1970-01-01T00:00:00.000Z"))])


def silent_sources(batches: Sequence[Any]) -> list[str]:
    """The sources without rows, if others had rows and the watermark did not move.

    >>> def batch(watermark, *rows):
    ...     sources = [{"description": f"Delta[{name}]", "numInputRows": n} for name, n in zip("ab", rows)]
    ...     return {"eventTime": {"watermark": watermark}, "sources": sources}
    >>> silent_sources([batch("10:00", 5, 0), batch("10:00", 0, 0)])
    ['Delta[b]']
    >>> silent_sources([batch("10:00", 5, 0), batch("10:05", 0, 0)]), silent_sources([batch("10:00", 0, 0)])
    ([], [])
    """
    rows: dict[int, int] = {}
    names: dict[int, str] = {}
    for batch in batches:
        for i, source in enumerate(batch["sources"]):
            names[i] = source["description"]
            rows[i] = rows.get(i, 0) + source["numInputRows"]
    if len({batch["eventTime"].get("watermark") for batch in batches}) > 1 or not any(rows.values()):
        return []
    return list(dict.fromkeys(names[i] for i in rows if not rows[i] and not names[i].startswith(_CLOCK)))


def _sentence(name: str, silent: Sequence[str], watermark: str) -> str:
    return (
        f"{name}: in this run no row came from {', '.join(silent)}, so the watermark stays at {watermark}, and what "
        "the rows of the other sources decide waits for a run in which each source has rows: Spark forgets how far "
        "each one was when a query ends. Write IDLE AFTER after each WATERMARK, or let the query go on instead of "
        "available-now."
    )
