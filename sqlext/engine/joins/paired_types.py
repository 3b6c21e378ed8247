"""Which values workers order and compare as Spark does."""

from __future__ import annotations

from pyspark.errors import PySparkTypeError
from pyspark.sql import types as T

from sqlext.expressions.spark_types import decimal_of, has_plain_equality, kind_of
from sqlext.operators.asof.plan import TIME, PairsPlan
from sqlext.rewriter.joins.join_clause import NEAREST
from sqlext.spark import versions


def refusal_by_types(plan: PairsPlan, schema: T.StructType) -> str | None:
    """Why workers do not pair rows of these columns, as a clause of a sentence; None if they do."""
    for field in schema.fields:
        name = field.dataType.simpleString()
        is_ordered = kind_of(name) is not None or decimal_of(name) is not None
        if field.name in plan.keys and not has_plain_equality(name):
            return f"only Spark knows which values of type {name} are equal"
        if field.name in (TIME, *plan.ties) and not is_ordered:
            return f"only Spark orders values of type {name}"
        if field.name == TIME and plan.operator == NEAREST and kind_of(name) != "int":
            return f"only Spark computes distances of type {name}"
        try:
            versions.arrow_schema(T.StructType([field]))
        except PySparkTypeError:
            return f"Spark does not send values of type {name} to workers"
    return None
