"""INTERVAL JOIN … AGGREGATE: workers aggregate the rows of each range without pairs, or Spark groups pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from sqlext.aggregates.bind import bind_aggregate
from sqlext.aggregates.registry import AGGREGATES, ALIASES
from sqlext.engine.joins.bind_interval import bind_interval, bind_range, bound_text
from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.joins.local_interval import Keys, conditions, read_columns
from sqlext.engine.joins.local_sides import LocalSides, local_cores, local_sides, same_types
from sqlext.engine.joins.pair_asof import JoinComputation
from sqlext.engine.match.ordering import SPARK
from sqlext.engine.planning.planner import PlannedPart
from sqlext.engine.planning.stream_clause import StreamClause
from sqlext.engine.queries.queries import Queries, SparkTypeResolver
from sqlext.engine.queries.session_settings import execution_settings
from sqlext.engine.scan.file_relation import NotRead
from sqlext.engine.scan.scan_plan import reason_of
from sqlext.errors import BindError, SqlExtError, UnsupportedError
from sqlext.expressions.spark_types import decimal_of, has_plain_equality, in_sql, kind_of
from sqlext.operators.interval.aggregates_plan import AggregatesPlan, RangeCall
from sqlext.operators.interval.plan import LOWER, TIME, UPPER
from sqlext.operators.scan.read_sides import Columns
from sqlext.rewriter.joins.interval_sides_sql import KEY, Side, side_sql
from sqlext.rewriter.joins.join_conditions import BOTH, LEFT, RIGHT, TimeRange
from sqlext.rewriter.joins.range_aggregates import AggregateClause
from sqlext.rewriter.joins.range_aggregates_sql import (
    BothSides,
    Call,
    Pairs,
    aggregate_columns,
    both_sides,
    both_sql,
    call_of,
    grouped_pairs,
    grouped_pairs_with_prevailing,
    left_struct,
    result_sql,
)
from sqlext.rewriter.scalars.aggregate_syntax import parts_of_text
from sqlext.rewriter.statements.parse_statement import ParsedStatement
from sqlext.rewriter.text.names import quoted, repeated, unquoted
from sqlext.rewriter.text.splice import Text, join, sql
from sqlext.rewriter.text.tokens import QUERY_STARTS, tokenize
from sqlext.rewriter.tree.sources import is_random
from sqlext.spark.worker_functions import map_in_arrow

_TIE, _VALUE, _FILTER = "__tie", "__argument", "__filter"


@dataclass(frozen=True, kw_only=True)
class BoundAggregates:
    """The join, bound. `left`, `right`: the names of the relations, as written; `results`: the types of the aggregates;
    `columns`: the left columns that are read, quoted, on streams all of them; `is_streaming`: a relation is a stream.
    """

    sides: JoinSides
    clause: AggregateClause
    range_: TimeRange
    times: Mapping[str, Text]
    left: str
    right: str
    columns: Sequence[str]
    calls: tuple[Call, ...]
    results: tuple[T.DataType, ...]
    is_streaming: bool

    @property
    def own(self) -> str:
        return f"__sqlext_interval{self.sides.number}"

    @property
    def names(self) -> list[str]:
        return [call.aggregate.name.fragment.text for call in self.calls]

    @property
    def lefts(self) -> dict[str, str]:
        """The left columns, quoted, by the names that they have before they have their own."""
        return {f"__sqlext_left{self.sides.number}_{i}": column for i, column in enumerate(self.columns)}

    @property
    def ties(self) -> list[T.StructField]:
        return tied_fields(self.sides, self.clause)


def tied_fields(sides: JoinSides, clause: AggregateClause) -> list[T.StructField]:
    """The right columns that AGGREGATE reads and that can be ordered: they decide the order of rows of one time."""
    named = {unquoted(t.text).lower() for t in tokenize(clause.inside.text) if t.is_name}
    fields = sides.whole(RIGHT).schema.fields
    return [field for field in fields if field.name.lower() in named and is_ordered(field.dataType)]


def is_ordered(of: T.DataType) -> bool:
    name = of.simpleString()
    return kind_of(name) is not None or decimal_of(name) is not None


def bind_aggregates(sides: JoinSides, time_zone: str) -> BoundAggregates:
    """Bind the names and the types of the join. Raises the errors that a plain JOIN of the same words would raise, and
    BindError and UnsupportedError."""
    clause = sides.clause.aggregate
    assert clause is not None
    names = {side: _name(sides, side) for side in (LEFT, RIGHT)}
    range_, is_streaming = bind_range(sides, time_zone)
    _check_columns(sides)
    calls = tuple(call_of(aggregate, sides.source) for aggregate in clause.aggregates)
    for call in calls:
        _check_aggregate(sides, call)
    lower, upper = (bound_text(sides, bound) for bound in (range_.lower, range_.upper))
    return BoundAggregates(
        sides=sides,
        clause=clause,
        range_=range_,
        times={TIME: sides.text(range_.time), LOWER: lower, UPPER: upper},
        left=names[LEFT],
        right=names[RIGHT],
        columns=_all_columns(sides) if is_streaming else _left_columns(sides),
        calls=calls,
        results=_results(sides, clause),
        is_streaming=is_streaming,
    )


def _name(sides: JoinSides, side: str) -> str:
    """The name of a relation, as written."""
    fragment = sides.clause.left if side == LEFT else sides.clause.right
    relation = sides.tree.relation_at(fragment)
    name = sides.tree.name_of(relation) if relation is not None else None
    if name is None:
        raise UnsupportedError(
            "AGGREGATE_INPUT", f"the {side} relation of an INTERVAL JOIN with AGGREGATE needs one name",
            place=fragment.place, hint=f"write (SELECT … FROM …) AS {side}_rows.",
        )  # fmt: skip
    return name.text


def _check_columns(sides: JoinSides) -> None:
    """Raise UnsupportedError for two left columns of one name: the result could not tell them apart."""
    names = [field.name for field in sides.whole(LEFT).schema.fields]
    if several := repeated(name.lower() for name in names):
        raise UnsupportedError(
            "AGGREGATE_INPUT", f"two columns of the left relation have the name {min(several)}",
            place=sides.clause.left.place, hint="rename one in a subquery: (SELECT x AS other, … FROM …) AS left_rows.",
        )  # fmt: skip


def _check_aggregate(sides: JoinSides, call: Call) -> None:
    name = call.aggregate.function
    if name in AGGREGATES or name in ALIASES or sides.queries.is_aggregate(name):
        return
    raise BindError(
        "JOIN_AGGREGATE", f"{name} is not an aggregate", place=call.aggregate.call.place,
        hint="aggregate the rows of the range here, and compute with the result in SELECT.",
    )  # fmt: skip


def _results(sides: JoinSides, clause: AggregateClause) -> tuple[T.DataType, ...]:
    """The types of the aggregates; Spark reports errors of the calls."""
    on = sides.clause.on
    assert on is not None
    calls = [join(sides.text(a.call), f" AS {a.name.fragment.text}") for a in clause.aggregates]
    pairs = join(sides.relations[LEFT], " JOIN ", sides.relations[RIGHT], " ON ", sides.text(on))
    return tuple(field.dataType for field in sides.select(join(*calls, separator=", "), pairs).schema.fields)


def _left_columns(sides: JoinSides) -> Sequence[str]:
    try:
        return read_columns(sides, LEFT, ())
    except NotRead:  # CHAR and VARCHAR columns, which only Spark reads
        return _all_columns(sides)


def _all_columns(sides: JoinSides) -> Sequence[str]:
    return [quoted(field.name) for field in sides.whole(LEFT).schema.fields]


# by workers


@dataclass(frozen=True, kw_only=True)
class AggregatesByWorkers(PlannedPart):
    """What the join has in batch and on streams."""

    bound: BoundAggregates

    @property
    def hidden(self) -> tuple[str, ...]:
        return (*self.bound.lefts, *aggregate_columns(self.bound.calls))

    def text(self, result: str) -> Text:
        """The text that replaces the join. `result`: the relation that workers return."""
        bound = self.bound
        return result_sql(result, bound.own, bound.left, bound.lefts, bound.names)


@dataclass(frozen=True, kw_only=True)
class Aggregated(AggregatesByWorkers):
    """The join by workers: what they do, the rows that they read, and the columns that they return. `local`: one worker
    reads the files of both tables; otherwise Spark reads the queries `left` and `right`, and `why_read` says why."""

    plan: AggregatesPlan
    left: Text
    right: Text
    schema: T.StructType
    local: LocalSides | None = None
    why_read: str = ""
    has_effect: ClassVar[bool] = False
    stream_clauses: ClassVar[tuple[StreamClause, ...]] = ()

    @property
    def reads_files(self) -> bool:
        return self.local is not None

    def frame(self, queries: Queries, spark: SparkSession) -> DataFrame:
        if self.local is not None:
            plan = replace(self.plan, limits=self.local.limits)

            def of_sides(left: Columns, right: Columns) -> Iterator[pa.RecordBatch]:
                from sqlext.operators.interval.aggregate_ranges import aggregate_sides  # loads Numba

                return aggregate_sides(left, right, plan)

            return self.local.frame(of_sides, self.schema)
        plan = self.plan
        both = BothSides(left=plan.left, right=plan.right)
        rows = queries.run(join(self.bound.sides.prefix, both_sql(both, self.left, self.right, plan.keys)))

        def of_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from sqlext.operators.interval.aggregate_ranges import aggregate_batches  # loads Numba

            return aggregate_batches(batches, plan)

        return map_in_arrow(rows, of_batches, self.schema)

    @property
    def reasons(self) -> list[tuple[str, str]]:
        how = "workers order the rows of both sides, which Spark only shuffles by their keys"
        if self.local is not None:
            how = (
                "local: one worker reads the files of both tables, and orders their rows with the threads of all cores"
            )
        slow = [c.call.function for c in self.plan.calls if not c.has_kernel]
        rows = f"; row by row: {', '.join(dict.fromkeys(slow))}" if slow else ""
        reasons = [("without pairs", f"{how}; two pointers a key find the rows of each range{rows}.")]
        added = "; the last row before the range is one more" if self.plan.is_prevailing else ""
        reasons.append(("aggregates", f"{', '.join(self.bound.names)}{added}."))
        return [*reasons, *([("read", f"Spark reads the rows: {self.why_read}.")] if self.why_read else [])]


def by_workers(bound: BoundAggregates, statement: ParsedStatement, computation: JoinComputation) -> Aggregated | str:
    """The join by workers or, as a clause of a sentence, the reason why Spark makes pairs."""
    sides = bound.sides
    if computation.is_portable:
        return "plain SQL has no workers"
    if computation.order == SPARK:
        return "sqlext.order is spark"
    if computation.why_windows:
        return computation.why_windows
    if any(is_random(statement.tree.tokens, cte.query) for cte in statement.ctes(sides.clause.whole)):
        return "a random WITH query must be computed once only"
    if sides.side_of(bound.range_.time) != RIGHT:
        return "the range belongs to the right row"
    own, keys, on_pairs = conditions(sides, bound.range_)
    if on_pairs:
        return f"{on_pairs[0]} is tested on pairs of rows"
    try:
        return _aggregated(bound, own, keys, computation)
    except NotRead as refusal:
        return str(refusal) or "only Spark reads the rows"


def _aggregated(
    bound: BoundAggregates, own: Mapping[str, list[Text]], keys: Keys, computation: JoinComputation
) -> Aggregated:
    """Raises NotRead with the reason why workers do not aggregate the rows."""
    sides, clause = bound.sides, bound.clause
    read_columns(sides, LEFT, ())  # refuses columns that only Spark reads
    read_columns(sides, RIGHT, ())
    calls, values = range_calls(bound)
    ties = tied_columns(bound, calls)
    is_left = sides.clause.join_type == "LEFT"
    lefts = Side(
        relation=sides.relations[LEFT],
        name=bound.left,
        columns=bound.lefts,
        times={name: bound.times[name] for name in (LOWER, UPPER)},
        own=tuple(own[LEFT]),
        is_whole=is_left,
    )
    rights = Side(
        relation=sides.relations[RIGHT],
        name=bound.right,
        columns={},
        times={TIME: bound.times[TIME]},
        own=tuple(own[RIGHT]),
        is_whole=False,
    )
    left_text = side_sql(lefts, keys.of_side[LEFT])
    right_text = side_sql(rights, keys.of_side[RIGHT], {**values, **ties})
    left, right = (sides.queries.run(join(sides.prefix, text)) for text in (left_text, right_text))
    names = tuple(f"{KEY}{i}" for i in range(len(keys.null_safe)))
    _check_types(left, right, names)
    types = [{field.name: field.dataType for field in frame.schema.fields} for frame in (left, right)]
    both = both_sides(types[0], types[1])
    spark = left.sparkSession
    settings = execution_settings(spark)
    for call in calls:
        call.call.check(settings, call.place)
    plan = AggregatesPlan(
        excludes_lower=bound.range_.excludes_lower,
        excludes_upper=bound.range_.excludes_upper,
        keys=names,
        null_safe=tuple(name for name, is_safe in zip(names, keys.null_safe) if is_safe),
        is_left=is_left,
        is_prevailing=clause.is_prevailing,
        ties=tuple(ties),
        of_left={name: name for name in bound.lefts},
        calls=calls,
        left=both.left,
        right=both.right,
        settings=settings,
    )
    fields = [T.StructField(name, types[0][name]) for name in bound.lefts]
    fields += [T.StructField(call.name, of) for call, of in zip(calls, bound.results)]
    aggregated = Aggregated(bound=bound, plan=plan, left=left_text, right=right_text, schema=T.StructType(fields))
    try:
        return replace(aggregated, local=_local(sides, left, right, computation))
    except NotRead as refusal:
        why = reason_of(refusal, computation.read, sides.clause.words.place)
        return replace(aggregated, why_read=why)


def _local(sides: JoinSides, left: DataFrame, right: DataFrame, computation: JoinComputation) -> LocalSides:
    """The files of both relations, if one worker can read them. Raises NotRead."""
    cores = local_cores(computation.read, computation.cores)
    if None in (sides.only_name(LEFT), sides.only_name(RIGHT)):
        raise NotRead("a relation is more than one table with a name")
    return local_sides(left, right, cores)


def _check_types(left: DataFrame, right: DataFrame, keys: Sequence[str]) -> None:
    """Raise NotRead for values that workers do not compare as Spark does."""
    same_types(right, left, [(TIME, LOWER), (TIME, UPPER), *((key, key) for key in keys)])
    types = dict(left.dtypes)
    if not is_ordered(left.schema[LOWER].dataType):
        raise NotRead(f"only Spark orders values of type {types[LOWER]}")
    if others := [types[key] for key in keys if not has_plain_equality(types[key])]:
        raise NotRead(f"only Spark knows which values of type {others[0]} are equal")


def tied_columns(bound: BoundAggregates, calls: Sequence[RangeCall]) -> dict[str, Text]:
    """The columns that decide the order of right rows of one time, by names of ours; none if it does not matter."""
    if bound.clause.is_prevailing or any(AGGREGATES[call.call.function].reads_order for call in calls):
        return {f"{_TIE}{i}": join(f"{bound.right}.{quoted(field.name)}") for i, field in enumerate(bound.ties)}
    return {}


def range_calls(bound: BoundAggregates) -> tuple[tuple[RangeCall, ...], dict[str, Text]]:
    """The calls, and the values of right rows that they read. Raises NotRead for one that workers do not compute."""
    sides, values = bound.sides, dict[str, Text]()
    resolver = SparkTypeResolver(
        sides.queries, sides.prefix, sides.relations[RIGHT], settings=execution_settings(sides.whole(LEFT).sparkSession)
    )

    def column(prefix: str, text: Text) -> str:
        known = next((name for name, value in values.items() if str(value) == str(text)), None)
        name = known or f"{prefix}{len(values)}"
        values.setdefault(name, text)
        return name

    calls = []
    for name, call, result in zip(aggregate_columns(bound.calls), bound.calls, bound.results):
        _check_reads_right(sides, call)
        try:
            place = call.aggregate.call.place
            parts = parts_of_text(call.syntax, call.words.slice, place)
            own, arguments = bind_aggregate(call.function, parts, resolver, result.simpleString())
            kinds = resolver.types(arguments)
        except SqlExtError as error:
            raise NotRead(f"workers do not compute {call.aggregate.function}: {error.message}") from None
        if others := [kind for kind in kinds if "collate" in kind]:
            raise NotRead(f"only Spark compares values of type {others[0]}")
        texts = [
            text if of == kind else join("CAST(", text, f" AS {in_sql(kind)})")
            for text, of, kind in zip(arguments, kinds, own.column_types)
        ]
        if call.filter is not None:  # Spark computes the arguments only on rows that count
            texts = [sql("CASE WHEN {filter} THEN {text} END", filter=call.filter, text=text) for text in texts]
        calls.append(
            RangeCall(
                name=name,
                call=own,
                columns=tuple(column(_VALUE, text) for text in texts),
                filter="" if call.filter is None else column(_FILTER, join("(", call.filter, ")")),
                place=place,
            )
        )
    return tuple(calls), values


def _check_reads_right(sides: JoinSides, call: Call) -> None:
    """Raise NotRead for a call that only Spark computes, or that reads the left row."""
    tokens = tokenize(call.aggregate.call.text)
    if any(token.word in QUERY_STARTS for token in tokens):
        raise NotRead("an aggregate has a subquery")
    words, syntax = call.words, call.syntax
    bounds = [*syntax.arguments, *(part.key for part in syntax.order_by), *filter(None, [syntax.filter])]
    for lo, hi in bounds:
        fragment = words.fragment(lo, hi)
        if fragment.text.strip() == "*":
            continue
        if sides.side_of(fragment) not in (RIGHT, BOTH):
            raise NotRead(f"{fragment.in_line} reads the left row")


# by pairs


def by_pairs(bound: BoundAggregates, time_zone: str, why: str) -> tuple[Text, tuple[str, ...], list[tuple[str, str]]]:
    """The text that replaces the join, its hidden columns, and the reasons for EXPLAIN: Spark joins and groups pairs.

    Raises UnsupportedError for INCLUDING PREVAILING if the right row has the range, or two columns of one name.
    """
    sides, left = bound.sides, left_struct(bound.sides.number)
    fields = {f"c{i}": column for i, column in enumerate(bound.columns)}
    is_right = sides.side_of(bound.range_.time) == RIGHT
    times = [bound.times[name] for name in ((TIME,) if is_right else (LOWER, UPPER))]
    rights = [field.name for field in sides.whole(RIGHT).schema.fields]
    pairs = Pairs(
        left=bound.left,
        right=bound.right,
        columns=fields,
        right_columns=tuple(map(quoted, rights)),
        order=(*times, *(join(f"{bound.right}.{quoted(field.name)}") for field in bound.ties)),
        number=sides.number,
    )
    reasons = [("pairs", f"Spark joins, and groups the pairs by the left row: {why}.")]
    if bound.clause.is_prevailing:
        _check_prevailing(bound, rights, is_right=is_right)
        query = grouped_pairs_with_prevailing(sides.clause, pairs, sides.source, bound.range_, bound.times, bound.calls)
        reasons.append(("prevailing", "it is found among all earlier right rows, which are paired, too."))
    else:
        rewritten = bind_interval(sides, time_zone)
        query = grouped_pairs(sides.clause, pairs, sides.source, rewritten.edits, bound.calls)
        reasons += rewritten.reasons
    lefts = {f"{left}.{name}": column for name, column in fields.items()}
    text = result_sql(join("(", query, ")"), bound.own, bound.left, lefts, bound.names)
    return text, (left, *aggregate_columns(bound.calls)), reasons


def _check_prevailing(bound: BoundAggregates, rights: Sequence[str], *, is_right: bool) -> None:
    """Raise UnsupportedError for INCLUDING PREVAILING where no right row, or no column of it, can be told."""
    place = bound.clause.whole.place
    if not is_right:
        raise UnsupportedError(
            "PREVAILING", "INCLUDING PREVAILING needs a time of the right row in a range of the left one", place=place,
            hint="write right.time BETWEEN left.time - INTERVAL … AND left.time + INTERVAL ….",
        )  # fmt: skip
    if several := repeated(name.lower() for name in rights):
        raise UnsupportedError(
            "AGGREGATE_INPUT", f"two columns of the right relation have the name {min(several)}",
            place=bound.sides.clause.right.place, hint="rename one in a subquery: (SELECT x AS other, … FROM …) AS r.",
        )  # fmt: skip
