"""The types of the columns that workers return for a MatchPlan."""

from __future__ import annotations

from pyspark.sql import types as T

from sqlext.aggregates.registry import kernel_result
from sqlext.engine.shipped.data_types import char_type, data_type
from sqlext.operators.match.plan import Slot
from sqlext.operators.rows.columns import CLASSIFIER_FIELD, IS_MATCHED
from sqlext.rewriter.lowering.match_plan import MatchPlan


def output_schema(plan: MatchPlan, inputs: T.StructType) -> T.StructType:
    """The columns that workers return, by the types of the columns `inputs` that they read."""
    fields = [T.StructField(name, inputs[name].dataType, metadata=char_type(inputs[name])) for name in plan.carried]
    fields += [_slot_field(slot, inputs) for slot in plan.slots]
    if plan.task.output.has_unmatched:
        fields.append(T.StructField(IS_MATCHED, T.BooleanType()))
    return T.StructType(fields or [T.StructField("__nothing", T.BooleanType())])


def _slot_field(slot: Slot, inputs: T.StructType) -> T.StructField:
    is_column = slot.kind == "value" and slot.columns[0] != CLASSIFIER_FIELD
    return T.StructField(
        slot.name, _slot_type(slot, inputs), metadata=char_type(inputs[slot.columns[0]]) if is_column else None
    )


def _slot_type(slot: Slot, inputs: T.StructType) -> T.DataType:
    arguments = slot.columns[:: len(slot.by_label) or 1]
    types = [T.StringType() if name == CLASSIFIER_FIELD else inputs[name].dataType for name in arguments]
    if slot.kind == "value":
        return types[0]
    if slot.kind == "classifier":
        return T.StringType()
    if slot.kind == "timed out":
        return T.BooleanType()
    if slot.fold is not None:
        return data_type(slot.fold.result)
    if slot.kind == "array":
        return T.ArrayType(types[0] if types else T.StringType())
    if slot.kind == "members":
        return T.ArrayType(T.StructType([T.StructField(f"a{i}", t) for i, t in enumerate(types)]))
    if slot.kind == "aggregate" and types:
        name = kernel_result(slot.aggregate.function, types[0].simpleString())
        return {"double": T.DoubleType(), "bigint": T.LongType()}.get(name or "", types[0])
    return types[0] if slot.kind == "rowtime" else T.LongType()
