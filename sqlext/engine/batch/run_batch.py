"""Runs a MatchPlan in batch: Spark sorts and computes scalars, workers match, Spark computes the measures' scalars.

relation → keys, order, masks, arguments (Spark) → sort → mapInArrow: match, navigate (workers) → measures (Spark)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from sqlext.engine.batch.members import aggregated
from sqlext.engine.queries import Queries
from sqlext.engine.worker.worker_plan import MASK_BITS, WorkerPlan, mask_names
from sqlext.errors import UnsupportedError
from sqlext.rewriter.match.match_plan import IS_MATCHED, PARTITION_START, WINDOW, MatchPlan, Slot
from sqlext.rewriter.spark_types import aggregate_type, kind_of
from sqlext.rewriter.text.names import quoted
from sqlext.rewriter.text.splice import Text, join

_MASK_TYPES = ((8, "Y"), (16, "S"), (32, ""), (64, "L"))  # bits, suffix of integer literals of that width


def run(plan: MatchPlan, queries: Queries, prefix: Text, is_ansi: bool) -> DataFrame:
    """The clause's result. `prefix`: the WITH clause that the relation may need."""
    rows = queries.run(input_query(plan, prefix))
    check_types(plan, rows.schema)
    worker = worker_plan(plan, is_ansi)

    def match(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from sqlext.engine.worker.match_rows import match_batches  # loads Numba, which the driver does not need

        return match_batches(batches, worker)

    matches = rows.mapInArrow(match, output_schema(plan, rows.schema))
    return queries.run(result_query(plan, queries.name(matches)))


def check_types(plan: MatchPlan, schema: T.StructType) -> None:
    """Raise UnsupportedError for columns that cannot go to a Python worker."""
    for field in schema.fields:
        if re.search(r"interval( (year|month)|\b(?! (day|hour|minute|second)))", field.dataType.simpleString()):
            text = next(c.text for c in plan.columns if c.name == field.name)
            raise UnsupportedError(
                "INTERVAL_COLUMN",
                f"{text} has the type {field.dataType.simpleString()}, which cannot pass through Python workers",
                place=plan.clause.keyword.place,
                hint="CAST it in a subquery that is the input.",
            )


# before the match: what Spark computes for the workers


def input_query(plan: MatchPlan, prefix: Text) -> Text:
    """One row for every row of the relation, partitions whole and in order.

    Where a plain sort is enough, workers find out themselves where a partition begins: a window costs a sixth more.
    """
    if not plan.needs_window:
        return sorted_query(plan, prefix)
    # Not row_number() = 1: lag shares its frame with what PREV needs, which saves a tenth of the whole.
    columns = [*input_columns(plan), join(f"lag(TRUE) OVER {WINDOW} IS NULL AS {PARTITION_START}")]
    window = join(f"\nWINDOW {WINDOW} AS (", plan.window, ")")
    return join(prefix, "SELECT ", join(*columns, separator=",\n       "), "\nFROM ", plan.input, window)


def sorted_query(plan: MatchPlan, prefix: Text) -> Text:
    """Sorted by names of our own: a column called `user` would be the function in DISTRIBUTE BY and SORT BY.

    Without keys all rows go to one task.
    """
    keys = list(plan.carried[: len(plan.partition_by)])
    sort = ", ".join(keys + [name + direction for name, _, direction in sort_keys(plan)])
    rows = join("(\n", unsorted_query(plan), ")")
    by = f"\nDISTRIBUTE BY {', '.join(keys) or '0'}\nSORT BY {sort}"
    return join(prefix, f"SELECT {', '.join(names_read(plan)) or '1 AS __one'} FROM ", rows, by)


def unsorted_query(plan: MatchPlan) -> Text:
    """The columns that workers read, and behind them those of `sort_keys` that they do not read."""
    read = {c.name for c in plan.columns}
    sort = (join(text, f" AS {name}") for name, text, _ in sort_keys(plan) if name not in read)
    return join("SELECT ", join(*input_columns(plan), *sort, separator=",\n       "), "\nFROM ", plan.input)


def sort_keys(plan: MatchPlan) -> list[tuple[str, Text, str]]:
    """(column, its text, direction) of the ORDER BY keys; one that is read anyway is not carried twice."""
    read = {_column(c.text): c.name for c in reversed(plan.columns)}
    return [(read.get(_column(text), f"__sort{i}"), text, way) for i, (text, way) in enumerate(plan.order_by)]


def is_descending(direction: str) -> bool:
    """Of a direction that `sort_keys` gives."""
    return direction.startswith(" DESC")


def are_nulls_last(direction: str) -> bool:
    """Where NULLs stand, also where that is not said.

    >>> [are_nulls_last(direction) for direction in ("", " DESC", " NULLS LAST", " DESC NULLS FIRST")]
    [False, True, True, False]
    """
    return direction.endswith(" LAST") or direction == " DESC"


def _column(text: Text) -> str:
    """The text, the same for a name with and without backticks."""
    return re.sub(r"^`(\w+)`$", r"\1", str(text))


def names_read(plan: MatchPlan) -> list[str]:
    """The columns that workers read, but for the start of partitions."""
    return [c.name for c in plan.columns] + [name for name, _ in mask_columns(plan)]


def input_columns(plan: MatchPlan) -> list[Text]:
    """What the input query selects, but for the start of partitions."""
    columns = [join(c.text, f" AS {c.name}") for c in plan.columns]
    return [*columns, *(join(text, f" AS {name}") for name, text in mask_columns(plan))]


def mask_columns(plan: MatchPlan) -> list[tuple[str, Text]]:
    """Integer columns that hold one condition a bit, as narrow as they can be; none where all conditions are TRUE, for
    then only neighbours decide, and every column costs eight bytes of each row in the shuffle."""
    masks = [mask.text if plan.needs_window else mask.rest for mask in plan.masks]
    if all(str(mask) == "TRUE" for mask in masks):
        return []
    columns = []
    for i, name in enumerate(mask_names(len(masks))):
        group = masks[i * MASK_BITS : (i + 1) * MASK_BITS]
        bits, suffix = next(t for t in _MASK_TYPES if len(group) <= t[0])
        parts = [join("IF(", text, f", {_bit(b, bits, suffix)}, 0{suffix})") for b, text in enumerate(group)]
        columns.append((name, join(*parts, separator=" | ")))
    return columns


def _bit(b: int, bits: int, suffix: str) -> str:
    """The integer literal with only bit b set; the highest bit is the sign."""
    if b < bits - 1:
        return f"{1 << b}{suffix}"
    return f"(-{(1 << b) - 1}{suffix} - 1{suffix})"  # the smallest integer has no literal of its own


# the match


def worker_plan(plan: MatchPlan, is_ansi: bool) -> WorkerPlan:
    """The part of the plan that workers need."""
    neighbours = ((b, mask.neighbours) for b, mask in enumerate(plan.masks) if mask.neighbours)
    return WorkerPlan(
        task=plan.task,
        masks=tuple(name for name, _ in mask_columns(plan)),
        neighbours=() if plan.needs_window else tuple(neighbours),
        operands=operand_kinds(plan),
        carried=plan.carried,
        partition_by=plan.carried[: len(plan.partition_by)],
        slots=plan.slots,
        bounds=plan.bounds,
        is_ansi=is_ansi,
    )


def operand_kinds(plan: MatchPlan) -> tuple[tuple[str, str], ...]:
    """The columns that conditions read, each with the kind of its values in a worker."""
    return tuple((name, kind_of(spark_type) or "") for name, spark_type in plan.operands)


def output_schema(plan: MatchPlan, given: T.StructType) -> T.StructType:
    """The columns that workers make, from the types of what they read."""
    fields = [T.StructField(name, given[name].dataType) for name in plan.carried]
    fields += [T.StructField(slot.name, _slot_type(slot, given)) for slot in plan.slots]
    if plan.task.output.shows_unmatched:
        fields.append(T.StructField(IS_MATCHED, T.BooleanType()))
    return T.StructType(fields or [T.StructField("__nothing", T.BooleanType())])


def _slot_type(slot: Slot, given: T.StructType) -> T.DataType:
    types = [given[name].dataType for name in slot.columns]
    if slot.kind == "value":
        return types[0]
    if slot.kind == "classifier":
        return T.StringType()
    if slot.kind == "timed out":
        return T.BooleanType()
    if slot.kind == "array":
        return T.ArrayType(types[0] if types else T.StringType())
    if slot.kind == "members":
        return T.ArrayType(T.StructType([T.StructField(f"a{i}", t) for i, t in enumerate(types)]))
    if slot.kind == "aggregate" and types:
        name = aggregate_type(slot.aggregate.function, types[0].simpleString())
        return {"double": T.DoubleType(), "bigint": T.LongType()}.get(name or "", types[0])
    return types[0] if slot.kind == "rowtime" else T.LongType()


# behind the match: what Spark computes of it


def result_query(plan: MatchPlan, matches: str) -> Text:
    """The shown columns; aggregates that workers do not know are computed over arrays of the match's rows."""
    arrays = {s.name: s for s in plan.slots if s.kind == "members"}
    passed = [*plan.carried, *(s.name for s in plan.slots if s.kind != "members")]
    passed += [IS_MATCHED] if plan.task.output.shows_unmatched else []
    return shown_query(plan, aggregated(matches, passed, arrays))


def shown_query(plan: MatchPlan, rows: Text) -> Text:
    """The shown columns of a relation whose columns are the slots and the carried ones."""
    shown = join(*(join(c.text, f" AS {quoted(c.name)}") for c in plan.shown), separator=", ")
    return join("SELECT ", shown if plan.shown else "NULL AS nothing", "\n  FROM ", rows, " AS m")
