"""The types of slots by Spark's names, as `run_batch.output_schema` has them for Spark."""

from __future__ import annotations

from collections.abc import Mapping

from sqlext.expressions.spark_types import aggregate_type
from sqlext.rewriter.match.match_plan import CLASSIFIER_FIELD, Slot


def slot_type(slot: Slot, columns: Mapping[str, str]) -> str:
    """`columns`: the types of the columns that workers read.

    >>> slot_type(Slot(kind="value", columns=("__a0",)), {"__a0": "int"}), slot_type(Slot(kind="match number"), {})
    ('int', 'bigint')
    """
    names = slot.columns[:: len(slot.by_label) or 1]
    types = ["string" if name == CLASSIFIER_FIELD else columns[name] for name in names]
    if slot.kind in ("value", "rowtime"):
        return types[0]
    if slot.kind in ("classifier", "timed out"):
        return {"classifier": "string", "timed out": "boolean"}[slot.kind]
    if slot.fold is not None:
        return slot.fold.result
    if slot.kind == "array":
        return f"array<{types[0] if types else 'string'}>"
    if slot.kind == "aggregate" and types:
        return aggregate_type(slot.aggregate.function, types[0]) or types[0]
    return "bigint"
