"""Run a MatchPlan in batch: Spark computes scalars, workers match, Spark computes the scalars of measures.

relation → keys, order, masks, arguments (Spark) → shuffle and sort → mapInArrow: match, navigate (workers) → measures
(Spark). With `orders_rows`, Spark does not sort, and the workers do (`operators.rows.grouped_order`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from sqlext.aggregates.registry import AGGREGATES
from sqlext.engine.queries.queries import Queries
from sqlext.engine.shipped.data_types import char_type
from sqlext.engine.shipped.output_schema import output_schema
from sqlext.errors import UnsupportedError
from sqlext.expressions.spark_types import is_sent
from sqlext.operators.match.plan import MatchOperatorPlan, Slot
from sqlext.operators.rows.columns import IS_MATCHED, PARTITION_START
from sqlext.operators.scan.plan import ScanPlan
from sqlext.rewriter.lowering.match_plan import WINDOW, MatchPlan
from sqlext.rewriter.lowering.operator_plan import mask_columns, sort_keys, sort_of, worker_plan
from sqlext.rewriter.match.subqueries import subqueries
from sqlext.rewriter.scalars.references import FILTER_PLACE
from sqlext.rewriter.text.names import quoted, repeated
from sqlext.rewriter.text.shuffle import distribute_by
from sqlext.rewriter.text.splice import Text, TextLike, join
from sqlext.spark.worker_functions import map_in_arrow, with_metadata

_NUMBER, _MEMBER, _HAS_MEMBERS = "__id", "__x", "__has"


def run_batch(plan: MatchPlan, queries: Queries, prefix: Text, *, orders_rows: bool = False) -> DataFrame:
    """The clause's result. `prefix`: the WITH clause that the relation may need; `orders_rows`: workers sort."""
    rows = queries.run(shuffled_query(plan, prefix) if orders_rows else input_query(plan, prefix))
    worker = worker_plan(plan)
    if orders_rows:
        worker = replace(worker, sort=sort_of(plan))
    return matched(plan, worker, rows, rows.schema, queries, prefix)


