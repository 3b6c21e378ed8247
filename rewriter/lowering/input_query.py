"""The input of a clause and the query over it that Spark computes before the match: its columns, keys and order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sqlext.aggregates.registry import AGGREGATES
from sqlext.errors import UnsupportedError
from sqlext.expressions.function import SPARK_DEFAULTS, ExecutionSettings
from sqlext.expressions.python_functions import PythonFunction
from sqlext.expressions.spark_types import has_plain_equality, is_orderable
from sqlext.pattern.task.task import Aggregate, Navigation
from sqlext.rewriter.conditions.condition_parts import TypeResolver
from sqlext.rewriter.lowering.match_plan import InputColumn, ShownColumn
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.scalars.references import Reference, Scope, unknown_column
from sqlext.rewriter.scalars.scalar_keys import AGGREGATE, RowValue, check_scalar
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import Lexeme, lexemes, names_in
from sqlext.rewriter.text.names import quoted
from sqlext.rewriter.text.splice import Source, Text, join

Groups = dict[str, list[tuple[str, str]]]  # partition, order, rest: (shown name, column of the input query)


@dataclass(frozen=True, kw_only=True)
class InputRelation:
    """The columns of a clause's input with their Spark types, in order, and other facts about the input.

    `is_aggregate`: whether the function of a name is an aggregate. `python_function`: the session's UDF of a name.
    `is_static`: no Spark is available to compute scalars (`sqlext_match`), so only columns can be read.
    `takes_start_bounds`: conjuncts of DEFINE may become bounds. `unread`: the columns of the clause's result, in lower
    case, that nothing reads. `is_streaming`: the rows never end, and Spark has no window functions over them.
    `shown`: the columns, in lower case, that the query around a window shows; `ambiguous`: the columns that several
    relations have. `chars`: the lengths of the CHAR columns. `is_grouped`: the rows are the groups of a GROUP BY, whose
    aggregates are values of these rows.
    """

    columns: tuple[tuple[str, str], ...]
    resolver: TypeResolver
    is_aggregate: Callable[[str], bool]
    python_function: Callable[[str], PythonFunction | None] = lambda name: None
    settings: ExecutionSettings = SPARK_DEFAULTS
    is_static: bool = False
    takes_start_bounds: bool = True
    is_streaming: bool = False
    unread: frozenset[str] = frozenset()
    shown: frozenset[str] = frozenset()
    ambiguous: frozenset[str] = frozenset()
    chars: Mapping[str, int] = field(default_factory=dict)
    is_grouped: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)


@dataclass(kw_only=True)
class Context:
    """The state that all parts of a lowering share; they add `columns` of the input query as they need them.

    `needs_times`: workers report when each result is decided, so
    they must evaluate all conditions themselves. `needs_cep`: the clause requires more than preferred matches of
    neighbouring rows, so it becomes a CepTask. `leaves_frame`: whether a reference in the condition of a label can
    reach a row beyond the frame of a window.
    """

    clause: MatchClause
    source: Source
    relation: InputRelation
    needs_times: bool = False
    needs_cep: bool = False
    leaves_frame: Callable[[Reference, int], bool] = lambda reference, label: False
    columns: list[InputColumn] = field(default_factory=list)

    @cached_property
    def label_sets(self) -> dict[str, tuple[int, ...]]:
        """The labels of each variable and SUBSET."""
        label_sets: dict[str, tuple[int, ...]] = {key: (i,) for i, key in enumerate(self.clause.labels)}
        for subset in self.clause.subsets:
            label_sets[subset.name.key] = tuple(sorted({i for m in subset.members for i in label_sets[m.key]}))
        return label_sets

    def scope(self, *, in_define: bool) -> Scope:
        return Scope(
            source=self.source,
            variables=self.label_sets,
            columns=self.relation.names,
            is_aggregate=self.relation.is_aggregate,
            in_define=in_define,
        )

    def labels(self, reference: Reference) -> tuple[int, ...] | None:
        return None if reference.variable is None else self.label_sets[reference.variable]

    def navigation(self, reference: Reference, argument: int) -> Navigation:
        return Navigation(
            argument=argument,
            labels=self.labels(reference),
            from_first=reference.from_first,
            offset=reference.offset,
            step=reference.step,
            is_final=reference.is_final,
        )

    def aggregate(self, reference: Reference, argument: int | None) -> Aggregate:
        known = AGGREGATES.get(reference.function)
        function = known.kernel if known is not None and known.kernel else reference.function
        return Aggregate(
            function=function,
            argument=argument,
            labels=self.labels(reference),
            is_distinct=reference.is_distinct,
            is_final=reference.is_final,
        )

    def input_column(self, prefix: str, text: Text) -> str:
        """The name of the column of the input query that computes `text`; it is added if it is missing."""
        for column in self.columns:
            if str(column.text) == str(text):
                return column.name
        name = f"__{prefix}{len(self.columns)}"  # a name that no user has
        self.columns.append(InputColumn(name, text))
        return name

    def column_name(self, fragment: Fragment) -> str | None:
        """The input column if the expression is only a column, or None.

        Raises BindError if the expression is a name that no column has.
        """
        scope, name = self.scope(in_define=False), self._name_of(lexemes(fragment, self.source))
        column = scope.column(name) if name else None
        if name and column is None:
            raise unknown_column(name, scope)
        return column

    def type_of_column(self, fragment: Fragment) -> str | None:
        """The type of the column that an expression is; None if it is none, or one of several relations."""
        column = self._column_of(lexemes(fragment, self.source))
        if column is None or column.lower() in self.relation.ambiguous:
            return None
        return dict(self.relation.columns)[column]

    def char_length(self, text: Text) -> int | None:
        """The length of the CHAR column that a text is, perhaps in parentheses, or None."""
        if not self.relation.chars:
            return None
        words = [x for x in lexemes(Fragment(str(text), 0, len(str(text)))) if x.raw not in "()"]
        return self.relation.chars.get(self._column_of(words) or "")

    def _column_of(self, parts: Sequence[Lexeme]) -> str | None:
        """The input column that an expression is; None for other expressions and for names that no column has."""
        name = self._name_of(parts)
        return self.scope(in_define=False).column(name) if name else None

    def _name_of(self, parts: Sequence[Lexeme]) -> Lexeme | None:
        """The name of the column in `column` or `alias.column`; None for other expressions."""
        if len(parts) not in (1, 3) or not parts[-1].is_name or (len(parts) == 3 and parts[1].raw != "."):
            return None
        qualifier = self.scope(in_define=False).column(parts[0]) if len(parts) == 3 else None
        if qualifier and dict(self.relation.columns)[qualifier].startswith("struct<"):
            return None  # a field of a struct, not alias.column
        return parts[-1]

    def is_local(self, reference: Reference, label: int) -> bool:
        """True if the current row alone, considered as mapped to the tested label, decides what the reference reads."""
        labels = self.labels(reference)
        if self.relation.is_static and reference.step:
            return False
        is_current = not reference.from_first and reference.offset == 0 and (labels is None or label in labels)
        is_read = reference.kind == "navigation" and not (reference.reads_labels or reference.reads_numbers)
        return is_current and (is_read or (reference.kind == "classifier" and reference.step == 0))


def check_keys(context: Context) -> None:
    """Raise BindError (NOT_SCALAR) for keys, and for a bound of the frame, that have not one value for each row."""
    clause, relation = context.clause, context.relation
    values = [RowValue("PARTITION BY", key.expression) for key in clause.partition_by]
    values += [RowValue("ORDER BY", key.expression) for key in clause.order_by]
    if clause.frame is not None and clause.frame.rows is not None:
        values.append(RowValue("FOLLOWING", clause.frame.rows))
    allowed = frozenset({AGGREGATE} if relation.is_grouped else ())
    check_scalar(values, context.source, relation.is_aggregate, allowed)


def partition_by(context: Context) -> tuple[Text, ...]:
    """The PARTITION BY keys; a key that is written twice counts once."""
    texts = [context.source.of(k.expression) for k in context.clause.partition_by]
    return tuple({str(t): t for t in texts}.values())


def keys_need_window(context: Context) -> bool:
    """True if only a window can decide which keys are equal, as for NaN, -0.0 and collated strings.

    Raises UnsupportedError (KEY_TYPE) for such a key if workers must find the partitions themselves, or if its values
    have no order.
    """
    if context.relation.is_static:
        return True
    keys = partition_by(context)
    types = zip(keys, context.relation.resolver.types(keys))
    odd = [(key, key_type) for key, key_type in types if not has_plain_equality(key_type)]
    refused = [each for each in odd if context.needs_times or not is_orderable(each[1])]
    if refused:
        raise _key_type_error(context, *refused[0])
    return bool(odd)


def _key_type_error(context: Context, key: Text, key_type: str) -> UnsupportedError:
    keys = {str(context.source.of(k.expression)): k.expression for k in context.clause.partition_by}
    is_nested = key_type.partition("<")[0] in ("array", "map", "struct")
    what = "a stream, or a clause with MATCH_ROWTIME()," if is_orderable(key_type) else "rows"
    return UnsupportedError(
        "KEY_TYPE",
        f"{what} cannot be partitioned by {key_type}",
        place=keys[str(key)].place,
        hint="write its parts as keys, or to_json(…)." if is_nested else "CAST it AS STRING, or AS DECIMAL.",
    )


def order_by(context: Context) -> tuple[tuple[Text, str], ...]:
    """The ORDER BY keys with their directions, followed by every other column that the clause reads.

    The other columns give rows with equal keys a fixed order. Raises UnsupportedError: KEY_TYPE.
    """
    keys = []
    for key in context.clause.order_by:
        nulls = "" if key.nulls_first is None else (" NULLS FIRST" if key.nulls_first else " NULLS LAST")
        keys.append((context.source.of(key.expression), (" DESC" if key.is_descending else "") + nulls))
    _check_orderable(context)
    columns = _columns_read(context)
    keys_written = [k.expression for k in context.clause.order_by] + [k.expression for k in context.clause.partition_by]
    sorted_by = {expression.text.lower() for expression in keys_written} | context.relation.ambiguous
    ties = [n for n, t in context.relation.columns if n.lower() in columns - sorted_by and is_orderable(t)]
    return tuple([*keys, *((join(quoted(n)), "") for n in ties)]) or ((join("1"), ""),)


def texts_of_order(context: Context) -> list[Text]:
    """The ORDER BY keys that are not columns."""
    keys = (key.expression for key in context.clause.order_by)
    return [context.source.of(key) for key in keys if context.type_of_column(key) is None]


def _check_orderable(context: Context) -> None:
    """Raise UnsupportedError (KEY_TYPE) for an ORDER BY key whose values have no order, such as a map."""
    others = iter([] if context.relation.is_static else context.relation.resolver.types(texts_of_order(context)))
    for key in context.clause.order_by:
        key_type = context.type_of_column(key.expression) or next(others, "")
        if not is_orderable(key_type):
            message = f"rows cannot be ordered by {key_type}"
            hint = "CAST a part of it: ORDER BY CAST(v:ts AS TIMESTAMP)."
            if key_type != "variant":
                hint = "write the parts of it that order the rows: ORDER BY m['ts']."
            raise UnsupportedError("KEY_TYPE", message, place=key.expression.place, hint=hint)


def _columns_read(context: Context) -> set[str]:
    """The names in MEASURES and DEFINE, and for ALL ROWS also the shown columns, all in lower case."""
    fragments = [m.expression for m in context.clause.measures] + [d.condition for d in context.clause.definitions]
    names: set[str] = set().union(*(names_in(f) for f in fragments))
    if context.clause.rows_per_match.is_all_rows:
        names |= {n.lower() for n in context.relation.names} - context.relation.unread
    return names | context.relation.shown


def carried(context: Context) -> tuple[tuple[str, ...], Groups]:
    """The input columns that are shown unchanged, and the pairs (shown name, column) of each group of them."""
    groups: Groups = {"partition": [], "order": [], "rest": []}
    seen: set[str] = set()
    for key in context.clause.partition_by:
        column = context.column_name(key.expression)
        name = key.name.text if key.name else column or key.expression.text
        groups["partition"].append((name, context.input_column("k", context.source.of(key.expression))))
        seen.add((column or "").lower())
    if context.clause.rows_per_match.is_all_rows:
        seen |= context.relation.unread
        for order in context.clause.order_by:
            column = context.column_name(order.expression)
            if column is not None and column.lower() not in seen:
                groups["order"].append((column, context.input_column("o", context.source.of(order.expression))))
                seen.add(column.lower())
        for name in context.relation.names:
            if name.lower() not in seen:
                groups["rest"].append((name, context.input_column("c", join(quoted(name)))))
    names = dict.fromkeys(column for group in groups.values() for _, column in group)
    return tuple(names), groups


def shown(measures: list[tuple[str, Text]], groups: Groups) -> tuple[ShownColumn, ...]:
    """The result's columns in order: partition keys, order keys (ALL ROWS), measures and other columns (ALL ROWS)."""

    def columns(group: str) -> list[ShownColumn]:
        return [ShownColumn(name, join(column)) for name, column in groups[group]]

    return tuple(
        [*columns("partition"), *columns("order"), *(ShownColumn(n, t) for n, t in measures), *columns("rest")]
    )
