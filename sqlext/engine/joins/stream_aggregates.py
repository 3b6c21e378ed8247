"""INTERVAL JOIN … AGGREGATE of two streams: Spark computes keys, ranges and values, workers aggregate the rows of each
range as soon as it has passed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sqlext.engine.joins.aggregate_ranges import AggregatesByWorkers, BoundAggregates, range_calls, tied_columns
from sqlext.engine.joins.bind_stream_join import check_bound, check_time
from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.joins.local_interval import conditions, pair_condition
from sqlext.engine.joins.state_range import farthest
from sqlext.engine.planning.answers import KeptClause
from sqlext.engine.planning.fingerprint import Fingerprint, fingerprint_of
from sqlext.engine.planning.stream_clause import StreamClause
from sqlext.engine.queries.queries import Queries
from sqlext.engine.queries.session_settings import execution_settings
from sqlext.engine.scan.file_relation import NotRead
from sqlext.engine.shipped.data_types import arrow_schema, char_type, holds_chars
from sqlext.engine.streams import side_tables
from sqlext.engine.streams.run_operator import decided_rows, result_columns
from sqlext.errors import Place, UnsupportedError
from sqlext.expressions.scalar_tree import Scalar
from sqlext.expressions.spark_types import INTEGER_BITS, has_plain_equality
from sqlext.operators.interval.aggregates_plan import AggregatesPlan, RangeCall
from sqlext.operators.interval.operator import AggregatesOperator
from sqlext.operators.interval.plan import LOWER, TIME, UPPER
from sqlext.operators.interval.stream_plan import LEFT as LEFT_COLUMN
from sqlext.operators.interval.stream_plan import StreamAggregatesPlan
from sqlext.operators.rows.columns import FAILURE, LATE_ROW, NOT_COMPUTED
from sqlext.rewriter.checkpoint_words.resumed_words import resumed_words
from sqlext.rewriter.joins.aggregates_stream_sql import StreamRelation, stream_rows
from sqlext.rewriter.joins.asof_sql import Conditions, Key
from sqlext.rewriter.joins.interval_sides_sql import KEY
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.joins.join_conditions import LEFT, RIGHT, checked_sum
from sqlext.rewriter.lowering.guard import guarded_columns
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import column_name, quoted, unquoted
from sqlext.rewriter.text.splice import Text, TextLike, join
from sqlext.rewriter.text.tokens import tokenize

_TESTED = "__tested"  # prefix of the right columns that conditions on pairs read


@dataclass(frozen=True, kw_only=True)
class StreamAggregates(AggregatesByWorkers):
    """The join. `conditions`: the keys, and the conditions on each relation alone; `on_pairs`: those on pairs of rows,
    which are `condition` for workers; `left`, `right`: what Spark computes of both; `written`: the values of right rows
    without guards, by the names of their columns; `ranges`: what workers do, with `of_left` over columns of the state;
    `reach`: as in `StreamAggregatesPlan`; `has_effect`: building the DataFrame to run creates the table of late rows.
    """

    conditions: Conditions
    on_pairs: tuple[Text, ...]
    condition: Scalar | None
    left: StreamRelation
    right: StreamRelation
    written: Mapping[str, Text]
    ranges: AggregatesPlan
    reach: int
    skips_failures: bool
    has_effect: bool

    @property
    def clause(self) -> JoinClause:
        return self.bound.sides.clause

    @property
    def stream_clauses(self) -> list[StreamClause]:
        """The record of the join that is stored beside the checkpoint."""
        whole = self.clause.whole
        text = Fragment(whole.source, self.clause.words.start, whole.stop)
        return [StreamClause(text=text.text, place=text.place, fingerprint=self.fingerprint)]

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """The fingerprint: which rows are kept, with which columns, and what is aggregated of which of them."""
        bound, range_, on = self.bound, self.bound.range_, self.conditions
        calls = [join(bound.sides.text(call.aggregate.call)) for call in bound.calls]
        ties = [field.name.lower() for field in bound.ties]
        parts = {
            "the range": [
                [resumed_words(str(bound.times[name])) for name in (TIME, LOWER, UPPER)],
                [range_.excludes_lower, range_.excludes_upper],
            ],
            "the type of the join": self.ranges.is_left,
            "ON": [
                [[resumed_words(str(k.left)), resumed_words(str(k.right)), k.matches_null] for k in on.keys],
                [resumed_words(str(condition)) for condition in (*on.left, *on.right, *self.on_pairs)],
            ],
            "AGGREGATE": [[resumed_words(str(call)) for call in calls], ties, self.ranges.is_prevailing],
            "the columns of the left relation": [
                [f.name, f.dataType.simpleString()] for f in bound.sides.whole(LEFT).schema.fields
            ],
        }
        types = [(field.name, field.dataType.simpleString()) for field in bound.sides.whole(RIGHT).schema.fields]
        relations = join(bound.sides.relations[LEFT], " JOIN ", bound.sides.relations[RIGHT])
        return fingerprint_of(parts, calls, types, relations)

    def frame(self, queries: Queries, spark: SparkSession) -> DataFrame:
        folders = side_tables.open_folders(spark, self.fingerprint, queries.identifier) if self.has_effect else {}
        rows = self.rows(queries, has_late_rows=bool(folders))
        operator = self.operator(rows)
        decided = decided_rows(rows, operator, self.fingerprint, operator.plan.keys, folders=folders)
        result = result_columns(decided, [], self._schema)
        fields = zip(self.bound.lefts, self.bound.sides.whole(LEFT).schema.fields)
        chars = {name: metadata for name, field in fields if (metadata := char_type(field))}
        if not chars:
            return result
        return result.select(*(F.col(name).alias(name, metadata=chars.get(name, {})) for name in result.columns))

    def kept(self, queries: Queries, spark: SparkSession) -> Iterable[KeptClause]:
        from sqlext.engine.joins.kept_aggregates import kept_aggregates  # loads Numba, which other statements need not

        sides, keys = self.bound.sides, self.conditions.keys
        operator = self.operator(self.rows(queries, has_late_rows=False))
        shown = self._kept_lefts, self._kept_rights, self._shown
        return (kept_aggregates(sides, operator, clause, keys, shown, spark) for clause in self.stream_clauses)

    @property
    def _shown(self) -> dict[str, str]:
        """The names of the columns of the result, by those that the operator gives them."""
        names = [unquoted(name) for name in (*self.bound.columns, *self.bound.names)]
        return dict(zip((*self.bound.lefts, *(call.name for call in self.ranges.calls)), names))

    @property
    def _kept_lefts(self) -> dict[str, str]:
        return {of: unquoted(self.bound.lefts[name]) for name, of in self.ranges.of_left.items()}

    @property
    def _kept_rights(self) -> dict[str, str]:
        """Of a right row the time, and what is aggregated, each once."""
        texts = {TIME: self.bound.times[TIME], **self.written}
        return {name: of for of, name in {column_name(str(text)): name for name, text in texts.items()}.items()}

    def rows(self, queries: Queries, *, has_late_rows: bool) -> DataFrame:
        """The rows that the operator reads."""
        text = stream_rows(
            self.left,
            self.right,
            self.conditions,
            self.ranges.keys,
            is_left=self.ranges.is_left,
            has_late_rows=has_late_rows,
        )
        return queries.run(join(self.bound.sides.prefix, text))

    def operator(self, rows: DataFrame) -> AggregatesOperator:
        extra = tuple(name for name in rows.columns if name in (FAILURE, LATE_ROW))
        fields = [field for field in rows.schema.fields if field.name not in extra]
        place = self.clause.keyword.place
        marks = [name for name in rows.columns if name.startswith(NOT_COMPUTED)]
        plan = StreamAggregatesPlan(
            schema=pa.schema([field.with_nullable(nullable=True) for field in arrow_schema(fields, lambda _: place)]),
            ranges=self.ranges,
            reach=self.reach,
            marks={name.removeprefix(NOT_COMPUTED): name for name in marks},
            condition=self.condition,
            skips_failures=self.skips_failures,
        )
        return AggregatesOperator(plan=plan, extra=extra)

    @property
    def _schema(self) -> T.StructType:
        bound = self.bound
        lefts = zip(bound.lefts, bound.sides.whole(LEFT).schema.fields)
        fields = [T.StructField(name, field.dataType) for name, field in lefts]
        fields += [T.StructField(call.name, of) for call, of in zip(self.ranges.calls, bound.results)]
        return T.StructType(fields)

    @property
    def reasons(self) -> list[tuple[str, str]]:
        kept = "left rows whose range has not passed, right rows that one of them or a later left row may need"
        added = ", and of each key the last right row before these" if self.ranges.is_prevailing else ""
        keys = "" if self.ranges.keys else "; without a key one task has all rows"
        slow = [c.call.function for c in self.ranges.calls if not c.has_kernel]
        by_row = f" Row by row: {', '.join(dict.fromkeys(slow))}." if slow else ""
        return [
            ("stream", f"in a stateful operator, a step in each micro-batch{keys}."),
            ("decided", "a left row is emitted when the watermark has passed it and its range."),
            ("kept", f"{kept}{added}."),
            ("aggregates", f"{', '.join(self.bound.names)}, as over tables.{by_row}"),
            *(("pairs", f"{condition} is tested on each pair of rows.") for condition in self.on_pairs),
        ]


# binding


def bind_stream_aggregates(
    bound: BoundAggregates, time_zone: str, *, skips_failures: bool, has_effect: bool
) -> StreamAggregates:
    """The join of two streams.

    Raises UnsupportedError (STREAM_JOIN, STREAM_RANGE, WATERMARK, KEY_TYPE, STREAM_AGGREGATE) for one that no watermark
    decides, or that is not built.
    """
    sides, range_ = bound.sides, bound.range_
    _check_sides(bound)
    lower_time = check_bound(sides, range_.lower, LEFT)
    check_time(sides, RIGHT, range_.time)
    own, keys, on_pairs = conditions(sides, range_)
    tested, condition = _condition(bound, on_pairs)
    calls, values = _calls(bound)
    names = tuple(f"{KEY}{i}" for i in range(len(keys.null_safe)))
    is_left = sides.clause.join_type == "LEFT"
    pairs = zip(keys.of_side[LEFT], keys.of_side[RIGHT], keys.null_safe)
    filters = {side: tuple(sides.filter(side, condition) for condition in own[side]) for side in (LEFT, RIGHT)}
    on = Conditions(keys=tuple(Key(*key) for key in pairs), left=filters[LEFT], right=filters[RIGHT])
    ties: dict[str, Text] = tied_columns(bound, calls)
    lefts: dict[str, TextLike] = {name: join("(", bound.times[name], ")") for name in (LOWER, UPPER)}
    own_columns = {f"{LEFT_COLUMN}{i}": f"{bound.left}.{column}" for i, column in enumerate(bound.columns)}
    left = StreamRelation(relation=sides.relations[LEFT], time=sides.text(lower_time), values={**lefts, **own_columns})
    right = StreamRelation(relation=sides.relations[RIGHT], time=bound.times[TIME], values={**values, **ties, **tested})
    _check_types(bound, left, right, on)
    if skips_failures:
        left, right = _guarded_left(bound, left), _guarded_right(bound, right, calls)
    settings = execution_settings(sides.whole(LEFT).sparkSession)
    for call in calls:
        call.call.check(settings, call.place)
    ranges = AggregatesPlan(
        excludes_lower=range_.excludes_lower,
        excludes_upper=range_.excludes_upper,
        keys=names,
        null_safe=tuple(name for name, is_safe in zip(names, keys.null_safe) if is_safe),
        is_left=is_left,
        is_prevailing=bound.clause.is_prevailing,
        ties=tuple(ties),
        of_left=dict(zip(bound.lefts, own_columns)),
        calls=calls,
        left={},
        right={},
        settings=settings,
    )
    return StreamAggregates(
        bound=bound,
        conditions=on,
        on_pairs=tuple(on_pairs),
        condition=condition,
        left=left,
        right=right,
        written={**values, **ties},
        ranges=ranges,
        reach=-farthest(sides, range_.lower, time_zone, -1),
        skips_failures=skips_failures,
        has_effect=has_effect,
    )


def _check_sides(bound: BoundAggregates) -> None:
    """Raise UnsupportedError unless both relations are streams, and the range is one of the right time."""
    sides, range_ = bound.sides, bound.range_
    place = bound.clause.keyword.place
    if not all(sides.whole(side).isStreaming for side in (LEFT, RIGHT)):
        raise _unsupported(
            "INTERVAL JOIN … AGGREGATE of a stream and a table is not built", place,
            "make both of them streams, or join without AGGREGATE, and group the rows of the streaming table.",
        )  # fmt: skip
    if sides.side_of(range_.time) != RIGHT:
        raise _unsupported(
            "on streams AGGREGATE needs a time of the right row in a range of the left one", range_.time.place,
            "write r.at BETWEEN l.at - INTERVAL … AND l.at + INTERVAL ….",
        )  # fmt: skip


def _calls(bound: BoundAggregates) -> tuple[tuple[RangeCall, ...], dict[str, Text]]:
    """The calls, and the values of right rows that they read. Raises UnsupportedError (STREAM_AGGREGATE)."""
    try:
        return range_calls(bound)
    except NotRead:
        for call, result in zip(bound.calls, bound.results):
            try:
                range_calls(replace(bound, calls=(call,), results=(result,)))
            except NotRead as refusal:
                raise UnsupportedError(
                    "STREAM_AGGREGATE", f"not built on streams: {refusal}",
                    place=call.aggregate.call.place, hint="write the streams into tables, and aggregate these.",
                ) from None  # fmt: skip
        raise


def _condition(bound: BoundAggregates, on_pairs: Sequence[Text]) -> tuple[dict[str, Text], Scalar | None]:
    """The right columns that conditions on pairs of rows read, by names of ours, and these conditions for workers.

    Raises UnsupportedError (STREAM_JOIN) for a condition that workers cannot compute, or that may fail.
    """
    sides, read = bound.sides, {unquoted(t.text).lower() for c in on_pairs for t in tokenize(str(c)) if t.is_name}
    if not on_pairs:
        return {}, None
    place = _place_of(sides, on_pairs[0])
    if bound.clause.is_prevailing:
        raise _unsupported(
            "with INCLUDING PREVAILING a condition on both rows would keep all right rows of a stream", place,
            "leave INCLUDING PREVAILING out, or compare values of one relation alone.",
        )  # fmt: skip
    fields = {side: sides.whole(side).schema.fields for side in (LEFT, RIGHT)}
    of_right = [field for field in fields[RIGHT] if field.name.lower() in read]
    columns = {
        LEFT: {f"{LEFT_COLUMN}{i}": (bound.left, field) for i, field in enumerate(fields[LEFT])},
        RIGHT: {f"{_TESTED}{i}": (bound.right, field) for i, field in enumerate(of_right)},
    }
    named = {**columns[LEFT], **columns[RIGHT]}
    names = {(unquoted(of).lower(), field.name.lower()): name for name, (of, field) in named.items()}
    types = {name: field.dataType for name, (_, field) in named.items()}
    spark = sides.whole(LEFT).sparkSession
    for text in on_pairs:
        try:
            pair_condition([text], names, types, spark)
        except NotRead:
            raise _unsupported(
                "on streams workers test a condition on both rows, and this one may fail, or only Spark computes it",
                _place_of(sides, text), "compare plain columns, such as r.price > l.price.",
            ) from None  # fmt: skip
    condition = pair_condition(on_pairs, names, types, spark)
    return {name: join(f"{of}.{quoted(field.name)}") for name, (of, field) in columns[RIGHT].items()}, condition


def _check_types(bound: BoundAggregates, left: StreamRelation, right: StreamRelation, on: Conditions) -> None:
    """Raise UnsupportedError (KEY_TYPE, STREAM_RANGE) for times and keys that workers do not compare as Spark does."""
    sides = bound.sides
    lefts = _fields(sides, LEFT, [left.time, *(join(left.values[name]) for name in (LOWER, UPPER)), *on.left_keys])
    rights = _fields(sides, RIGHT, [right.time, *on.right_keys])
    times = dict.fromkeys(field.dataType.simpleString() for field in (*lefts[:3], rights[0]))
    if len(times) > 1:
        raise UnsupportedError(
            "STREAM_RANGE", f"on streams the times in a range have one type, not {' and '.join(times)}",
            place=bound.range_.time.place, hint="CAST one of them in a subquery before its WATERMARK.",
        )  # fmt: skip
    for key, of_left, of_right in zip(on.keys, lefts[3:], rights[1:]):
        kinds = [field.dataType.simpleString() for field in (of_left, of_right)]
        are_same = kinds[0] == kinds[1] or INTEGER_BITS.keys() >= {*kinds}
        if are_same and has_plain_equality(kinds[0]) and not (holds_chars(of_left) or holds_chars(of_right)):
            continue
        shown = kinds[0] if kinds[0] == kinds[1] else " and ".join(kinds)
        raise UnsupportedError(
            "KEY_TYPE", f"INTERVAL JOIN … AGGREGATE of streams cannot compare keys of type {shown}",
            place=_place_of(sides, key.left), hint="CAST both keys, such as to STRING.",
        )  # fmt: skip


def _fields(sides: JoinSides, side: str, texts: Sequence[Text]) -> list[T.StructField]:
    columns = join(*(join("(", text, f") AS c{i}") for i, text in enumerate(texts)), separator=", ")
    return sides.rows(side, columns).schema.fields


def _guarded_right(bound: BoundAggregates, right: StreamRelation, calls: Sequence[RangeCall]) -> StreamRelation:
    read = {name for call in calls for name in (*call.columns, call.filter)}
    return _guarded(bound, RIGHT, right, list(right.values), read)


def _guarded_left(bound: BoundAggregates, left: StreamRelation) -> StreamRelation:
    """The left relation. Ends of ranges that are sums are NULL if they exceed their type, and need no guard."""
    ends = {LOWER: bound.range_.lower, UPPER: bound.range_.upper}
    sums = {name for name, end in ends.items() if checked_sum(end, bound.sides.source, bound.sides.text) is not None}
    return _guarded(bound, LEFT, left, [name for name in ends if name not in sums], set())


def _guarded(
    bound: BoundAggregates, side: str, relation: StreamRelation, names: Sequence[str], aggregated: set[str]
) -> StreamRelation:
    """The relation, whose values of these names are NULL on rows on which they cannot be computed."""
    sides = bound.sides
    types = {field.name.lower(): field.dataType.simpleString() for field in sides.whole(side).schema.fields}

    def is_accepted(expression: Text) -> bool:
        return sides.queries.accepts(join(sides.prefix, "SELECT ", expression, " FROM ", relation.relation))

    columns = [(name, join(relation.values[name])) for name in names]
    guarded = dict(guarded_columns(columns, aggregated, types, is_accepted))
    return replace(relation, values={**relation.values, **guarded})


def _place_of(sides: JoinSides, text: Text) -> Place:
    return Place(sides.clause.whole.source, *text.span) if text.span else sides.clause.keyword.place


def _unsupported(message: str, place: Place, hint: str) -> UnsupportedError:
    return UnsupportedError("STREAM_JOIN", message, place=place, hint=hint)