def matched(
    plan: MatchPlan,
    worker: MatchOperatorPlan,
    rows: DataFrame,
    schema: T.StructType,
    queries: Queries,
    prefix: Text,
    scan: ScanPlan | None = None,
) -> DataFrame:
    """The clause's result, from `rows` with the columns `schema`; with a `scan`, from the rows of a list of files."""
    check_types(plan, schema)
    names = _names_of_result(plan)

    def match(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from sqlext.operators.match.match_rows import match_batches, match_blocks  # load Numba
        from sqlext.operators.rows.arrow import renamed

        if scan is None:
            matches = match_batches(batches, worker)
        else:
            from sqlext.operators.rows.worker_memory import free_bytes
            from sqlext.operators.scan.key_order import read_blocks

            limits = worker.limits.within(free_bytes())
            matches = match_blocks(read_blocks(batches, scan), replace(worker, limits=limits))
        return matches if names is None else renamed(matches, names)

    returned = output_schema(plan, schema)
    if names is None:
        return result(plan, map_in_arrow(rows, match, returned), queries, prefix)
    fields = [T.StructField(name, returned[c].dataType, metadata=returned[c].metadata) for c, name in names]
    return map_in_arrow(rows, match, T.StructType(fields))


def check_types(plan: MatchPlan, schema: T.StructType) -> None:
    """Raise UnsupportedError for columns that cannot be passed to a Python worker."""
    for field in schema.fields:
        if not is_sent(field.dataType.simpleString()):
            text = next(c.text for c in plan.columns if c.name == field.name)
            raise UnsupportedError(
                "INTERVAL_COLUMN",
                f"{text} has the type {field.dataType.simpleString()}, which cannot pass through Python workers",
                place=plan.clause.keyword.place,
                hint="CAST it in a subquery that is the input.",
            )


# before the match: what Spark computes for the workers


def input_query(plan: MatchPlan, prefix: Text) -> Text:
    """A query with one row for every row of the relation, in which the rows of a partition are adjacent and in order.

    If a sort is enough, workers find the first row of each partition by themselves, because a window takes a sixth more
    time.
    """
    return windowed_query(plan, prefix) if plan.needs_window else sorted_query(plan, prefix)


def windowed_query(plan: MatchPlan, prefix: Text, others: Sequence[Text] = ()) -> Text:
    """The rows in a window, with the columns `others` besides those that workers read."""
    # The query does not use row_number() = 1: lag shares its frame with what PREV needs, which saves a tenth of the
    # whole time.
    columns = [*input_columns(plan), *others, join(f"lag(TRUE) OVER {WINDOW} IS NULL AS {PARTITION_START}")]
    window = join(f"\nWINDOW {WINDOW} AS (", plan.window, ")")
    return join(prefix, "SELECT ", join(*columns, separator=",\n       "), "\nFROM ", plan.input, window)


def sorted_query(plan: MatchPlan, prefix: Text) -> Text:
    """The rows, sorted. Without keys all of them go to one task.

    They are sorted by generated names, because DISTRIBUTE BY and SORT BY read the name of a column `user` as the
    function.
    """
    return join(prefix, sorted_rows(plan, join("(\n", unsorted_query(plan), ")")))


def sorted_rows(plan: MatchPlan, rows: TextLike) -> Text:
    """The columns that workers read of a relation with the columns of `unsorted_query`, sorted."""
    keys = list(plan.carried[: len(plan.partition_by)])
    sort = ", ".join(keys + [name + direction for name, _, direction in sort_keys(plan)])
    by = f"\n{distribute_by(keys)}\nSORT BY {sort}"
    return join(f"SELECT {', '.join(names_read(plan)) or '1 AS __one'} FROM ", rows, by)


def shuffled_query(plan: MatchPlan, prefix: Text) -> Text:
    """The rows in no order, all rows of a key in one task."""
    by = distribute_by(plan.carried[: len(plan.partition_by)])
    return join(prefix, "SELECT * FROM (\n", unsorted_query(plan), f")\n{by}")


def unsorted_query(plan: MatchPlan) -> Text:
    """The columns that workers read, and after them the sort keys that workers do not read."""
    read = {c.name for c in plan.columns}
    sort = (join(text, f" AS {name}") for name, text, _ in sort_keys(plan) if name not in read)
    return join("SELECT ", join(*input_columns(plan), *sort, separator=",\n       "), "\nFROM ", plan.input)


def names_read(plan: MatchPlan) -> list[str]:
    """The columns that workers read, except PARTITION_START."""
    return [c.name for c in plan.columns] + [name for name, _ in mask_columns(plan)]


def input_columns(plan: MatchPlan) -> list[Text]:
    """The columns that the input query selects, except PARTITION_START."""
    columns = [join(c.computed, f" AS {c.name}") for c in plan.columns]
    return [*columns, *(join(text, f" AS {name}") for name, text in mask_columns(plan))]


# after the match: what Spark computes from it


def _names_of_result(plan: MatchPlan) -> list[tuple[str, str]] | None:
    """(the name of a column that workers return, its name in the result) of all columns of the result; None if Spark
    computes one of them, or if two have one name.

    Workers rename the columns, because a projection would cost a small statement a tenth of its plan.
    """
    if not _only_renames(plan) or repeated([column.name for column in plan.shown]):
        return None
    return [(str(column.text), column.name) for column in plan.shown]


def _only_renames(plan: MatchPlan) -> bool:
    returned = {*plan.carried, *(slot.name for slot in plan.slots if slot.kind != "members")}
    return bool(plan.shown) and all(str(column.text) in returned for column in plan.shown)


def result(plan: MatchPlan, matches: DataFrame, queries: Queries, prefix: Text) -> DataFrame:
    """The clause's result, from the rows `matches` that the workers return.

    Where it only renames columns it is no query, which would cost a small statement a sixth of its plan.
    """
    if _only_renames(plan):
        return matches.selectExpr(*(f"{column.text} AS {quoted(column.name)}" for column in plan.shown))
    name = queries.name(matches)
    if any(slot.kind == "members" for slot in plan.slots) and any(map(char_type, matches.schema.fields)):
        name = queries.name(with_metadata(queries.run(_aggregated(plan, name)), matches.schema))
        plan = replace(plan, slots=tuple(slot for slot in plan.slots if slot.kind != "members"))
    return queries.run(result_query(plan, name, prefix))


def result_query(plan: MatchPlan, matches: str, prefix: Text) -> Text:
    """The columns of the clause's result, from the relation `matches` that the workers return.

    `prefix`: the WITH clause that subqueries in measures may need.
    """
    return join(prefix if subqueries(plan.clause) else "", shown_query(plan, _aggregated(plan, matches)))


def _aggregated(plan: MatchPlan, matches: str) -> Text:
    """The relation `matches`, in which aggregates are computed that workers do not compute."""
    arrays = {s.name: s for s in plan.slots if s.kind == "members"}
    others = [*plan.carried, *(s.name for s in plan.slots if s.kind != "members")]
    others += [IS_MATCHED] if plan.task.output.has_unmatched else []
    return aggregated(matches, others, arrays)


def shown_query(plan: MatchPlan, rows: Text) -> Text:
    """The columns of the clause's result, from a relation of the slots and the carried columns."""
    shown = join(*(join(c.text, f" AS {quoted(c.name)}") for c in plan.shown), separator=", ")
    return join("SELECT ", shown if plan.shown else "NULL", "\n  FROM ", rows, " AS m")


# aggregates that workers do not compute, over arrays of the rows of a match


def aggregated(rows: TextLike, others: Sequence[str], arrays: Mapping[str, Slot], *, keeps_chars: bool = False) -> Text:
    """A query for the columns `others` of a relation and the aggregate of each array column, named like its slot.

    `keeps_chars`: CHAR columns stay CHAR columns. Spark forgets that of an aggregate, but not of a field in one.

    The arrays hold the rows of a match; they are exploded, and grouped by the number of their result row. A correlated
    subquery for each aggregate would be shorter, but Spark plans it as a join with the match itself, on the arrays.
    That needs three matches for one such subquery, lets the planner run out of memory for ten, and is an error for
    maps.
    """
    built_in = {a: s for a, s in arrays.items() if s.aggregate.function in AGGREGATES}
    own = {a: s for a, s in arrays.items() if a not in built_in}
    query: TextLike = rows
    columns = list(others)
    if built_in:
        query = _built_in(
            query, [*columns, *own], built_in, "any_value(struct({0})).{0}" if keeps_chars else "any_value({0})"
        )
        columns += [s.name for s in built_in.values()]
    for i, (array, slot) in enumerate(own.items()):  # Spark computes users' aggregates one by one, and without FILTER
        query = _own(query, [*columns, *list(own)[i + 1 :]], array, slot)
        columns.append(slot.name)
    return join(query)


def _filter(slot: Slot, member: str) -> str:
    """The rows of a match that the aggregate reads; shorter arrays are filled with NULL."""
    condition = "" if slot.filter is None else f" AND {member}.a{slot.filter}"
    return f" FILTER (WHERE {member} IS NOT NULL{condition})"


def _built_in(rows: TextLike, others: Sequence[str], arrays: Mapping[str, Slot], value: str) -> Text:
    """A query that computes all built-in aggregates at once; `value`: the format of the value of another column."""
    columns: list[TextLike] = [f"{value.format(c)} AS {c}" for c in others]
    for array, slot in arrays.items():
        member = f"{_MEMBER}.{array}"
        columns.append(join(_call(slot, member, _filter(slot, member)), f" AS {slot.name}"))
    exploded = f"explode_outer(arrays_zip({', '.join(arrays)}))"
    return _grouped(columns, exploded, rows, [])


def _own(rows: TextLike, others: Sequence[str], array: str, slot: Slot) -> Text:
    """A query that computes the aggregate by a user's function. The function is not called for an empty array: for no
    rows Spark returns NULL."""
    call = join(f"IF({_HAS_MEMBERS}, ", _call(slot, _MEMBER, ""), f", NULL) AS {slot.name}")
    exploded = f"size({array}) > 0 AS {_HAS_MEMBERS}, explode_outer({array})"
    return _grouped([*others, call], exploded, rows, [_HAS_MEMBERS, *others])


def _grouped(columns: Sequence[TextLike], exploded: str, rows: TextLike, keys: Sequence[str]) -> Text:
    numbered = join(f"(SELECT *, monotonically_increasing_id() AS {_NUMBER} FROM ", rows, ")")
    members = join(f"(SELECT *, {exploded} AS {_MEMBER} FROM ", numbered, ")")
    selected = join(*columns, separator=", ")
    return join("(SELECT ", selected, " FROM ", members, f" GROUP BY {', '.join([_NUMBER, *keys])})")


def _call(slot: Slot, member: str, filter_clause: str) -> Text:
    """The call of the aggregate on fields of `member`."""
    parts: list[TextLike] = []
    for part in slot.call:
        if part == FILTER_PLACE:
            parts.append(filter_clause)
        else:
            parts.append(f"{member}.a{part}" if isinstance(part, int) else part)
    return join(*parts)
