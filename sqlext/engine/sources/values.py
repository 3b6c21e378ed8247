"""The values of records as typed columns, and the values that cannot be read so, with the reason.

A value is read once: what counts the failed values stands between the reading and the condition that drops them, and
Spark moves no condition past it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sqlext.rewriter.heads.kafka_options import AVRO
from sqlext.rewriter.text.names import quoted

_PARSED, _FAILED, _WRAPPED = "__value", "__failed", "v"
REPORTS = "reports"  # the name of the reports in an observed metric
_LONGEST = 100  # characters of a field that a reason shows


@dataclass(frozen=True, kw_only=True)
class ValueFormat:
    """JSON with these columns, or AVRO with this schema, whose columns they are."""

    name: str
    columns: T.StructType
    schema: str = ""

    def parsed(self, records: DataFrame) -> DataFrame:
        """The records, with the value as a struct."""
        value = F.col("value")
        if self.name == AVRO:
            parsed = F.call_function("from_avro", value, F.lit(wrapped(self.schema)), _options(mode="PERMISSIVE"))
            return records.select("*", parsed[_WRAPPED].alias(_PARSED))
        schema = T.StructType([*self.columns.fields, T.StructField(_FAILED, T.StringType())])
        options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _FAILED}
        return records.select("*", F.from_json(value.cast("string"), schema, options).alias(_PARSED))

    @property
    def is_failed(self) -> Column:
        """Whether a value cannot be read. A tombstone, which is NULL, can be read: all of its columns are NULL."""
        parsed = F.col(_PARSED)
        fails = parsed.isNull() if self.name == AVRO else parsed.isNull() | parsed[_FAILED].isNotNull()
        return F.col("value").isNotNull() & fails

    @property
    def reason(self) -> Column:
        """Why a failed value cannot be read."""
        if self.name == AVRO:
            return F.lit("the value is not Avro of the schema")
        text = F.col("value").cast("string")
        fields = F.array_join(F.array(*map(self._about_field, self.columns.fields)), "; ")
        return (
            F.when(~F.is_valid_utf8(text), "the value is not UTF-8")
            .when(F.try_parse_json(text).isNull(), "the value is not JSON")
            .when(~F.ltrim(text).startswith("{"), "the value is not a JSON object")
            .when(fields != "", fields)
            .otherwise("a field does not fit its type")
        )

    def _about_field(self, field: T.StructField) -> Column:
        """What is wrong with a field; NULL if it could be read."""
        path = "$['" + field.name.replace("'", "\\'") + "']"
        written = F.get_json_object(F.col("value").cast("string"), path)
        shown = F.concat(
            F.lit(f"{field.name} is no {field.dataType.simpleString().upper()}: "), F.left(written, F.lit(_LONGEST))
        )
        return F.when(F.col(_PARSED)[field.name].isNull() & written.isNotNull(), shown)


def wrapped(schema: str) -> str:
    """The schema of Avro of a record with one field that has the schema: its values are the same bytes, and one that
    cannot be read is NULL, while Spark reads a record that is not in another as one of NULLs."""
    field = f'{{"name": "{_WRAPPED}", "type": {schema}}}'
    return f'{{"type": "record", "name": "sqlext_wrapper", "fields": [{field}]}}'


def typed_rows(records: DataFrame, values: ValueFormat, metric: str) -> DataFrame:
    """The records with typed columns, without those whose values cannot be read.

    The columns of the values come first; a column of the record with the name of one of them is left out. `metric`: the
    name of the observed metric that reports the failed values.
    """
    failed = F.count_if(values.is_failed)
    offsets = (F.coalesce(function("offset"), F.lit(0)) for function in (F.min, F.max, F.sum))
    report = F.struct(failed.alias("failed_values"), F.array(*offsets).alias("offsets"))
    counted = values.parsed(records).observe(metric, F.array(F.to_json(report)).alias(REPORTS))
    names = {name.lower() for name in values.columns.names}
    columns = [F.col(_PARSED)[name].alias(name) for name in values.columns.names]
    others = [F.col(quoted(name)) for name in records.columns if name.lower() not in names]
    return counted.where(~values.is_failed).select(*columns, *others)


def failed_rows(records: DataFrame, values: ValueFormat) -> DataFrame:
    """The records whose values cannot be read, as rows of the table of failed values."""
    failed = values.parsed(records).where(values.is_failed)
    return failed.select("topic", "partition", "offset", "timestamp", values.reason.alias("reason"), "key", "value")


def _options(**options: str) -> Column:
    return F.create_map(*(F.lit(part) for pair in options.items() for part in pair))


def columns_of_json(texts: Sequence[str], records: DataFrame) -> T.StructType | None:
    """The columns of JSON objects; None if there is none. `records`: any DataFrame of the session."""
    if not texts:
        return None
    session = records.sparkSession
    kind = F.schema_of_json(F.lit(f"[{', '.join(texts)}]"))
    ddl = session.range(1).select(kind.alias("ddl")).collect()[0].ddl
    array = session.range(0).select(F.from_json(F.lit("[]"), ddl).alias("rows")).schema.fields[0].dataType
    element = array.elementType if isinstance(array, T.ArrayType) else None
    return element if isinstance(element, T.StructType) and element.fields else None
