"""Lowers a query that EMITs, with what may be around EMIT, to its plan.

The plan has three steps: the columns that Spark computes for each row, the aggregates of a firing, and the columns that
Spark computes from these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from sqlext.aggregates.bind import bind_aggregate
from sqlext.aggregates.registry import AGGREGATES, ALIASES, COMPUTED, unknown_aggregate
from sqlext.errors import BindError, Place, UnsupportedError
from sqlext.expressions.function import SPARK_DEFAULTS, ExecutionSettings
from sqlext.expressions.spark_types import COLLATED, FLOATS, LTZ, decimal_of, in_sql
from sqlext.operators.emit.parts import (
    AGGREGATE,
    END,
    FIRING,
    KEEP_DELTA,
    ROWTIME,
    SESSION,
    START,
    TIMING,
    Emit,
    Evictor,
    FiringAggregate,
    Trigger,
)
from sqlext.rewriter.conditions.condition_parts import TypeResolver
from sqlext.rewriter.emit.durations import as_timestamp, duration, number_type, threshold, time_type
from sqlext.rewriter.emit.emit_clause import EmitClause, EmitPart
from sqlext.rewriter.emit.select_items import SelectItem
from sqlext.rewriter.emit.window_relations import WINDOW_KEYS
from sqlext.rewriter.emit.window_tvf import check_session_keys
from sqlext.rewriter.scalars.aggregate_syntax import AggregateSyntax, parts_of_text, read_aggregate
from sqlext.rewriter.scalars.references import FIELD_MARKS, Scope, Words, lambda_parameter
from sqlext.rewriter.scalars.scalar_keys import RowValue, check_no_copies, check_scalar
from sqlext.rewriter.scalars.struct_fields import field_naming
from sqlext.rewriter.text.and_list import and_list
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import BEFORE_ALL_COLUMNS, lexemes, names_in
from sqlext.rewriter.text.names import column_name, only_column, quoted, unquoted
from sqlext.rewriter.text.paths import words_of_paths
from sqlext.rewriter.text.splice import Source, Text, join, standing_for
from sqlext.rewriter.text.where import where as where_text

TIME, KEY, ARGUMENT = "__time", "__key", "__argument"
# The columns of a firing: the user's name of each, and its text over the columns that workers return.
KNOWN = {
    "window_start": START,
    "window_end": END,
    "window_time": f"({END} - INTERVAL '0.000001' SECOND)",
    "window_firing": FIRING,
    "window_timing": TIMING,
    "window_rowtime": ROWTIME,
}
_GROUPINGS = ("", "ROLLUP", "CUBE", "GROUPING")


@dataclass(frozen=True, kw_only=True)
class EmitPlan:
    """The plan of a query that EMITs.

    `columns` are pairs (name, text) that Spark computes on each row of `relation`, which has the user's WHERE: first
    the keys (`keys` is their number; `float_keys` are those of type FLOAT or DOUBLE, with their types), then the time,
    then the columns that aggregates and DELTA read; `deltas` are the expressions of DELTA by their columns. `data` is
    the relation without the WHERE, and `where` has each member of its AND: (as written, text for Spark). `durations`
    are the durations of the window function in microseconds. `shown` are pairs (name, text) that Spark computes on each
    firing for which `having` holds. `input_types` are the columns of the data with their types. `settings` are the
    session's.
    """

    clause: EmitClause
    relation: Text
    keys: int
    float_keys: Mapping[str, str]
    columns: tuple[tuple[str, Text], ...]
    durations: Mapping[str, int]
    deltas: Mapping[str, Text]
    emit: Emit
    aggregates: tuple[FiringAggregate, ...]
    shown: tuple[tuple[str, Text], ...]
    having: Text | None
    data: Text
    where: tuple[tuple[str, Text], ...] = ()
    input_types: tuple[tuple[str, str], ...] = ()
    settings: ExecutionSettings = SPARK_DEFAULTS


def lower_emit(
    clause: EmitClause,
    source: Source,
    columns: Sequence[tuple[str, str]],
    resolver: TypeResolver,
    watermark: str | None = None,
    is_aggregate: Callable[[str], bool] = lambda name: False,
) -> EmitPlan:
    """The plan of a query over data with these columns, each with its Spark type.

    `watermark` is the column that has a watermark, if there is one; `is_aggregate`: whether a function (in lower case,
    not in AGGREGATES) is an aggregate.

    Raises BindError (WINDOW_TIME, WINDOW_DURATION, DELTA_THRESHOLD, EMIT_GROUP_BY) and UnsupportedError.
    """
    names = tuple(name for name, _ in columns)
    lowering = _EmitLowering(
        clause=clause,
        source=source,
        names=names,
        resolver=resolver,
        watermark=watermark,
        is_aggregate=is_aggregate,
    )
    return replace(lowering.plan(), input_types=tuple(columns))


@dataclass(kw_only=True)
class _EmitLowering:
    clause: EmitClause
    source: Source
    names: tuple[str, ...]
    resolver: TypeResolver
    watermark: str | None
    is_aggregate: Callable[[str], bool]
    columns: list[tuple[str, Text]] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)  # the text of a key in lower case → its column
    aggregates: list[FiringAggregate] = field(default_factory=list)
    deltas: dict[str, Text] = field(default_factory=dict)
    aliases: Mapping[str, Fragment] = field(default_factory=dict)  # the items of the select list that HAVING may name

    def plan(self) -> EmitPlan:
        clause, call = self.clause, self.clause.call
        self._check_no_star()
        self._add_keys()
        n = len(self.columns)
        types = self.resolver.types([text for _, text in self.columns])
        float_keys = {name: of for (name, _), of in zip(self.columns, types) if of in FLOATS}
        self.columns.append((TIME, self._time()))
        triggers = tuple(Trigger(*self._part(part)) for part in clause.triggers if part.amount is not None)
        evictor = Evictor(*self._part(clause.evictor)) if clause.evictor else None
        shown = tuple((self._name(item), self._over_firing(item.expression)) for item in clause.items)
        self.aliases = {unquoted(i.alias.text).lower(): i.expression for i in clause.items if i.alias is not None}
        having = None if clause.having is None else self._over_firing(clause.having)
        relation = data = call.data_as(clause.alias, self.source)
        where: Sequence[Fragment] = ()
        if clause.where is not None:
            relation, where = join(data, "\n ", where_text(self.source.of(clause.where))), and_list(clause.where)
        return EmitPlan(
            clause=clause,
            relation=relation,
            keys=n,
            float_keys=float_keys,
            columns=tuple(self.columns),
            durations={
                name: duration(d, self.source, self.resolver, least=None if name == "OFFSET" else 1)
                for name, d in call.durations.items()
            },
            deltas=self.deltas,
            emit=Emit(
                triggers=triggers,
                is_discarding=clause.is_discarding,
                lateness=duration(clause.lateness, self.source, self.resolver, least=0) if clause.lateness else 0,
                evictor=evictor,
            ),
            aggregates=tuple(self.aggregates),
            shown=shown,
            having=having,
            data=data,
            where=tuple((part.in_line, self.source.of(part)) for part in where),
        )

    def _normal(self, fragment: Fragment) -> str:
        """The words of an expression without the alias before columns, to compare it with a key."""
        parts = lexemes(fragment)
        paths = words_of_paths([part.raw for part in parts])
        words = [word.raw if word.is_literal or i in paths else word.raw.lower() for i, word in enumerate(parts)]
        words = [word if part.is_literal else word.strip("`") for word, part in zip(words, parts)]
        alias = [unquoted(self.clause.alias).lower(), "."]
        starts = [i for i, part in enumerate(parts) if part.is_name and words[i : i + 2] == alias]
        return " ".join(word for i, word in enumerate(words) if i not in starts and i - 1 not in starts)

    # the columns of rows

    def _time(self) -> Text:
        time = self.clause.call.time
        if time is None:  # GLOBAL_WINDOW: rows are in the order of the watermark's column, if there is one
            return join(quoted(self.watermark) if self.watermark else f"{LTZ} '1970-01-01 00:00:00'")
        text = self.source.of(time)
        return as_timestamp(text, time_type(time, self.source, self.resolver))

    def _add_keys(self) -> None:
        windows = set()
        for key in self.clause.keys:
            expression = self._key_expression(key)
            name = unquoted(_last_name(expression)).lower()
            if name in WINDOW_KEYS:
                windows.add(name)
                continue
            if self._is_of_window(expression):
                continue
            if key.text.upper() == "ALL":
                raise BindError(
                    "EMIT_GROUP_BY",
                    "the select list has no keys for GROUP BY ALL",
                    place=key.place,
                    hint="write GROUP BY window_start, window_end.",
                )
            if key.text.split("(")[0].split(" ")[0].upper() in _GROUPINGS:
                raise UnsupportedError(
                    "EMIT_GROUP_BY",
                    f"GROUP BY {key.text} is not supported in a query that EMITs",
                    place=key.place,
                    hint="write the expressions themselves.",
                )
            self._check_scalar("GROUP BY", expression)
            self._check_spelling(expression)
            column = f"{KEY}{len(self.columns)}"
            self.columns.append((column, self.source.of(expression)))
            self.keys[self._normal(expression)] = column
            if not key.text.isdigit():
                self.keys[self._normal(key)] = column
        self._check_session_keys()
        if not windows & {"window_start", "window_end"} and self.clause.call.time is not None:
            place = self.clause.keys[-1].place
            raise BindError(
                "EMIT_GROUP_BY",
                "the windows are not in GROUP BY",
                place=place,
                hint="write GROUP BY …, window_start, window_end.",
            )

    def _check_scalar(self, where: str, *expressions: Fragment) -> None:
        check_scalar([RowValue(where, e) for e in expressions], self.source, self.is_aggregate)

    def _check_spelling(self, key: Fragment) -> None:
        """Raise BindError for a key that reads one of several columns whose names differ only in case."""
        named = names_in(key)
        read = sorted({name for name in self.names if name.lower() in named})
        if len(read) > len({name.lower() for name in read}):
            raise BindError(
                "DUPLICATE_COLUMN",
                f"this key reads one of several columns whose names differ only in case: {', '.join(read)}",
                place=key.place,
                hint="name the columns in a subquery: TABLE (SELECT x AS other, … FROM …).",
            )

    def _check_no_star(self) -> None:
        star = next((item for item in self.clause.items if item.expression.text.endswith("*")), None)
        if star is not None:
            raise BindError(
                "EMIT_GROUP_BY",
                "a query that EMITs cannot SELECT *",
                place=star.expression.place,
                hint="name the keys, the columns of the window and aggregates.",
            )

    def _is_of_window(self, key: Fragment) -> bool:
        """Whether the key is an expression over the columns of the window, so that the window determines its value."""
        words = self._words(key)
        named = (i for i, part in enumerate(words.parts) if part.is_name)
        names = [i for i in named if unquoted(words.raw(i)).lower() in WINDOW_KEYS]
        others = [i for i in range(len(words.parts)) if words.is_column(i) and i + 2 not in names]
        if names and others:
            raise UnsupportedError(
                "EMIT_GROUP_BY",
                "a key of a query that EMITs cannot combine columns of rows and of the window",
                place=key.place,
                hint="write the columns as keys, and the expression in the select list.",
            )
        return bool(names)

    def _check_session_keys(self) -> None:
        if self.clause.call.kind == SESSION:
            keys = [self._key_expression(key) for key in self.clause.keys]
            others = [key for key in keys if self._normal(key) not in WINDOW_KEYS]
            check_session_keys(self.clause.call, others, self._normal, self.clause.keys[0].place)

    def _key_expression(self, key: Fragment) -> Fragment:
        """The key, or the expression of the select list to which the key refers by its number or its alias."""
        items = self.clause.items
        if key.text.isdigit():
            if not 1 <= int(key.text) <= len(items):
                raise BindError("EMIT_GROUP_BY", f"the select list has no column {key.text}", place=key.place)
            return items[int(key.text) - 1].expression
        name = unquoted(key.text).lower()
        if name in map(str.lower, self.names):
            return key
        aliased = (i.expression for i in items if i.alias is not None and unquoted(i.alias.text).lower() == name)
        return next(aliased, key)

    def _column(self, text: Text) -> str:
        for name, known in self.columns:
            if str(known) == str(text):
                return name
        name = f"{ARGUMENT}{len(self.columns)}"
        self.columns.append((name, text))
        return name

    def _part(self, part: EmitPart) -> tuple[str, float, str, int]:
        """The fields of a Trigger or an Evictor."""
        assert part.amount is not None
        if part.is_of_rows:
            return part.kind, int(part.amount.text), "", 0
        if part.expression is None:
            return part.kind, duration(part.amount, self.source, self.resolver), "", 0
        self._check_scalar("DELTA", part.expression)
        kind = number_type(part.expression, self.source, self.resolver, "DELTA_TYPE")
        amount = threshold(part.amount, self.source, self.resolver, is_positive=part.kind == KEEP_DELTA)
        written = self.source.of(part.expression)
        number = join("CAST(", written, " AS DOUBLE)")
        _, scale = decimal_of(kind) or (0, 0)
        if scale:  # whole numbers, since differences of decimal fractions are not exact as DOUBLE
            amount = float(Decimal(repr(amount)).scaleb(scale))
            number = join("round(", number, f" * 1e{scale}D)")
        column = self._column(number)
        self.deltas[column] = written
        return part.kind, amount, column, scale

    # the columns of firings

    def _name(self, item: SelectItem) -> str:
        """The name of a column of the result, as Spark would choose it for a column or a call."""
        if item.alias is not None:
            return unquoted(item.alias.text)
        return column_name(item.expression.text)

    def _over_firing(self, expression: Fragment) -> Text:
        """The expression over the columns of a firing: keys, aggregates and columns of the window are replaced."""
        key = self.keys.get(self._normal(expression))
        if key is not None:
            return standing_for(key, expression.start)
        words = self._words(expression)
        return self._rendered(words, expression)

    def _words(self, expression: Fragment) -> Words:
        return Words(lexemes(expression, self.source), Scope(source=self.source, variables={}, columns=self.names))

    def _rendered(self, words: Words, expression: Fragment) -> Text:
        pieces: list[Text] = []
        at, i, stop = expression.start, 0, len(words.parts)
        named = field_naming(words.parts)
        while i < stop:
            text, after = self._replacement(words, i)
            if text is not None:
                first, end = words.parts[i].start, words.parts[after - 1].stop
                column = only_column(self.source.text[first:end])
                pieces += [self.source.slice(at, first), named(text, first, end, column)]
                at = end
            i = after
        return join(*pieces, self.source.slice(at, expression.stop))

    def _replacement(self, words: Words, i: int) -> tuple[Text | None, int]:
        """The replacement of the words that begin at i, or None if they are unchanged, and the index after them."""
        is_other_name = words.word(i - 1) in (*FIELD_MARKS, "AS", "::") or words.raw(i + 1) == "=>"
        if is_other_name or words.parts[i].declared_at is not None:
            return None, i + 1  # the name of a field, a type, an argument or a parameter of a lambda
        for length in range(len(words.parts) - i, 0, -1):  # the longest key that begins here
            fragment = words.fragment(i, i + length)
            key = self.keys.get(self._normal(fragment))
            if key is not None and words.outer_parameter(i, i + length) is None:
                return standing_for(key, words.parts[i].start), i + length
        if words.is_subquery(i):
            return None, words.closing(i) + 1  # Spark computes it
        if words.raw(i) == "*" and words.word(i - 1) in BEFORE_ALL_COLUMNS:
            raise BindError(
                "MISPLACED_STAR",
                "* means the columns of a row, and a query that EMITs returns groups",
                place=words.place(i, i + 1),
                hint="write array_agg(struct(*)) for the rows, or name the keys and aggregates.",
            )
        name = unquoted(words.raw(i)).lower()
        if not words.parts[i].is_name:
            return None, i + 1
        if words.raw(i + 1) == "." and unquoted(words.raw(i + 2)).lower() in KNOWN:
            return standing_for(KNOWN[unquoted(words.raw(i + 2)).lower()], words.parts[i].start), i + 3
        if name in KNOWN and words.raw(i + 1) != "(":
            return standing_for(KNOWN[name], words.parts[i].start), i + 1
        check_no_copies(words, i, "SELECT of a query that EMITs")
        is_call = words.raw(i + 1) == "("
        is_aggregate = is_call and (name in AGGREGATES or name in ALIASES or self.is_aggregate(name))
        if is_aggregate and words.word(read_aggregate(words, i).stop) != "OVER":  # OVER: Spark computes it over firings
            return self._aggregate(words, i)
        if name in self.aliases and name not in map(str.lower, self.names) and words.raw(i + 1) != "(":
            return join("(", self._over_firing(self.aliases[name]), ")"), i + 1
        if words.is_column(i):
            place = words.place(i, i + 1)
            raise BindError(
                "EMIT_GROUP_BY",
                f"{words.raw(i)} is neither in GROUP BY nor in an aggregate",
                place=place,
                hint=f"write GROUP BY {words.raw(i)}, …, or any_value({words.raw(i)}).",
            )
        return None, i + 1

    def _aggregate(self, words: Words, i: int) -> tuple[Text, int]:
        name = unquoted(words.raw(i)).lower()
        function = ALIASES.get(name, name)
        syntax = read_aggregate(words, i)
        parameter = words.outer_parameter(i, syntax.stop)
        if parameter is not None:
            raise lambda_parameter(words.raw(parameter), words.raw(i), words.place(parameter, parameter + 1))
        if function not in COMPUTED:
            raise unknown_aggregate(function, words.place(i, syntax.stop))
        for lo, hi in (*syntax.arguments, *(part.key for part in syntax.order_by), *filter(None, [syntax.filter])):
            if lo < hi:
                self._check_scalar(name, words.fragment(lo, hi))
        lowered = self._lowered(function, syntax, words, i)
        if lowered not in self.aggregates:
            self.aggregates.append(lowered)
        text = f"{AGGREGATE}{self.aggregates.index(lowered)}"
        return standing_for(text, words.parts[i].start), syntax.stop

    def _check_collations(self, arguments: Sequence[Text], function: str, place: Place | None) -> None:
        """Raise UnsupportedError for an argument that only Spark compares."""
        for spark_type in self.resolver.types(arguments):
            if COLLATED in spark_type:
                raise UnsupportedError(
                    "TYPE_OF_EXPRESSION",
                    f"{function} in a query that EMITs cannot take {spark_type}",
                    place=place,
                    hint="CAST it AS STRING.",
                )

    def _lowered(self, function: str, syntax: AggregateSyntax, words: Words, i: int) -> FiringAggregate:
        parts = parts_of_text(syntax, words.slice, words.place(i, syntax.stop))
        call = words.slice(i, syntax.call_stop)
        if syntax.order_by and not syntax.is_within_group:  # Spark does not know ORDER BY here
            call = join(words.slice(i, i + 1), "(", join(*parts.arguments, separator=", "), ")")
        (result,) = self.resolver.types([call])  # Spark reports errors of the call
        bound, arguments = bind_aggregate(function, parts, self.resolver, result)
        if function != "count" or bound.is_distinct:
            self._check_collations(arguments, function, parts.place)
        types = zip(arguments, self.resolver.types(arguments), bound.column_types)
        return FiringAggregate(
            call=bound,
            columns=tuple(self._column(_as_type(text, own, kind)) for text, own, kind in types),
            filter="" if parts.filter is None else self._column(parts.filter),
            place=parts.place,
        )


def _as_type(text: Text, own: str, kind: str) -> Text:
    return text if own == kind else join("CAST(", text, f" AS {in_sql(kind)})")


def _last_name(fragment: Fragment) -> str:
    words = lexemes(fragment)
    return words[-1].raw if len(words) in (1, 3) else ""
