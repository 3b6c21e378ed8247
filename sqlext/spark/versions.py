"""All differences between Spark 4.0 to 4.3. Each row of the table is a function of this module, the last one of
`start_versions.py`.

| since | Spark has | before |
|---|---|---|
| 4.3 | an ASOF JOIN of its own, if a setting enables it, which is not used | it has none |
| 4.2 | the keyword `timezone` of `to_arrow_type` and `to_arrow_schema` | they always use UTC |
| 4.2 | TIMESTAMP_NTZ for times of Arrow without a zone | they are TIMESTAMP unless TIMESTAMP_NTZ is requested |
| 4.1 | `arrow_udtf` | UnsupportedError for `sqlext.engine = udtf` |
| 4.1 | `arrow_udf` | UnsupportedError for the time of a row of a stream's result, MATCH_ROWTIME() |
| 4.1 | `DataFrame.repartitionById` | `repartitionByRange`, with a job that takes a sample |
| 4.1 | `STREAM t` and `WATERMARK` in SQL | UnsupportedError; a temporary view of a stream replaces both |
| 4.1 | the package `streaming.checkpointing` of the JVM | `streaming` |

The Python API is that of the client, so its functions are inspected. The grammar is that of the server:
`spark.version`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema, to_arrow_type

from sqlext.errors import Place, UnsupportedError
from sqlext.spark.start_versions import version_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import types as T

_IN_UTC: dict[str, Any] = {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_type).parameters else {}
_STREAM_GRAMMAR = (4, 1)


def arrow_type(kind: T.DataType) -> pa.DataType:
    """A type as an Arrow type, with times in UTC. Raises PySparkTypeError for a type that Spark does not send to
    workers."""
    return to_arrow_type(kind, **_IN_UTC)


def arrow_schema(schema: T.StructType) -> pa.Schema:
    """Columns as an Arrow schema, with times in UTC. Raises PySparkTypeError for a type that Spark does not send to
    workers.

    >>> from pyspark.sql import types as T
    >>> arrow_schema(T.StructType([T.StructField("at", T.TimestampType())])).field("at").type
    TimestampType(timestamp[us, tz=UTC])
    """
    return to_arrow_schema(schema, **_IN_UTC)


def spark_schema(schema: pa.Schema) -> T.StructType:
    """An Arrow schema as Spark's, with TIMESTAMP_NTZ for times without a zone.

    >>> spark_schema(pa.schema([("at", pa.timestamp("us"))])).simpleString()
    'struct<at:timestamp_ntz>'
    """
    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def arrow_table_function(handler: type, result: T.StructType, place: Place | None) -> Any:
    """A table function over Arrow batches; `place`: the clause that it runs. Raises UnsupportedError (before 4.1)."""
    if not hasattr(functions, "arrow_udtf"):
        raise UnsupportedError(
            "SPARK_VERSION",
            "sqlext.engine = udtf needs Spark 4.1 or newer",
            place=place,
            hint="SET sqlext.engine = arrow, which is the default.",
        )
    return functions.arrow_udtf(handler, returnType=result)


def arrow_function(
    function: Callable[[Iterator[pa.Array]], Iterator[pa.Array]], result: T.StructType, place: Place | None
) -> Any:
    """A function over iterators of Arrow arrays, which gives each row of a stream its time; `place`: the clause.

    It is marked as not deterministic, so that Spark neither moves filters below it nor repeats it: rows must stay in
    their order. Raises UnsupportedError (before 4.1).
    """
    if not hasattr(functions, "arrow_udf"):
        raise UnsupportedError(
            "SPARK_VERSION",
            "MATCH_ROWTIME() and window_rowtime in the result of a stream need Spark 4.1 or newer",
            place=place,
            hint="leave it out, and select the time of a row, such as LAST(ts) or window_end.",
        )

    # the type hints decide how Spark calls the function
    def over_iterators(arrays: Iterator[pa.Array]) -> Iterator[pa.Array]:
        return function(arrays)

    make: Any = functions.arrow_udf
    return make(over_iterators, returnType=result).asNondeterministic()


def can_repartition_by_id(rows: DataFrame) -> bool:
    """Return True if Spark can put each row into the partition whose number is in a column."""
    return hasattr(rows, "repartitionById")


def check_stream_grammar(spark: SparkSession, place: Place) -> None:
    """Raise UnsupportedError for STREAM or WATERMARK at `place`, if Spark is too old for them."""
    if version_of(spark.version) < _STREAM_GRAMMAR:
        raise UnsupportedError(
            "SPARK_VERSION",
            f"STREAM and WATERMARK in SQL need Spark 4.1 or newer, and this is {spark.version}",
            place=place,
            hint='write FROM s, and before it spark.readStream.table("t").withWatermark("ts", "10 seconds")'
            '.createTempView("s").',
        )


def has_asof_join(spark: SparkSession) -> bool:
    """Return True if this Spark can be set to have an ASOF JOIN of its own."""
    return version_of(spark.version) >= (4, 3)
