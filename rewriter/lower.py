"""From a parsed clause to its plan: labels, columns for Spark to compute, masks, conditions, slots, shown columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sqlext.errors import BindError, SqlExtError, UnsupportedError, raise_all
from sqlext.pattern.ast import Pattern
from sqlext.pattern.columnar import is_columnar
from sqlext.pattern.compile import compile_pattern
from sqlext.pattern.contiguity.nfa_compile import skeleton
from sqlext.pattern.program import Program
from sqlext.pattern.task import (
    CLASSIFIER,
    Aggregate,
    Call,
    Condition,
    MatchTask,
    Navigation,
    Output,
    Skip,
)
from sqlext.rewriter import contiguity
from sqlext.rewriter.clauses import Definition, MatchClause
from sqlext.rewriter.condition import ConditionBuilder, Oracle
from sqlext.rewriter.expression import conjuncts
from sqlext.rewriter.lexemes import lexemes, names_in, quoted
from sqlext.rewriter.plan import (
    IS_MATCHED,
    ROW_TIME,
    WINDOW,
    WITHIN_END,
    WITHIN_KEY,
    Bound,
    InputColumn,
    Mask,
    MatchPlan,
    ShownColumn,
    Slot,
)
from sqlext.rewriter.references import FILTER_PLACE, Item, Reference, Scope, place_of, render, unknown_column
from sqlext.rewriter.scalars import analyse
from sqlext.rewriter.spark_types import INTEGER_BITS, aggregate_type, kind_of
from sqlext.rewriter.splice import Source, Text, join, standing_for
from sqlext.rewriter.start_bounds import Definitions, Key, match_bounds

_RUNNING_DISTINCT = ("count", "sum", "avg", "mean", "min", "max")


@dataclass(frozen=True)
class Input:
    """What is known of a clause's input: its columns and Spark types in order, and what only Spark knows.

    `is_static`: there is no Spark at hand to compute scalars (`sqlext_match`), only columns can be read.
    `takes_start_bounds`: may conjuncts of DEFINE become bounds? `unread`: columns, in lower case, that nothing reads of
    the clause's result. `is_streaming`: the rows never end, and Spark has no window functions over them.
    """

    columns: tuple[tuple[str, str], ...]
    oracle: Oracle
    is_aggregate: Callable[[str], bool]
    is_ansi: bool = True
    is_static: bool = False
    takes_start_bounds: bool = True
    is_streaming: bool = False
    unread: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)


def lower(clause: MatchClause, source: Source, given: Input, strategy: str = "auto") -> MatchPlan:
    """The plan of one clause.

    Raises BindError (names, types), UnsupportedError; the errors of all its expressions together.
    """
    return _Lowering(clause, source, given).plan(strategy)


@dataclass
class _Lowering:
    clause: MatchClause
    source: Source
    given: Input
    columns: list[InputColumn] = field(default_factory=list)
    operands: list[tuple[str, str]] = field(default_factory=list)
    masks: list[Mask] = field(default_factory=list)
    mask_shapes: list[Text] = field(default_factory=list)  # the masks without window functions: of the same type
    slots: list[Slot] = field(default_factory=list)
    bounds: list[Bound] = field(default_factory=list)
    dropped: set[tuple[int, int]] = field(default_factory=set)  # conjuncts that bounds make true
    needs_window: bool = False
    of_all_rows: set[str] = field(default_factory=set)  # measures that unmatched rows have too
    tells_times: bool = False  # does the worker find out when results are decided? Then it sees all conditions itself

    def plan(self, strategy: str) -> MatchPlan:
        clause = self.clause
        self._check_columns_unique()
        labels = tuple(name.key for name in clause.pattern_variables)
        self.label_sets: dict[str, tuple[int, ...]] = {key: (i,) for i, key in enumerate(labels)}
        for subset in clause.subsets:
            members = sorted({i for m in subset.members for i in self.label_sets[m.key]})
            self.label_sets[subset.name.key] = tuple(members)
        program = self._program(clause.pattern, labels)
        self.tells_times = self.given.is_streaming or self._asks_for_rowtime()
        self.needs_window = self._keys_need_window()
        defined = self._definitions()
        self._start_bounds(program, labels, defined)
        bits, conditions = self._conditions(labels, defined)
        measures = self._measures()
        self._within()
        self._row_time()
        carried, shown_rows = self._carried()
        task = MatchTask(program, bits, conditions, self._skip(), self._output(), bool(self.bounds), strategy)
        is_between = clause.within is not None and clause.within.between_rows
        task = replace(task, nfa=contiguity.states(clause, labels), is_between=is_between)
        contiguity.check_times(clause, task)
        return MatchPlan(
            clause,
            self._slice(clause.relation),
            tuple(self.columns),
            carried,
            tuple(self.masks),
            self._partition_by(),
            self._order_by(),
            task,
            tuple(self.operands),
            tuple(self.slots),
            self._shown(measures, shown_rows),
            tuple(self.bounds),
            self.needs_window,
            input_types=self.given.columns,
        )

    def _slice(self, fragment) -> Text:
        return self.source.slice(fragment.start, fragment.stop)

    def _check_columns_unique(self) -> None:
        seen: set[str] = set()
        for name in self.given.names:
            if name.lower() in seen:
                raise BindError(
                    "DUPLICATE_COLUMN",
                    f'the input has two columns "{name}"',
                    place=self.clause.relation.place,
                    hint="name its columns in a subquery, or give the relation column aliases.",
                )
            seen.add(name.lower())

    def _program(self, pattern: Pattern, labels: tuple[str, ...]) -> Program:
        try:
            return compile_pattern(skeleton(pattern), labels)
        except SqlExtError as e:
            raise type(e)(
                e.error_class.removeprefix("SQLEXT_"),
                e.message,
                hint=e.hint,
                place=e.place or self.clause.pattern_text.place,
            ) from None

    # names

    def _scope(self, in_define: bool) -> Scope:
        return Scope(self.source, self.label_sets, self.given.names, self.given.is_aggregate, in_define)

    def _labels(self, reference: Reference) -> tuple[int, ...] | None:
        return None if reference.variable is None else self.label_sets[reference.variable]

    def _navigation(self, reference: Reference, argument: int) -> Navigation:
        return Navigation(
            argument,
            self._labels(reference),
            reference.from_first,
            reference.offset,
            reference.step,
            reference.is_final,
        )

    def _aggregate(self, reference: Reference, argument: int | None) -> Aggregate:
        function = "avg" if reference.function == "mean" else reference.function
        return Aggregate(function, argument, self._labels(reference), reference.is_distinct, reference.is_final)

    def _input_column(self, prefix: str, text: Text) -> str:
        """The name of a column of the input query, made if it is not there."""
        for column in self.columns:
            if str(column.text) == str(text):
                return column.name
        name = f"__{prefix}{len(self.columns)}"  # nobody's own name
        self.columns.append(InputColumn(name, text))
        return name

    # DEFINE

    def _definitions(self) -> dict[str, tuple[Definition, list[Item]]]:
        scope, errors, found = self._scope(in_define=True), [], {}
        for definition in self.clause.definitions:
            try:
                items = analyse(definition.condition, scope)
                contiguity.check_numbers(items, self.clause)
                found[definition.variable.key] = (definition, items)
            except SqlExtError as e:
                errors.append(e)
        raise_all(errors)
        return found

    def _conditions(self, labels, defined) -> tuple[tuple[int | None, ...], tuple[Condition | None, ...]]:
        bits: list[int | None] = []
        conditions: list[Condition | None] = []
        errors: list[SqlExtError] = []
        for label, key in enumerate(labels):
            bit, condition = None, None
            if key in defined:
                try:
                    bit, condition = self._condition(label, *defined[key])
                except SqlExtError as e:
                    errors.append(e)
            bits.append(bit)
            conditions.append(condition)
        raise_all(errors)
        self._check_masks_boolean()
        return tuple(bits), tuple(conditions)

    def _condition(self, label: int, definition: Definition, items: list[Item]) -> tuple[int | None, Condition | None]:
        """The bit of the conjuncts that a row decides alone, and the condition of the others."""
        local: list[tuple[int, int]] = []
        dependent: list[tuple[int, int]] = []
        for lo, hi in conjuncts(items):
            if (label, lo) in self.dropped:
                continue
            is_local = self._is_row_local(items[lo:hi], label) and self._is_seen(items, (lo, hi), label)
            (local if is_local else dependent).append((lo, hi))
        bit = self._bit(items, local, label) if local else None
        if not dependent:
            return bit, None
        return bit, self._built(items, dependent, label)

    def _built(self, items: list[Item], ranges: list[tuple[int, int]], label: int) -> Condition:
        """The conjuncts of these ranges as one condition; what the current row alone decides is left to Spark."""
        builder = ConditionBuilder(
            items,
            self.source,
            self.given.oracle,
            self.given.is_ansi,
            self._navigation,
            self._aggregate,
            self._operand,
            lambda r: r.step == 0 and self._is_local(r, label),
            lambda r: self._local_text(r, label),
            not self.given.is_static,
        )
        whole, *others = [builder.build(lo, hi) for lo, hi in ranges]
        for condition in others:
            whole = Call("and", (whole, condition), "bool")
        return whole

    def _is_row_local(self, items: Sequence[Item], label: int) -> bool:
        """Does Spark compute this conjunct on each row? Without Spark only a Boolean column is such a one."""
        if self.given.is_static:
            return len(items) == 1 and not isinstance(items[0], Reference) and items[0].is_name
        return all(self._is_local(x, label) for x in items if isinstance(x, Reference))

    def _is_seen(self, items: list[Item], conjunct: tuple[int, int], label: int) -> bool:
        """May this conjunct be a mask? Spark's window functions do not tell how far ahead a mask reads."""
        reads = any(isinstance(x, Reference) and x.step for x in items[slice(*conjunct)])
        return not (self.tells_times and reads) or self._neighbours(items, [conjunct], label) is not None

    def _is_local(self, reference: Reference, label: int) -> bool:
        """Does the current row, which counts as mapped to the tested label, decide what the reference reads?"""
        labels = self._labels(reference)
        if self.given.is_static and reference.step:
            return False
        is_current = not reference.from_first and reference.offset == 0 and (labels is None or label in labels)
        return is_current and (
            reference.kind == "navigation" or (reference.kind == "classifier" and reference.step == 0)
        )

    def _local_text(self, reference: Reference, label: int) -> Text:
        if reference.kind == "classifier":
            return standing_for(string_literal(self.clause.pattern_variables[label].key), reference.place.start)
        if reference.step == 0:
            return join("(", reference.arguments[0], ")")
        function = "lag" if reference.step < 0 else "lead"
        # The parentheses keep Spark from reading `OVER __rows - 1` as a name with a hyphen.
        return join(f"({function}(", reference.arguments[0], f", {abs(reference.step)}) OVER {WINDOW})")

    def _bit(self, items: list[Item], ranges: list[tuple[int, int]], label: int) -> int:
        """A new bit for these conjuncts."""

        def text(lo: int, hi: int) -> Text:
            return render(items[lo:hi], self.source, lambda r: self._local_text(r, label))

        def shape(lo: int, hi: int) -> Text:
            return render(items[lo:hi], self.source, lambda r: self._local_text(replace(r, step=0), label))

        reading = [r for r in ranges if any(isinstance(x, Reference) and x.step for x in items[slice(*r)])]
        rest = [text(*r) for r in ranges if r not in reading]
        neighbours = self._neighbours(items, reading, label) if reading else None
        self.needs_window |= bool(reading) and neighbours is None
        self.masks.append(Mask(_all_of([text(*r) for r in ranges]), _all_of(rest or [join("TRUE")]), neighbours))
        self.mask_shapes.append(_all_of([shape(*r) for r in ranges]))
        return len(self.masks) - 1

    def _neighbours(self, items: list[Item], ranges: list[tuple[int, int]], label: int) -> Condition | None:
        """What workers compute of conjuncts with PREV and NEXT; None if that is Spark's to do."""
        if self.needs_window:
            return None
        columns, operands = list(self.columns), list(self.operands)
        try:
            condition = self._built(items, ranges, label)
            if is_columnar(condition):
                return condition
        except SqlExtError:
            pass  # Spark may know how, and will tell the error if not
        self.columns, self.operands = columns, operands
        return None

    def _check_masks_boolean(self) -> None:
        errors: list[SqlExtError] = []
        for text, spark_type in zip(self.mask_shapes, self.given.oracle.types(self.mask_shapes)):
            if spark_type not in ("boolean", "void"):
                start, stop = text.origin(0) or 0, text.origin(len(str(text)) - 1) or 0
                errors.append(
                    BindError(
                        "NOT_A_CONDITION",
                        f"a DEFINE condition must be boolean, this is {spark_type}",
                        place=self._scope(True).place(start, stop + 1),
                    )
                )
        raise_all(errors)

    def _operand(self, text: Text, spark_type: str) -> int:
        name = self._input_column("v", text)
        if (name, spark_type) not in self.operands:
            self.operands.append((name, spark_type))
        return self.operands.index((name, spark_type))

    # MEASURES

    def _measures(self) -> list[tuple[str, Text]]:
        scope, errors, found = self._scope(in_define=False), [], []
        for measure in self.clause.measures:
            try:
                items = analyse(measure.expression, scope)
                self._check_no_free_star(items)
                contiguity.check_mapped(items, self.clause)
                text = render(items, self.source, self._slot_text)
                found.append((measure.name.text, text if len(items) == 1 else join("(", text, ")")))
                kinds = {x.kind for x in items if isinstance(x, Reference)}
                self.of_all_rows |= {measure.name.text} if kinds == {"rowtime"} else set()
            except SqlExtError as e:
                errors.append(e)
        raise_all(errors)
        return found

    def _check_no_free_star(self, items: Sequence[Item]) -> None:
        if len(items) == 1 and not isinstance(items[0], Reference) and items[0].raw == "*":
            raise BindError(
                "MISPLACED_STAR",
                "* is not a measure",
                place=place_of(items, self.source),
                hint="ALL ROWS PER MATCH shows all columns.",
            )

    def _slot_text(self, reference: Reference) -> Text:
        slot = self._slot(reference)
        same = next((s for s in self.slots if replace(s, name="") == slot), None)
        if same is None:
            same = replace(slot, name=f"__s{len(self.slots)}")
            self.slots.append(same)
        return standing_for(same.name, reference.place.start)

    def _slot(self, reference: Reference) -> Slot:
        """What a worker makes for a reference, without a name."""
        if reference.kind in ("match number", "sequence number", "timed out"):
            return Slot("", reference.kind)
        if reference.kind == "rowtime":
            return Slot("", "rowtime", (WITHIN_KEY, WITHIN_END) if self.clause.within else (ROW_TIME,))
        if reference.kind == "classifier":
            return Slot("", "classifier", navigation=self._navigation(reference, CLASSIFIER))
        columns = tuple(self._input_column("a", text) for text in reference.arguments)
        if reference.kind == "navigation":
            return Slot("", "value", columns, self._navigation(reference, 0))
        return self._aggregate_slot(reference, columns)

    def _aggregate_slot(self, reference: Reference, columns: tuple[str, ...]) -> Slot:
        function = reference.function
        is_running = self.clause.rows_per_match.is_all_rows and not reference.is_final
        if reference.is_distinct and is_running and function not in _RUNNING_DISTINCT:
            raise UnsupportedError(
                "RUNNING_DISTINCT",
                f"running {function}(DISTINCT) is not built",
                place=reference.place,
                hint="write FINAL before it, or use count, sum, avg, min or max.",
            )
        if reference.argument_kind == "classifier":
            return self._classifier_aggregate(reference)
        if not columns:
            return Slot("", "aggregate", (), aggregate=self._aggregate(reference, None))
        types = self.given.oracle.types(reference.arguments)
        if len(columns) == 1 and _is_fast(function, types[0], reference.is_distinct):
            return Slot("", "aggregate", columns, aggregate=self._aggregate(reference, 0))
        if (
            function in ("array_agg", "collect_list")
            and len(columns) == 1
            and len(reference.call) == 4  # nothing but `name(argument)`
            and not reference.is_distinct
        ):
            return Slot("", "array", columns, aggregate=self._aggregate(reference, 0))
        self.given.oracle.types([_plain_call(reference)])  # an error is told in the user's names
        return Slot("", "members", columns, aggregate=self._aggregate(reference, 0), call=reference.call)

    def _classifier_aggregate(self, reference: Reference) -> Slot:
        if reference.function in ("array_agg", "collect_list") and not reference.is_distinct:
            return Slot("", "array", (), aggregate=self._aggregate(reference, CLASSIFIER))
        if reference.function == "count" and not reference.is_distinct:
            return Slot("", "aggregate", (), aggregate=self._aggregate(reference, None))
        raise UnsupportedError(
            "CLASSIFIER_AGGREGATE",
            f"{reference.function} of CLASSIFIER() is not built",
            place=reference.place,
            hint="use array_agg(CLASSIFIER()) and an array function around it.",
        )

    # the rest of the clause

    def _skip(self) -> Skip:
        after = self.clause.after_match
        if after is None:
            return Skip()
        labels = self.label_sets[after.target.key] if after.target else ()
        return Skip(after.mode, labels, after.else_next_row)

    def _output(self) -> Output:
        rows = self.clause.rows_per_match
        return Output(rows.is_all_rows, rows.empty != "OMIT", rows.empty == "UNMATCHED", rows.shows_timeouts)

    # bounds

    def _within(self) -> None:
        within = self.clause.within
        if within is None:
            return
        key = self._slice(self.clause.order_by[0].expression)
        end = join("(", key, ") + ", self._slice(within.bound))
        key_type, common = self._bound_types(key, end)
        if not common:
            raise BindError(
                "WITHIN_TYPE",
                f"WITHIN needs a time or a number as the first ORDER BY key, this is {key_type}",
                place=within.bound.place,
            )
        self._bound(Bound(is_inclusive=within.is_inclusive, admits_start=within.between_rows), key, end, common)

    def _bound_types(self, key: Text, end: Text) -> tuple[str, str]:
        """The type of the key, and the one in which it is compared with the end; "" if matchers cannot."""
        key_type, common = self.given.oracle.types([key, join("coalesce(", key, ", ", end, ")")])
        is_number = all(kind_of(t) in ("int", "float") for t in (key_type, common))
        return key_type, common if is_number else ""

    def _bound(self, bound: Bound, key: Text, end: Text, common: str) -> None:
        self.bounds.append(bound)
        self.columns.append(InputColumn(bound.key, join("CAST(", key, f" AS {common})")))
        self.columns.append(InputColumn(bound.end, join("CAST(", end, f" AS {common})")))

    def _start_bounds(self, program: Program, labels: tuple[str, ...], defined) -> None:
        """Conjuncts that say how far from its first row a match may reach become bounds, like WITHIN."""
        is_free = self.given.takes_start_bounds and not self.given.is_static
        key = self._key_column() if is_free and not contiguity.needs_states(self.clause) else None
        if key is None or self.tells_times:  # conditions on later rows may be true or false: only WITHIN ends a match
            return
        items = {labels.index(variable): items for variable, (_, items) in defined.items()}
        definitions = Definitions(items, self.label_sets, self._is_local, self.source)
        for found in match_bounds(program, key, definitions, self.given.is_ansi):
            column = join(quoted(key.column))
            try:
                _, common = self._bound_types(column, found.bound.end)
                is_condition = self.given.oracle.types([found.bound.whole]) == ["boolean"]
            except SqlExtError:
                continue  # the conjunct will be told where it stands
            if common and is_condition:
                number = f"_{len(self.bounds)}"
                names = Bound(WITHIN_KEY + number, WITHIN_END + number)
                bound = replace(
                    names,
                    is_inclusive=found.bound.is_inclusive,
                    admits_start=found.admits_start,
                    written=found.bound.written,
                )
                self._bound(bound, column, found.bound.end, common)
                self.dropped |= found.dropped

    def _key_column(self) -> Key | None:
        """The first ORDER BY key, if it is an ascending column."""
        order = self.clause.order_by[0] if self.clause.order_by else None
        if order is None or order.is_descending:
            return None
        try:
            column = self._column_name(order.expression)
        except SqlExtError:
            return None  # Spark will tell
        return Key(column, dict(self.given.columns)[column], order.nulls_first is False) if column else None

    def _partition_by(self) -> tuple[Text, ...]:
        texts = [self._slice(k.expression) for k in self.clause.partition_by]
        return tuple({str(t): t for t in texts}.values())  # a key that is written twice is one

    def _keys_need_window(self) -> bool:
        """Only a window knows when NaN, -0.0 or collated strings are one key."""
        if self.given.is_static:
            return True
        types = self.given.oracle.types(self._partition_by())
        odd = next((t for t in types if not has_plain_equality(t)), None)
        if odd and self.tells_times:
            raise UnsupportedError(
                "KEY_TYPE",
                f"a stream, or a clause with MATCH_ROWTIME(), cannot be partitioned by {odd}",
                place=self.clause.partition_by[0].expression.place,
                hint="CAST it AS STRING, or AS DECIMAL.",
            )
        return odd is not None

    # when results are decided

    def _asks_for_rowtime(self) -> bool:
        return any("match_rowtime" in names_in(m.expression) for m in self.clause.measures)

    def _row_time(self) -> None:
        """The time of each row: the first ORDER BY key, which WITHIN has as a column already."""
        if not self.tells_times:
            return
        order = self.clause.order_by[0] if self.clause.order_by else None
        key_type = self.given.oracle.types([self._slice(order.expression)])[0] if order else ""
        is_time = key_type in (*INTEGER_BITS, "float", "double", "date", "timestamp", "timestamp_ntz")
        if order is None or order.is_descending or not is_time or self.given.is_static:
            raise BindError(
                "ROWTIME_WITHOUT_TIME",
                "MATCH_ROWTIME() is a value of the first ORDER BY key, which must be an ascending time or number",
                place=order.expression.place if order else self.clause.keyword.place,
                hint="write ORDER BY time before MEASURES.",
            )
        if self.clause.within is None:
            self.columns.append(InputColumn(ROW_TIME, self._slice(order.expression)))

    def _order_by(self) -> tuple[tuple[Text, str], ...]:
        """The ORDER BY keys, then the other columns that the query reads, so that ties have one order."""
        keys = []
        for key in self.clause.order_by:
            nulls = "" if key.nulls_first is None else (" NULLS FIRST" if key.nulls_first else " NULLS LAST")
            keys.append((self._slice(key.expression), (" DESC" if key.is_descending else "") + nulls))
        read = self._names_read()
        plain = {str(k.text).lower() for k in map(lambda o: o.expression, self.clause.order_by)}
        plain |= {str(k.expression.text).lower() for k in self.clause.partition_by}
        ties = [n for n, t in self.given.columns if n.lower() in read and n.lower() not in plain and is_orderable(t)]
        return tuple([*keys, *((join(quoted(n)), "") for n in ties)]) or ((join("1"), ""),)

    def _names_read(self) -> set[str]:
        fragments = [m.expression for m in self.clause.measures] + [d.condition for d in self.clause.definitions]
        read: set[str] = set().union(*(names_in(f) for f in fragments))
        if self.clause.rows_per_match.is_all_rows:
            read |= {n.lower() for n in self.given.names} - self.given.unread
        return read

    def _column_name(self, fragment) -> str | None:
        """The input column that an expression is, if it is nothing else."""
        parts = lexemes(fragment, self.source)
        if len(parts) not in (1, 3) or not parts[-1].is_name or (len(parts) == 3 and parts[1].raw != "."):
            return None
        scope = self._scope(False)
        if len(parts) == 3 and (column := scope.column(parts[0])) and dict(self.given.columns)[column][:7] == "struct<":
            return None  # a field, not alias . column
        found = scope.column(parts[-1])
        if found is None:
            raise unknown_column(parts[-1], scope)
        return found

    def _carried(self) -> tuple[tuple[str, ...], dict[str, list[tuple[str, str]]]]:
        """Input columns that are shown as they are, and (shown name, column) of each group."""
        groups: dict[str, list[tuple[str, str]]] = {"partition": [], "order": [], "rest": []}
        seen: set[str] = set()
        for key in self.clause.partition_by:
            column = self._column_name(key.expression)
            name = key.name.text if key.name else column or key.expression.text
            groups["partition"].append((name, self._input_column("k", self._slice(key.expression))))
            seen.add((column or "").lower())
        if self.clause.rows_per_match.is_all_rows:
            for order in self.clause.order_by:
                column = self._column_name(order.expression)
                if column is not None and column.lower() not in seen | self.given.unread:
                    groups["order"].append((column, self._input_column("o", self._slice(order.expression))))
                    seen.add(column.lower())
            for name in self.given.names:
                if name.lower() not in seen | self.given.unread:
                    groups["rest"].append((name, self._input_column("c", join(quoted(name)))))
        carried = dict.fromkeys(column for group in groups.values() for _, column in group)
        return tuple(carried), groups

    def _shown(self, measures: list[tuple[str, Text]], groups) -> tuple[ShownColumn, ...]:
        def rows(group: str) -> list[ShownColumn]:
            return [ShownColumn(name, join(column)) for name, column in groups[group]]

        if self._output().shows_unmatched:
            measures = [
                (name, text if name in self.of_all_rows else join(f"CASE WHEN {IS_MATCHED} THEN ", text, " END"))
                for name, text in measures
            ]
        return tuple([*rows("partition"), *rows("order"), *(ShownColumn(n, t) for n, t in measures), *rows("rest")])


