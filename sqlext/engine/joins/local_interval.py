"""INTERVAL JOIN of tables whose files one worker reads: it orders their rows, and pairs them by two pointers, on the
threads of all cores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.joins.local_sides import LocalSides, local_cores, local_sides, same_types
from sqlext.engine.planning.planner import PlannedPart
from sqlext.engine.planning.stream_clause import StreamClause
from sqlext.engine.queries.queries import Queries
from sqlext.engine.queries.session_settings import execution_settings
from sqlext.engine.scan.file_relation import NotRead, check_functions
from sqlext.engine.shipped.data_types import CHAR_TYPE
from sqlext.errors import SqlExtError
from sqlext.expressions.column_values import cannot_fail
from sqlext.expressions.scalar_tree import Scalar, call
from sqlext.expressions.spark_types import has_plain_equality
from sqlext.operators.interval.plan import LOWER, TIME, UPPER, RangesPlan
from sqlext.operators.scan.read_sides import Columns
from sqlext.rewriter.joins.interval_sides_sql import KEY, Side, result_sql, side_sql
from sqlext.rewriter.joins.join_conditions import BOTH, LEFT, RIGHT, TimeRange, compared
from sqlext.rewriter.joins.qualified_names import with_names
from sqlext.rewriter.joins.stars import reader_of
from sqlext.rewriter.joins.time_buckets import domain
from sqlext.rewriter.scalars.static_binder import StaticBinder
from sqlext.rewriter.text.names import quoted, repeated, unquoted
from sqlext.rewriter.text.splice import Text, join
from sqlext.rewriter.text.tokens import tokenize
from sqlext.rewriter.tree.unread import unread_by_query

_WHOLE = {LEFT: ("LEFT", "FULL", "LEFT ANTI"), RIGHT: ("RIGHT", "FULL")}  # join types, by the side that they keep
LOCAL = ("local", "one worker reads the files of both tables, and pairs their rows with the threads of all cores.")


@dataclass(frozen=True, kw_only=True)
class LocalInterval(PlannedPart):
    """The join, what the worker reads, and the columns that it returns. `shown`: the relations in the result."""

    plan: RangesPlan
    sides: LocalSides
    schema: T.StructType
    shown: tuple[Side, ...]
    has_effect: ClassVar[bool] = False
    stream_clauses: ClassVar[tuple[StreamClause, ...]] = ()

    @property
    def reads_files(self) -> bool:
        return True

    def frame(self, queries: Queries, spark: SparkSession) -> DataFrame:
        plan = replace(self.plan, limits=self.sides.limits)

        def pair(left: Columns, right: Columns) -> Iterator[pa.RecordBatch]:
            from sqlext.operators.interval.pair_ranges import range_batches  # loads Numba, which the driver needs not

            return range_batches(left, right, plan)

        return self.sides.frame(pair, self.schema)

    @property
    def hidden(self) -> tuple[str, ...]:
        """The columns that the text of the join has besides those of its relations."""
        return tuple(name for side in self.shown for name in side.columns)

    def text(self, result: str, number: int) -> Text:
        """The text that replaces the join. `result`: the relation that the worker returns."""
        return result_sql(result, f"__sqlext_interval{number}", self.shown)


@dataclass(frozen=True, kw_only=True)
class Keys:
    """The operands of the equalities of both relations, and which of these match NULL."""

    of_side: dict[str, list[Text]]
    null_safe: list[bool]


def local_interval(
    sides: JoinSides, range_: TimeRange, times: Mapping[str, Text], read: str, cores: int | None
) -> LocalInterval:
    """The join by one worker. `times`: the texts of TIME, LOWER and UPPER. Raises NotRead."""
    threads = local_cores(read, cores)
    own, keys, on_pairs = conditions(sides, range_)
    both = _both(sides, range_, times, own, on_pairs)
    plan = _plan(sides, range_, keys, both)
    left, right = (
        sides.queries.run(join(sides.prefix, side_sql(both[side], keys.of_side[side]))) for side in (LEFT, RIGHT)
    )
    _check_types(plan, left, right)
    fields = {field.name: field.dataType for frame in (left, right) for field in frame.schema.fields}
    return LocalInterval(
        plan=replace(plan, condition=pair_condition(on_pairs, _names(both.values()), fields, left.sparkSession)),
        sides=local_sides(left, right, threads),
        schema=T.StructType([T.StructField(name, fields[name]) for name in (*plan.of_left, *plan.of_right)]),
        shown=(both[LEFT], both[RIGHT]) if plan.shows_pairs else (both[LEFT],),
    )


def _both(
    sides: JoinSides, range_: TimeRange, times: Mapping[str, Text], own: Mapping[str, list[Text]], pairs: Sequence[Text]
) -> dict[str, Side]:
    """The relations, by LEFT and RIGHT. `own`: the conditions on each of them alone; `pairs`: those on both."""
    points = sides.side_of(range_.time)
    ends = {name: times[name] for name in (LOWER, UPPER)}
    return {
        side: Side(
            relation=sides.relations[side],
            name=_name(sides, side),
            columns={f"__sqlext_{side}{sides.number}_{i}": c for i, c in enumerate(read_columns(sides, side, pairs))},
            times={TIME: times[TIME]} if side == points else ends,
            own=tuple(own[side]),
            is_whole=sides.clause.join_type in _WHOLE[side],
        )
        for side in (LEFT, RIGHT)
    }


def _plan(sides: JoinSides, range_: TimeRange, keys: Keys, both: Mapping[str, Side]) -> RangesPlan:
    """What the worker does, without the condition on pairs."""
    plan = RangesPlan(
        join_type=sides.clause.join_type,
        time_is_left=sides.side_of(range_.time) == LEFT,
        excludes_lower=range_.excludes_lower,
        excludes_upper=range_.excludes_upper,
        keys=tuple(f"{KEY}{i}" for i in range(len(keys.null_safe))),
        null_safe=tuple(f"{KEY}{i}" for i, is_safe in enumerate(keys.null_safe) if is_safe),
        of_left={name: name for name in both[LEFT].columns},
        of_right={name: name for name in both[RIGHT].columns},
    )
    return plan if plan.shows_pairs else replace(plan, of_right={})


def conditions(sides: JoinSides, range_: TimeRange) -> tuple[dict[str, list[Text]], Keys, list[Text]]:
    """The conditions on one relation alone, the keys, and the conditions on pairs of rows."""
    on_pairs: list[Text] = []
    own: dict[str, list[Text]] = {LEFT: [], RIGHT: []}
    keys = Keys(of_side={LEFT: [], RIGHT: []}, null_safe=[])
    for conjunct in sides.clause.conjuncts:
        if conjunct in range_.conjuncts:
            continue
        side, comparison = sides.side_of(conjunct), compared(conjunct)
        if side in (LEFT, RIGHT, BOTH):
            own[RIGHT if side == RIGHT else LEFT].append(sides.text(conjunct))
            continue
        operands = [comparison.left, comparison.right] if comparison is not None else []
        of_side = {sides.side_of(operand): sides.text(operand) for operand in operands}
        if comparison is None or comparison.operator not in ("=", "<=>") or of_side.keys() != {LEFT, RIGHT}:
            on_pairs.append(sides.text(conjunct))
            continue
        keys.null_safe.append(comparison.operator == "<=>")
        for of, text in of_side.items():
            keys.of_side[of].append(text)
    return own, keys, on_pairs


def _names(both: Iterable[Side]) -> dict[tuple[str, str], str]:
    """The columns of both relations by their qualifiers and names in lower case."""
    return {
        (unquoted(side.name).lower(), unquoted(column).lower()): name
        for side in both
        for name, column in side.columns.items()
    }


def _name(sides: JoinSides, side: str) -> str:
    """The name of a relation. Raises NotRead if its columns may have other qualifiers."""
    name = sides.only_name(side)
    if name is None:
        raise NotRead(f"the {side} relation is more than one table with a name")
    return name


def pair_condition(
    on_pairs: Sequence[Text],
    columns: Mapping[tuple[str, str], str],
    fields: Mapping[str, T.DataType],
    spark: SparkSession,
) -> Scalar | None:
    """The conditions on pairs. `columns`: those of both relations by qualifier and name in lower case; `fields`: their
    types. Raises NotRead if a condition may fail on a pair."""
    settings = execution_settings(spark)
    binder = StaticBinder(columns={name: f.simpleString() for name, f in fields.items()}, settings=settings)
    trees = []
    for text in on_pairs:
        check_functions(spark, str(text))
        try:
            trees.append(binder.tree(join(with_names(str(text), columns))))
        except SqlExtError as error:
            raise NotRead(f"it computes {text}: {error.message}") from None
        if not cannot_fail(trees[-1]):
            raise NotRead(f"it tests {text} on pairs of rows")
    return reduce(lambda a, b: call("AND", (a, b), settings), trees) if trees else None


def read_columns(sides: JoinSides, side: str, on_pairs: Sequence[Text]) -> Sequence[str]:
    """The columns of a relation that the query or conditions on pairs read, quoted, and at least one column. Raises
    NotRead."""
    tree, clause = sides.tree, sides.clause
    fields = sides.whole(side).schema.fields
    if any(CHAR_TYPE in field.metadata for field in fields):
        raise NotRead("Spark pads the values that it compares with CHAR and VARCHAR columns")
    if repeated(field.name.lower() for field in fields):
        raise NotRead(f"two columns of the {side} relation have the same name")
    by_name = {field.name.lower(): quoted(field.name) for field in fields}
    unread: frozenset[str] = frozenset()
    if reader_of(tree, clause) is None and not sides.queries.frames:
        other = sides.other_qualifier(side)
        unread = unread_by_query(tree, clause.query, clause.whole, sides.only_names, by_name, other)
    named = {unquoted(token.text).lower() for text in on_pairs for token in tokenize(str(text)) if token.is_name}
    return [column for name, column in by_name.items() if name not in unread or name in named] or list(
        by_name.values()
    )[:1]


def _check_types(plan: RangesPlan, left: DataFrame, right: DataFrame) -> None:
    """Raise NotRead for values that workers do not compare as Spark does."""
    points, ranges = (left, right) if plan.time_is_left else (right, left)
    same_types(left, right, [(key, key) for key in plan.keys])
    same_types(points, ranges, [(TIME, LOWER), (TIME, UPPER)])
    types = dict(points.dtypes)
    if domain((types[TIME],)) is None:
        raise NotRead("")  # which is an error
    if others := [types[key] for key in plan.keys if not has_plain_equality(types[key])]:
        raise NotRead(f"only Spark knows which values of type {others[0]} are equal")
