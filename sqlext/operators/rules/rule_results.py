"""The result rows of MATCH_RULES: measures of all rules in one column, as texts by name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from sqlext.errors import DataError
from sqlext.expressions.column_values import ColumnValues
from sqlext.expressions.function import ExecutionSettings, null_propagating, of_one_row
from sqlext.expressions.scalar_tree import Column, Scalar, call, evaluate
from sqlext.expressions.spark_types import ArrayOf, MapOf, StructOf, is_numeric, nested
from sqlext.expressions.values import from_arrow
from sqlext.operators.rules.plan import (
    CODE,
    FIRST_AT,
    FIRST_TIME,
    LAST_AT,
    LAST_TIME,
    MATCH_NUMBER,
    MEASURES,
    RulePlan,
)
from sqlext.operators.rules.rule_versions import TakenVersion

_UTC = ExecutionSettings(is_ansi=True, time_zone="UTC")


def result_batch(
    version: TakenVersion, plan: RulePlan, rows: pa.RecordBatch, keys: Sequence[pa.Array], schema: pa.Schema
) -> tuple[pa.RecordBatch, list[tuple[int, DataError]]]:
    """The result rows of a version, computed from the slots of its matches; and the measures that could not be
    computed, each with its row.

    `keys`: the values of each key, by the number in the column CODE; `schema`: see `result_schema`.
    """
    n, values = rows.num_rows, ColumnValues(columns=dict(zip(rows.schema.names, rows.columns)), rows=rows.num_rows)
    texts, errors = {}, []
    for name, tree in plan.measures.items():
        texts[name], failed = texts_of(values, tree)
        errors += failed
    columns = [
        pa.repeat(version.name, n),
        pa.array(np.full(n, version.version), pa.int64()),
        rows.column(MATCH_NUMBER),
        *(key.take(rows.column(CODE)) for key in keys),
        rows.column(FIRST_TIME).cast(schema.field(FIRST_AT).type),
        rows.column(LAST_TIME).cast(schema.field(LAST_AT).type),
        _maps(texts, n, schema.field(MEASURES).type),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema), errors


def _maps(texts: dict[str, list[str | None]], n: int, kind: pa.MapType) -> pa.Array:
    """A map of name → text for each of n rows."""
    values = [text for row in zip(*texts.values()) for text in row]
    ends = pa.array((len(texts) * np.arange(n + 1)).astype(np.int32))
    return pa.MapArray.from_arrays(
        ends, pa.array(list(texts) * n, pa.string()), pa.array(values, pa.string()), type=kind
    )


def texts_of(values: ColumnValues, tree: Scalar) -> tuple[list[str | None], list[tuple[int, DataError]]]:
    """The values of an expression, CAST AS STRING in UTC, nested ones as JSON; and the rows that have no value because
    it could not be computed."""
    is_nested = bool(nested(tree.type))
    text = tree if is_nested or tree.type == "string" else call("CAST", (tree,), _UTC, "string")
    array = values.array(text)
    failed, error = values.vector(text).failed, values.failure(text)
    errors = [] if failed is None or error is None else [(row, error) for row in np.flatnonzero(failed).tolist()]
    if not is_nested:
        return array.to_pylist(), errors
    texts: list[str | None] = []
    to_json = null_propagating(of_one_row("a measure as JSON", lambda value: json_text(value, tree.type)))
    for row, value in enumerate(from_arrow(array, tree.type)):
        try:
            texts.append(to_json(value))
        except DataError as e:
            texts.append(None)
            errors.append((row, e))
    return texts, errors


def json_text(value: Any, spark_type: str) -> str:
    """
    >>> json_text([(1, None), (None, "x")], "array<struct<a:int,b:string>>")
    '[{"a":1},{"b":"x"}]'
    """
    return json_of(json_value(value, spark_type))


def json_of(value: Any) -> str:
    """The value as JSON without blanks, as Spark writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def json_value(value: Any, spark_type: str) -> Any:
    """One of our values as an object that `json.dumps` can write."""
    parts = nested(spark_type)
    if value is None:
        return None
    if isinstance(parts, ArrayOf):
        return [json_value(x, parts.element) for x in value]
    if isinstance(parts, MapOf):
        return {str(json_value(k, parts.key)): json_value(v, parts.value) for k, v in value.items()}
    if isinstance(parts, StructOf):
        pairs = zip(parts.names, value, parts.types)
        return {name: json_value(v, t) for name, v, t in pairs if v is not None}
    if isinstance(value, bool) or (is_numeric(spark_type) and not isinstance(value, Decimal)):
        return value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, str):
        return value
    text = call("CAST", (Column("x", spark_type),), _UTC, "string")
    return evaluate(text, {"x": value})
