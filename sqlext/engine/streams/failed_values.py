"""Values of records of Kafka that cannot be read: how many a stream has met, and the table that keeps them.

`SET sqlext.failed_values = name`, before a streaming table or an INSERT starts, writes each such record into a table,
exactly once: where it lies, why its value cannot be read, key and value. A second streaming query with its own
checkpoint reads the topics for that, so the first one does not wait for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from sqlext.catalog import streams
from sqlext.catalog.warehouse import CHECKPOINTS
from sqlext.engine.sources.tables import SourceRows
from sqlext.engine.streams import reports
from sqlext.formats.known_formats import format_of, table_location
from sqlext.rewriter.text.names import quote, split_name

FAILED_VALUES = "sqlext.failed_values"
_COLUMNS = (
    "topic STRING, partition INT, offset BIGINT, `timestamp` TIMESTAMP_LTZ, reason STRING, key BINARY, value BINARY"
)

# By query and observed metric: the failed values of each micro-batch, by its offsets, because a report may come twice.
_COUNTS: dict[str, dict[str, dict[tuple[int, ...], int]]] = defaultdict(lambda: defaultdict(dict))


def count_values(spark: SparkSession, sources: Sequence[SourceRows], query: str) -> None:
    """Count the failed values of a query that is being started over these tables, when a micro-batch reports them."""
    _COUNTS.pop(query, None)
    for source in sources:
        if source.values is not None:
            reports.follow(spark, source.metric, partial(_receive, source.metric))


def _receive(metric: str, batches: list[dict[str, Any]], query: str) -> None:
    for batch in batches:
        if batch["failed_values"]:
            _COUNTS[query][metric][tuple(batch["offsets"])] = batch["failed_values"]


def counted(query: str) -> int | None:
    """The failed values that a query has met since this process last started it; None if there were none."""
    return sum(sum(batches.values()) for batches in _COUNTS[query].values()) if query in _COUNTS else None


def warnings_about(spark: SparkSession, sources: Sequence[SourceRows], query: str) -> Iterator[str]:
    """The warning of a run that has ended, if it met failed values and no table keeps them."""
    count = counted(query)
    if count and not _table(spark):
        names = ", ".join(dict.fromkeys(source.view.name for source in sources if source.values is not None))
        what = "1 value" if count == 1 else f"{count} values"
        records = "its record is" if count == 1 else "their records are"
        yield (
            f"{what} of {names} could not be read, and {records} in no result: SET {FAILED_VALUES} = name, before the "
            "query starts, keeps such records in a table, with the reason."
        )


def follow(
    spark: SparkSession, sources: Sequence[SourceRows], title: str, identifier: str, trigger: dict[str, Any]
) -> None:
    """Start the queries that write failed values into the table that is set; with availableNow wait for their ends.

    `title`: the name of the query's table; `identifier`: of the query. What runs still is begun anew.
    """
    name = _table(spark)
    for number, source in enumerate(sources if name else ()):
        failed = source.failed
        if failed is None:
            continue
        table, tables = quote(split_name(name)), format_of(spark, split_name(name))
        spark.createDataFrame([], _COLUMNS).write.format(tables.name).mode("ignore").saveAsTable(table)
        own = f"{source.view.name}-{number}-{identifier}"
        location = table_location(spark, split_name(name)).rstrip("/")
        copy = streams.name_of_copy(title, "failed_values", own)
        for running in streams.running(spark, copy):
            running.stop()
        writer = failed.writeStream.format(tables.name).option("checkpointLocation", f"{location}/{CHECKPOINTS}/{own}")
        writer = writer.queryName(copy).trigger(**trigger) if trigger else writer.queryName(copy)
        query = writer.toTable(table)
        if trigger.get("availableNow"):
            query.awaitTermination()


def _table(spark: SparkSession) -> str:
    """The name of the table of failed values; "" if none is set."""
    return spark.conf.get(FAILED_VALUES, "") or ""
