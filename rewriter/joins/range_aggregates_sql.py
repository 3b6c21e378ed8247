"""The SQL of an INTERVAL JOIN … AGGREGATE: the rows of both relations that workers read together, and the join that
makes pairs and groups them, for what workers do not compute."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from sqlext.aggregates.registry import AGGREGATES, ALIASES
from sqlext.operators.interval.aggregates_plan import OF_LEFT, OF_RIGHT, SIDE
from sqlext.operators.interval.plan import LOWER, TIME, UPPER
from sqlext.operators.rows.columns import IS_ABLE
from sqlext.rewriter.joins.interval_sides_sql import KEY
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.joins.join_conditions import TimeRange
from sqlext.rewriter.joins.range_aggregates import RangeAggregate
from sqlext.rewriter.scalars.aggregate_syntax import AggregateSyntax, read_aggregate
from sqlext.rewriter.scalars.references import Scope, Words
from sqlext.rewriter.text.lexemes import lexemes
from sqlext.rewriter.text.shuffle import distribute_by
from sqlext.rewriter.text.splice import Edit, Source, Text, TextLike, join, sql

_VALUE = "__value"  # prefix of the columns that rows of both relations use
Types = Mapping[str, Hashable]


@dataclass(frozen=True, kw_only=True)
class BothSides:
    """The rows of both relations in one table: the columns of each by their names there. Rows of the left relation have
    the lower end in the column of the time."""

    left: Mapping[str, str]
    right: Mapping[str, str]


def both_sides(left: Types, right: Types) -> BothSides:
    """Where the columns of both relations are. Values of one type share columns.

    >>> both = both_sides({"__lower": 0, "__upper": 0, "__key0": 1, "a": "int"}, {"__time": 0, "__key0": 1, "b": "int"})
    >>> both.left["a"], both.right["b"], both.left["__lower"], both.right["__time"]
    ('__value0', '__value0', '__time', '__time')
    """
    places: dict[tuple[Hashable, int], str] = {}
    result = []
    for types in (left, right):
        counts: dict[Hashable, int] = {}
        named = {}
        for name, kind in types.items():
            if name in (LOWER, TIME):
                named[name] = TIME
            elif name in (UPPER, IS_ABLE) or name.startswith(KEY):
                named[name] = name
            else:
                counts[kind] = counts.get(kind, 0) + 1
                named[name] = places.setdefault((kind, counts[kind]), f"{_VALUE}{len(places)}")
        result.append(named)
    return BothSides(left=result[0], right=result[1])


def both_sql(both: BothSides, left: Text, right: Text, keys: Sequence[str]) -> Text:
    """The rows of the queries `left` and `right`, all rows of a key in one task."""
    columns = list(dict.fromkeys([*both.left.values(), *both.right.values()]))

    def rows(side: int, named: Mapping[str, str], query: Text) -> Text:
        of = {column: name for name, column in named.items()}
        values = [f"{of.get(column, 'NULL')} AS {column}" for column in columns]
        return join(f"SELECT {side} AS {SIDE}, {', '.join(values)} FROM (", query, ")")

    names = ", ".join([SIDE, *columns])
    return join(
        f"SELECT {names} FROM (\n  ", rows(OF_RIGHT, both.right, right), "\n  UNION ALL\n  ",
        rows(OF_LEFT, both.left, left), f"\n) {distribute_by(keys)}",
    )  # fmt: skip


# the words of a call


@dataclass(frozen=True)
class Call:
    """An aggregate and the parts of its text."""

    aggregate: RangeAggregate
    words: Words
    syntax: AggregateSyntax

    @property
    def function(self) -> str:
        return ALIASES.get(self.aggregate.function, self.aggregate.function)

    @property
    def arguments(self) -> list[Text]:
        return [self.words.slice(*bounds) for bounds in self.syntax.arguments]

    @property
    def filter(self) -> Text | None:
        return None if self.syntax.filter is None else self.words.slice(*self.syntax.filter)

    def filtered(self, conditions: Sequence[TextLike]) -> Text:
        """The call with these conditions in its FILTER, and the words that follow that."""
        words, before, after = self.words, self.syntax.stop, self.syntax.stop
        if self.syntax.filter is not None:
            lo, hi = self.syntax.filter
            before, after = lo - 2 - (words.word(lo - 1) == "WHERE"), hi + 1
        elif self.syntax.nulls and words.word(before - 1) == "NULLS":
            before -= 2
            after = before
        rest = words.slice(after, self.syntax.stop)
        return join(words.slice(0, before), _filter_text(conditions), " ", rest)


def call_of(aggregate: RangeAggregate, source: Source) -> Call:
    words = Words(lexemes(aggregate.call, source), Scope(source=source, variables={}, columns=()))
    return Call(aggregate, words, read_aggregate(words, 0))


# pairs


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """`left`, `right`: the names of the relations; `columns`: those of the left one that are shown, quoted, by the
    names of the fields of the struct; `right_columns`: those of the right one, quoted; `order`: the times of the right
    relation and the columns that decide ties; `number` distinguishes the joins of a statement.
    """

    left: str
    right: str
    columns: Mapping[str, str]
    right_columns: tuple[str, ...]
    order: tuple[Text, ...]
    number: int


def grouped_pairs(
    clause: JoinClause, pairs: Pairs, source: Source, edits: Sequence[Edit], calls: Sequence[Call]
) -> Text:
    """The query of the struct `left_struct` of each left row and of its `aggregate_columns`. `edits`: those that
    rewrite the join on its range."""
    row, mark = f"__sqlext_row{pairs.number}", f"__sqlext_partner{pairs.number}"
    before = [
        Edit(clause.left.start, clause.left.start, f"(SELECT *, monotonically_increasing_id() AS {row} FROM "),
        Edit(clause.left.stop, clause.left.stop, f") AS {pairs.left}"),
        Edit(clause.right.stop, clause.right.stop, f") AS {pairs.right}"),
    ]
    after = [Edit(clause.right.start, clause.right.start, f"(SELECT *, true AS {mark} FROM ")]
    assert clause.on is not None
    joined = source.edited([*before, *edits, *after]).slice(clause.left.start, clause.on.stop)
    fields = ", ".join(f"{pairs.left}.{column} AS {name}" for name, column in pairs.columns.items())
    names = aggregate_columns(calls)
    named = [
        join(_value(call, pairs.order, mark if clause.join_type == "LEFT" else ""), f" AS {name}")
        for call, name in zip(calls, names)
    ]
    return sql(
        "SELECT any_value(struct({fields})) AS {left}, {named} FROM {joined} GROUP BY {row}",
        fields=fields, left=left_struct(pairs.number), named=named, joined=joined, row=row,
    )  # fmt: skip


def grouped_pairs_with_prevailing(
    clause: JoinClause,
    pairs: Pairs,
    source: Source,
    range_: TimeRange,
    times: Mapping[str, Text],
    calls: Sequence[Call],
) -> Text:
    """As `grouped_pairs`, with the last pair before each range, which is found among all earlier pairs. `times`: the
    texts of TIME, LOWER and UPPER."""
    row, mark = f"__sqlext_row{pairs.number}", f"__sqlext_partner{pairs.number}"
    is_in, rank = f"__sqlext_in{pairs.number}", f"__sqlext_rank{pairs.number}"
    left, right = left_struct(pairs.number), f"__sqlext_right{pairs.number}"
    time, lower, upper = (join("(", times[name], ")") for name in (TIME, LOWER, UPPER))
    within = join(time, " > " if range_.excludes_lower else " >= ", lower, " AND ", time,
                  " < " if range_.excludes_upper else " <= ", upper)  # fmt: skip
    others = [join("(", source.of(c), ")") for c in clause.conjuncts if c not in range_.conjuncts]
    earlier = join("(", within, " OR (", time, " < ", lower, " AND ", upper, " IS NOT NULL))")
    keys = join(f"{row}, {is_in}")
    joined = sql(
        "SELECT struct({lefts}) AS {left}, struct({rights}) AS {right}, {row}, {within} AS {is_in}, {order} FROM"
        " (SELECT *, monotonically_increasing_id() AS {row} FROM {from_left}) AS {l}"
        " {words} (SELECT *, true AS {mark} FROM {from_right}) AS {r} ON {on}",
        lefts=[f"{pairs.left}.{column} AS {name}" for name, column in pairs.columns.items()], left=left,
        rights=[f"{pairs.right}.{column} AS {column}" for column in (*pairs.right_columns, mark)], right=right, row=row,
        within=within, is_in=is_in, order=[join(o, f" AS __sqlext_order{i}") for i, o in enumerate(pairs.order)],
        from_left=source.of(clause.left), l=pairs.left, words="LEFT JOIN" if clause.join_type == "LEFT" else "JOIN",
        mark=mark, from_right=source.of(clause.right), r=pairs.right, on=join(*others, earlier, separator=" AND "),
    )  # fmt: skip
    names = aggregate_columns(calls)
    named = [
        join(_value(call, pairs.order, mark if clause.join_type == "LEFT" else ""), f" AS {name}")
        for call, name in zip(calls, names)
    ]
    return sql(
        "SELECT any_value({left}) AS {left}, {named} FROM (SELECT *, row_number() OVER (PARTITION BY {keys} ORDER BY"
        " {order}) AS {rank} FROM ({joined})) CROSS JOIN LATERAL (SELECT {lefts}) AS {l}"
        " CROSS JOIN LATERAL (SELECT {rights}) AS {r} WHERE {is_in} OR {rank} = 1 GROUP BY {row}",
        left=left, named=named, keys=keys, order=[f"__sqlext_order{i} DESC" for i in range(len(pairs.order))],
        rank=rank, joined=joined, lefts=[f"{left}.{name} AS {column}" for name, column in pairs.columns.items()],
        l=pairs.left, rights=[f"{right}.{column} AS {column}" for column in (*pairs.right_columns, mark)],
        r=pairs.right, is_in=is_in, row=row,
    )  # fmt: skip


def left_struct(number: int) -> str:
    return f"__sqlext_left{number}"


def _value(call: Call, order: Sequence[Text], mark: str) -> Text:
    """The aggregate of the pairs on which the column `mark`, if any, is true: a row without a partner has none.
    Values are in the order of the right times."""
    conditions: list[TextLike] = [mark] if mark else []
    conditions += [] if call.filter is None else [join("(", call.filter, ")")]
    if not _reads_time(call):
        return call.filtered(conditions)
    value, key = call.arguments[0], join("struct(", join(*order, separator=", "), ")")
    is_list, nulls = call.function in ("array_agg", "collect_list"), call.syntax.nulls
    skips_nulls = nulls == "IGNORE" or [str(a).strip().lower() for a in call.arguments[1:]] == ["true"]
    if skips_nulls or (is_list and nulls != "RESPECT"):
        conditions.append(join("(", value, ") IS NOT NULL"))
    filter_ = _filter_text(conditions)
    if is_list:
        rows = join("collect_list(struct(", key, " AS k, ", value, " AS v))", filter_)
        return join("transform(array_sort(", rows, "), e -> e.v)")
    return join("max_by(" if call.function == "last_value" else "min_by(", value, ", ", key, ")", filter_)


def _filter_text(conditions: Sequence[TextLike]) -> Text:
    return join(" FILTER (WHERE ", join(*conditions, separator=" AND "), ")") if conditions else Text()


def _reads_time(call: Call) -> bool:
    """Whether the value depends on the order of the rows, which is that of the right times."""
    named = ("first_value", "last_value", "any_value", "array_agg", "collect_list")
    return call.function in named and not call.syntax.is_distinct and AGGREGATES[call.function].reads_order


def result_sql(relation: TextLike, own: str, left: str, columns: Mapping[str, str], names: Sequence[str]) -> Text:
    """The relation that replaces the join: the left row's columns under its own name, then the aggregates. `columns`:
    the left columns, quoted, by the expressions that compute them; `names`: the names of the aggregates, quoted."""
    lefts = ", ".join(f"{own}.{of} AS {column}" for of, column in columns.items())
    aggregates = ", ".join(f"{own}.{of} AS {name}" for of, name in zip(aggregate_columns(names), names))
    return join(
        relation, f" AS {own}\nCROSS JOIN LATERAL (SELECT {lefts}) AS {left}\n"
        f"CROSS JOIN LATERAL (SELECT {aggregates}) AS {own}_aggregates",
    )  # fmt: skip


def aggregate_columns(aggregates: Sequence[object]) -> list[str]:
    """The columns of the aggregates before they have their names."""
    return [f"__sqlext_aggregate{i}" for i in range(len(aggregates))]
