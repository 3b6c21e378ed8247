"""The stateful part of a streaming query: parcels of rows are its input, and the decided rows are its output."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sqlext.engine.planning.fingerprint import Fingerprint
from sqlext.engine.queries.session_settings import count
from sqlext.engine.streams.shipped import shipped
from sqlext.errors import BindError, Place
from sqlext.operators.rows.columns import FAILURE
from sqlext.operators.stateful.bucket import OUTPUT_DDL, REPORT, RESULT, Bucket
from sqlext.operators.stateful.operator import Operator, TimesBy
from sqlext.operators.stateful.parcels import BUCKET, BUCKETS_SETTING, PARCEL_DDL, pack, unpack, unpack_by_row
from sqlext.rewriter.text.names import quoted
from sqlext.spark.executors import sent_archive
from sqlext.spark.pandas_versions import without_sparks_warning
from sqlext.spark.progress import METRICS, RESULT_METRICS
from sqlext.spark.versions import arrow_function
from sqlext.spark.worker_functions import for_workers, map_in_arrow, with_metadata

_STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
# The metrics that are sums over the buckets, by the columns of their reports.
_SUMS = {
    "kept": "rows",
    "bytes": "bytes",
    "late": "late_rows",
    "failed": "failed_rows",
    "windows": "windows",
    "emitted": "emitted",
}


def bucket_count(spark: SparkSession, keys: Sequence[str]) -> int | None:
    """The number of buckets of the keys; None: as many as the state has partitions (see `parcels`).

    Raises BindError SETTING.
    """
    return count(spark, BUCKETS_SETTING, 0) or None if keys else 1


def decided_rows(
    rows: DataFrame,
    operator: Operator,
    fingerprint: Fingerprint,
    keys: Sequence[str],
    *,
    folders: Mapping[str, str],
    shows_times: bool = False,
    parcels: DataFrame | None = None,
    observe: Callable[[DataFrame], DataFrame] = lambda rows: rows,
) -> DataFrame:
    """The result rows, as OUTPUT_DDL describes them; the reports of the buckets are added to the query's metrics.

    `keys`: the columns of `rows` by which they are divided into buckets; `folders` and `shows_times`: as in `Bucket`;
    `parcels`: what else the operator reads; `observe`: adds further metrics. Raises BindError SETTING if the session
    has a state store that cannot keep the state.
    """
    spark = rows.sparkSession
    _check_state_store(spark)
    bucket = Bucket(
        operator=operator,
        fingerprint=fingerprint.digest,
        former=fingerprint.former,
        buckets=bucket_count(spark, keys),
        folders=folders,
        shows_times=shows_times,
    )
    hashed = F.hash(*(F.col(quoted(name)) for name in keys)) if keys else F.lit(0)
    arriving = map_in_arrow(rows.withColumn(BUCKET, hashed), partial(pack, buckets=bucket.buckets), PARCEL_DDL)
    all_parcels = arriving if parcels is None else arriving.unionAll(parcels)
    with without_sparks_warning():
        decided = all_parcels.groupBy("bucket").transformWithStateInPandas(
            shipped(bucket, sent_archive(spark)),
            OUTPUT_DDL,
            "Append",
            operator.times_by.value,
            eventTimeColumnName="at" if shows_times and operator.times_by is TimesBy.EVENTS else "",
        )
    is_report = F.col("kind") == REPORT
    observed = decided.observe(
        f"{METRICS}_{uuid.uuid4().hex[:8]}",  # Spark refuses a query with two metrics of one name
        # Microseconds: PySpark gives a listener no metrics with a time after the year 9999.
        F.unix_micros(F.min(F.when(is_report, F.col("oldest")))).alias("oldest"),
        *(F.coalesce(F.sum(F.when(is_report, F.col(name))), F.lit(0)).alias(metric) for name, metric in _SUMS.items()),
    )
    return observe(observed).where(F.col("kind") == RESULT)


def _check_state_store(spark: SparkSession) -> None:
    """Raise an error for an unsuitable state store. Without this check the query starts, and Spark ends it."""
    provider = str(spark.conf.get(_STATE_STORE)).rpartition(".")[2]
    if "RocksDB" not in provider:
        message = f"a stream keeps its state in RocksDB, and the state store of this session is {provider}"
        raise BindError("SETTING", message, hint=f"SET {_STATE_STORE} = {_ROCKSDB}.")


def without_failures(rows: DataFrame) -> DataFrame:
    """Result rows without the column FAILURE; the number of rows that have a failure is added to the query's
    metrics."""
    failed = F.count_if(F.col(FAILURE).isNotNull()).alias("failed_results")
    return rows.observe(f"{RESULT_METRICS}_{uuid.uuid4().hex[:8]}", failed).drop(FAILURE)


def result_columns(
    decided: DataFrame, times: Sequence[str], schema: T.StructType, place: Place | None = None
) -> DataFrame:
    """The columns of the result rows; the columns in `times` hold when each row was decided, which Spark then uses as
    event time.

    `place`: the place of the clause. Raises UnsupportedError SPARK_VERSION for `times` before Spark 4.1.
    """
    if not times:
        return map_in_arrow(decided.select("rows"), unpack, schema)
    plain = T.StructType([T.StructField(field.name, field.dataType) for field in schema.fields])
    columns = arrow_function(for_workers(decided.sparkSession, unpack_by_row), plain, place)
    read = decided.select("at", columns(F.col("rows")).alias("row"))
    others = (f"row.{field.name}" for field in schema.fields if field.name not in times)
    return with_metadata(read.select(*(F.col("at").alias(name) for name in times), *others), schema)
