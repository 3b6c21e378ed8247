"""Reads the records of topics: Spark's source `kafka`, with the options of a table and of a query."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from sqlext.engine.queries.session_settings import time_zone
from sqlext.errors import BindError, Place, SetupError, UnsupportedError
from sqlext.expressions.time_texts import read_timestamp
from sqlext.rewriter.heads.kafka_options import STREAM, Option, is_end, is_time, reader_options
from sqlext.spark.quiet_probes import quiet_probes

_NO_SOURCE = re.compile(r"(Failed to find|cannot find).*data source.*kafka|DATA_SOURCE_NOT_FOUND", re.IGNORECASE)


def reading(
    spark: SparkSession, table: Sequence[Option], query: Sequence[Option], reader: str, place: Place
) -> dict[str, str]:
    """The options of Spark's reader for a table that a statement reads at `place`.

    `table`, `query`: the options of CREATE TABLE and of WITH (…); `reader`: BATCH or STREAM.

    Raises UnsupportedError KAFKA_OPTION for a stream over a table with an end, and BindError KAFKA_OPTION for what is
    no time.
    """
    options = reader_options(_with_times(spark, table), _with_times(spark, query), reader)
    ends = [option for option in table if is_end(option.name)]
    if reader == STREAM and ends:
        raise UnsupportedError(
            "KAFKA_OPTION",
            f"{place.written} has {ends[0].name}, and a stream has no end",
            place=place,
            hint="leave it out of the OPTIONS of the table, and write it where a batch query reads the table: "
            f"{place.written} WITH ({ends[0].name} = …).",
        )
    return options


def read_records(spark: SparkSession, options: Mapping[str, str], reader: str, place: Place) -> DataFrame:
    """The records of the topics: key, value, topic, partition, offset, timestamp, timestampType and headers.

    `options`, `reader`, `place`: see `reading`. No broker is asked.

    Raises SetupError KAFKA_NOT_FOUND if Spark has no such source; BindError KAFKA_OPTION for an option that Spark
    refuses.
    """
    frames = spark.readStream if reader == STREAM else spark.read
    try:
        with quiet_probes():
            records = frames.format("kafka").options(**options).load()
            records.schema  # noqa: B018  (on Connect only this asks Spark)
    except PySparkException as error:
        raise _about_source(spark, error, place) from None
    return records


def _with_times(spark: SparkSession, options: Sequence[Option]) -> list[Option]:
    """The options with times as Spark's source takes them: milliseconds since 1970. Raises BindError KAFKA_OPTION."""
    return [_with_time(spark, option) if is_time(option.name) else option for option in options]


def _with_time(spark: SparkSession, option: Option) -> Option:
    if option.value.isdecimal():
        return option
    time_us = read_timestamp(option.value, time_zone(spark))
    if time_us is None:
        raise BindError(
            "KAFKA_OPTION",
            f"{option.name} is {option.value!r}, which is no time",
            place=option.place,
            hint="write a time such as '2026-03-02 08:00:00', or milliseconds since 1970.",
        )
    return replace(option, value=str(time_us // 1000))


def _about_source(spark: SparkSession, error: PySparkException, place: Place) -> SetupError | BindError:
    """The error about a source that Spark does not have, or about an option that it refuses."""
    first = str(error).partition("\n")[0]
    if isinstance(error, AnalysisException) and _NO_SOURCE.search(first):
        version = spark.version
        return SetupError(
            "KAFKA_NOT_FOUND",
            "this Spark has no source for Kafka",
            place=place,
            hint='start it with the jar: session(**{"spark.jars.packages": '
            f'"org.apache.spark:spark-sql-kafka-0-10_2.13:{version}"}}), or --packages of spark-submit.',
        )
    return BindError("KAFKA_OPTION", f"Spark refuses the options of {place.written}: {first}", place=place)