def _all_of(conjuncts: list[Text]) -> Text:
    """c AND d AND …"""
    return conjuncts[0] if len(conjuncts) == 1 else join(*(join("(", c, ")") for c in conjuncts), separator=" AND ")


def _plain_call(reference: Reference) -> Text:
    """An aggregate's call over the rows of the input."""
    parts = (p for p in reference.call if p != FILTER_PLACE)
    return join(*(reference.arguments[p] if isinstance(p, int) else p for p in parts))


def _is_fast(function: str, spark_type: str, is_distinct: bool) -> bool:
    """Is this aggregate computed in the worker?"""
    if function == "count" and not is_distinct:
        return True
    if spark_type.startswith("decimal") or kind_of(spark_type) not in ("int", "float"):
        return False
    return (
        function in ("count", "min", "max", "sum", "avg", "mean") and aggregate_type(function, spark_type) is not None
    )


def has_plain_equality(spark_type: str) -> bool:
    """Are two values one key just if they are the same?"""
    plain = (*INTEGER_BITS, "boolean", "date", "timestamp", "timestamp_ntz", "string", "binary")
    return spark_type in plain or spark_type.startswith("decimal(")


def is_orderable(spark_type: str) -> bool:
    """Can Spark sort values of this type?"""
    return not any(t in spark_type for t in ("map<", "variant", "calendar", "geometry", "geography"))


def string_literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
