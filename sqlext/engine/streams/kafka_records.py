"""The records of Kafka that rows become: their keys, values and headers.

| format | value | key |
|---|---|---|
| json | an object of the columns that are not NULL; times in UTC, with microseconds | the text of one column of texts or whole numbers; else an object of the key columns that are not NULL |
| avro | a record of the columns | likewise |
| raw | the column `value` | the column `key` |

Spark writes a micro-batch again that has failed, so a row is written at least once. Each record has the header
`sqlext-id`, which is the same each time and belongs to no other row: the identifier of the query, the number of the
micro-batch, the number of the row among those of its key in the micro-batch, and the key. Rows of a key are in the order
of event time, then of values, and are written in that order; rows that are equal may change places.

With UPSERT KEY a micro-batch has one record of a key, and a row that deletes becomes a tombstone: a record without a
value. NULL is a key then, as in a table of Delta: the object without columns, `{}`, because a topic that is compacted
takes no record without a key.
"""  # noqa: E501

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sqlext.operators.emit.parts import MERGED
from sqlext.rewriter.heads.kafka_options import JSON, RAW
from sqlext.rewriter.text.names import quoted

ID = "sqlext-id"
KEY, VALUE, HEADERS, PARTITION = "key", "value", "headers", "partition"
_HEADERS = T.ArrayType(T.StructType().add("key", "string").add("value", "binary"))
RAW_COLUMNS = T.StructType().add(KEY, "binary").add(VALUE, "binary").add(HEADERS, _HEADERS).add(PARTITION, "integer")
_NUMBER, _TIME = "number", "time"  # columns that are not written
_AS_JSON = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "dateFormat": "yyyy-MM-dd",
    "timeZone": "UTC",
    "ignoreNullFields": "true",
}
_TEXTS = (T.StringType, T.IntegralType)


@dataclass(frozen=True, kw_only=True)
class RecordLayout:
    """How rows become records. `columns`: the columns of the rows, by the columns of the table, in whose types they are
    written; `key`: the columns of the table in the records' keys; `schema`: Avro's, None takes the one that Spark
    derives from the types; `times`: the columns of the rows with the event time; `timing`: the one that is MERGED in a
    row that deletes; `is_alone`: a micro-batch has one row of a key at most.
    """

    format: str
    schema: str | None = None
    columns: tuple[tuple[T.StructField, str], ...] = ()
    key: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    timing: str | None = None
    is_alone: bool = False


def records(rows: DataFrame, layout: RecordLayout, query: str, batch: int) -> DataFrame:
    """The records of a micro-batch, as Spark writes them into a topic. `query`: its identifier."""
    own = {field.name: F.col(quoted(name)).cast(field.dataType).alias(field.name) for field, name in layout.columns}
    others: list[Column] = []
    if layout.format == RAW:
        key, value = own.get(KEY, F.lit(None).cast("binary")), own[VALUE]
        headers = own.get(HEADERS, _no_headers())
        others = [own[PARTITION]] if PARTITION in own else []
    else:
        key, value, headers = _key(layout, own), _value(layout, own), _no_headers()
    if layout.timing is not None:
        value = F.when(F.col(quoted(layout.timing)) == MERGED, F.lit(None)).otherwise(value)
    times = [F.col(quoted(name)).alias(f"{_TIME}{i}") for i, name in enumerate(layout.times)]
    plain = rows.select(key.alias(KEY), value.alias(VALUE), headers.alias(HEADERS), *others, *times)
    numbered = plain.withColumn(_NUMBER, _number(plain, layout))
    return numbered.select(KEY, VALUE, _with_id(plain, query, batch).alias(HEADERS), *([PARTITION] if others else []))


def _no_headers() -> Column:
    return F.lit(None).cast(_HEADERS)


def _key(layout: RecordLayout, own: dict[str, Column]) -> Column:
    if not layout.key:
        return F.lit(None).cast("string")
    types = {field.name: field.dataType for field, _ in layout.columns}
    columns = [own[name] for name in layout.key]
    whole = F.to_json(F.struct(*columns), _AS_JSON)
    if len(columns) > 1:
        return whole
    is_text = isinstance(types[layout.key[0]], _TEXTS)
    key = F.when(columns[0].isNotNull(), columns[0].cast("string") if is_text else whole)
    return key.otherwise(whole) if layout.is_alone else key


def _value(layout: RecordLayout, own: dict[str, Column]) -> Column:
    whole = F.struct(*own.values())
    if layout.format == JSON:
        return F.to_json(whole, _AS_JSON)
    schema = [] if layout.schema is None else [F.lit(layout.schema)]
    return F.call_function("to_avro", whole, *schema)


def _number(plain: DataFrame, layout: RecordLayout) -> Column:
    """The number of a row among those of its key, or of its value if there are no keys."""
    if layout.is_alone:
        return F.lit(1)
    same = KEY if layout.key else VALUE
    times = [name for name in plain.columns if name.startswith(_TIME)]
    return F.row_number().over(Window.partitionBy(same).orderBy(*times, VALUE))


def _with_id(plain: DataFrame, query: str, batch: int) -> Column:
    """The headers of a row, with its identifier."""
    is_text = isinstance(plain.schema[KEY].dataType, T.StringType)
    name = F.coalesce(F.col(KEY) if is_text else F.base64(KEY), F.md5(F.col(VALUE).cast("binary")))
    identifier = F.concat_ws(":", F.lit(query), F.lit(str(batch)), F.col(_NUMBER).cast("string"), name)
    header = F.struct(F.lit(ID).alias("key"), identifier.cast("binary").alias("value"))
    return F.concat(F.coalesce(HEADERS, F.array().cast(_HEADERS)), F.array(header))
