"""Lowers the aggregates of MEASURES to slots. The kind of a slot determines what computes the aggregate.

| slot | aggregates | computed by |
|---|---|---|
| aggregate | count, sum, avg, min, max of numbers and times | kernels (`pattern.measures.navigation`) |
| array | array_agg | Arrow |
| fold | the other aggregates of `expressions.aggregates` | workers, row by row |
| members | Spark's other aggregates, users' own, any whose arguments read MATCH_NUMBER() | Spark, on an array of rows |

An argument that reads CLASSIFIER() becomes a column for each label; a worker reads the column for the row's label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sqlext.aggregates.bind import bind_aggregate
from sqlext.aggregates.registry import AGGREGATES, COMPUTED, kernel_result, unknown_aggregate
from sqlext.errors import UnsupportedError
from sqlext.expressions.spark_types import decimal_of, in_sql, kind_of
from sqlext.expressions.values import arrow_type
from sqlext.operators.match.plan import Slot
from sqlext.operators.rows.columns import CLASSIFIER_FIELD
from sqlext.pattern.task.task import CLASSIFIER
from sqlext.rewriter.lowering.input_query import Context
from sqlext.rewriter.scalars.aggregate_syntax import parts_of_reference
from sqlext.rewriter.scalars.references import FILTER_PLACE, Reference, text_and_references
from sqlext.rewriter.scalars.render import render
from sqlext.rewriter.scalars.struct_fields import field_naming
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.splice import Text, join, standing_for

_COLUMN = "\0"  # the place of a column in a text
SlotText = Callable[[Reference], Text]


def aggregate_slot(context: Context, reference: Reference, slot_text: SlotText) -> Slot:
    """The slot of an aggregate, without a name. `slot_text` returns the expression for another reference.

    Raises UnsupportedError, and Spark's errors about names and types.
    """
    if reference.argument_kind == "classifier" and not reference.is_distinct and not reference.nulls:
        if _is_list(reference.function):
            return Slot(kind="array", aggregate=context.aggregate(reference, CLASSIFIER))
        if reference.function == "count":
            return Slot(kind="aggregate", aggregate=context.aggregate(reference, None))
    if not reference.argument_items:
        return Slot(kind="aggregate", aggregate=context.aggregate(reference, None))
    return _AggregateLowering(context, reference, slot_text).slot()


@dataclass
class _AggregateLowering:
    """The lowering of one aggregate with arguments."""

    context: Context
    reference: Reference
    slot_text: SlotText

    def slot(self) -> Slot:
        reference = self.reference
        if reference.reads_numbers:
            return self._members_with_numbers()
        is_plain = len(reference.parameters) <= 1 and not reference.order_by and not reference.nulls
        if is_plain and _is_fast(reference.function, self._types[0], is_distinct=reference.is_distinct):
            return self._slot("aggregate", [self._filtered])
        if is_plain and _is_list(reference.function) and not reference.is_distinct:
            return self._slot("array", [self._filtered])
        if self.context.relation.is_static or not self._is_in_table:
            return self._members()
        return self._fold()

    # arguments

    @cached_property
    def _labels(self) -> tuple[int, ...]:
        """The labels for each of which an argument is a column of its own."""
        if not self.reference.reads_labels:
            return ()
        return self.context.labels(self.reference) or tuple(range(len(self.context.clause.pattern_variables)))

    def _argument(self, i: int, label: int | None) -> Text:
        """Argument i over an input row that has the label; if `label` is None, an expression of the same type."""

        def over_row(part: Reference) -> Text:
            if part.kind != "classifier":
                return part.arguments[0]
            if label is None:
                return standing_for("CAST('' AS STRING)", part.place.start)
            return standing_for(string_literal(self.context.clause.pattern_variables[label].key), part.place.start)

        return render(self.reference.argument_items[i], self.context.source, over_row)

    def _filtered(self, label: int | None) -> Text:
        """The only argument, or NULL where the condition of FILTER does not hold, for aggregates that ignore NULLs."""
        value = self._argument(0, label) if self.reference.parameters else join("TRUE")
        if self.reference.filter is None:
            return value
        return join("CASE WHEN ", self._argument(self.reference.filter, label), " THEN ", value, " END")

    @cached_property
    def _types(self) -> list[str]:
        """The types of all arguments."""
        return self.context.relation.resolver.types([self._argument(i, None) for i in self._every_argument])

    @property
    def _every_argument(self) -> range:
        return range(len(self.reference.argument_items))

    # slots

    def _slot(self, kind: str, texts: list[Callable[[int | None], Text]]) -> Slot:
        """A slot whose columns are `texts`, with one column for each label if they depend on the label."""
        columns = [self.context.input_column("a", text(label)) for text in texts for label in self._labels or (None,)]
        aggregate = self.context.aggregate(self.reference, 0)
        return Slot(kind=kind, columns=tuple(columns), by_label=self._labels, aggregate=aggregate)

    def _members(self) -> Slot:
        """The slot of an aggregate that Spark computes. Spark reports errors with the user's names."""
        reference = self.reference
        if reference.order_by and not reference.is_within_group:
            raise unknown_aggregate(reference.function, reference.place)
        if reference.filter is not None and reference.function not in AGGREGATES:
            raise UnsupportedError(
                "AGGREGATE_FILTER",
                f"FILTER is not supported for {reference.function}, an aggregate of your own",
                place=reference.place,
                hint=f"write {reference.function}(CASE WHEN condition THEN value END).",
            )
        self.context.relation.resolver.types([self._call_over_input()])
        slot = self._slot("members", [self._text_of(i) for i in self._every_argument])
        return replace(slot, call=reference.call, filter=reference.filter)

    def _text_of(self, i: int) -> Callable[[int | None], Text]:
        return lambda label: self._argument(i, label)

    def _call_over_input(self) -> Text:
        """The call of the aggregate over the rows of the input."""
        parts = (p for p in self.reference.call if p != FILTER_PLACE)
        return join(*(self._argument(p, None) if isinstance(p, int) else p for p in parts))

    # aggregates that workers compute row by row

    @cached_property
    def _result(self) -> str:
        """The type of the aggregate. Raises Spark's errors, with the user's names."""
        return self.context.relation.resolver.types([self._call_over_input()])[0]

    @property
    def _is_in_table(self) -> bool:
        if self.reference.function not in COMPUTED:
            return False
        try:
            for spark_type in (*self._types, self._result):
                arrow_type(spark_type)
        except UnsupportedError:
            return False
        most = AGGREGATES[self.reference.function].arity[1]
        return "void" not in self._result and len(self.reference.parameters) <= most

    def _fold(self) -> Slot:
        reference = self.reference
        bound, arguments = bind_aggregate(reference.function, parts_of_reference(reference), self, self._result)
        bound.check(self.context.relation.settings, reference.place)
        columns = [self._cast(argument, spark_type) for argument, spark_type in zip(arguments, bound.column_types)]
        columns += [] if reference.filter is None else [self._text_of(reference.filter)]
        call = reference.call if all(isinstance(argument, int) for argument in arguments) else ()
        return replace(self._slot("fold", columns), fold=bound, call=call, filter=reference.filter)

    def types(self, texts: Sequence[Text | int]) -> list[str]:
        """The types of arguments, for `bind_aggregate`."""
        return self.context.relation.resolver.types([self._over_input(text) for text in texts])

    def values(self, texts: Sequence[Text | int], types: Sequence[str]) -> list[Any]:
        """The values of arguments that are constants."""
        return self.context.relation.resolver.values([self._over_input(text) for text in texts], types)

    def _over_input(self, argument: Text | int) -> Text:
        return self._argument(argument, None) if isinstance(argument, int) else argument

    def _cast(self, parameter: Text | int, spark_type: str) -> Callable[[int | None], Text]:
        """An argument, cast to the type that the aggregate takes."""

        def text(label: int | None) -> Text:
            value = self._argument(parameter, label) if isinstance(parameter, int) else parameter
            if isinstance(parameter, int) and self._types[parameter] == spark_type:
                return value
            return join("CAST((", value, f") AS {in_sql(spark_type)})")

        return text

    # arguments that read MATCH_NUMBER(), which is known only when a match is complete

    def _members_with_numbers(self) -> Slot:
        """The slot of an aggregate whose arguments Spark computes, too, from an array of columns and CLASSIFIER()."""
        reference = self.reference
        if reference.filter is not None:
            value = "value" if reference.parameters else "1"
            raise UnsupportedError(
                "NESTED_CALL",
                f"{reference.function} with FILTER cannot read MATCH_NUMBER(), neither in FILTER nor in its argument",
                place=reference.place,
                hint=f"write {reference.function}(CASE WHEN condition THEN {value} END).",
            )
        if reference.order_by:
            raise UnsupportedError(
                "NESTED_CALL",
                f"{reference.function} with ORDER BY cannot read MATCH_NUMBER()",
                place=reference.place,
                hint="write an array function around array_agg, such as array_sort.",
            )
        columns: list[str] = []
        call: list[Text | int] = []
        for part in reference.call:
            call += [part] if not isinstance(part, int) or part == FILTER_PLACE else self._pieces(part, columns)
        aggregate = self.context.aggregate(reference, 0)
        return Slot(kind="members", columns=tuple(columns or [CLASSIFIER_FIELD]), aggregate=aggregate, call=tuple(call))

    def _pieces(self, argument: int, columns: list[str]) -> list[Text | int]:
        """An argument as text, in which an int is the index of one of `columns`; missing columns are added to it."""
        pieces: list[Text | int] = []
        items = self.reference.argument_items[argument]
        named = field_naming(items)
        for piece in text_and_references(items, self.context.source):
            if isinstance(piece, Text):
                pieces.append(piece)
            elif piece.kind == "match number":
                pieces.append(named(self.slot_text(piece), piece.start, piece.stop, piece.column))
            else:
                is_label = piece.kind == "classifier"
                name = CLASSIFIER_FIELD if is_label else self.context.input_column("a", piece.arguments[0])
                if name not in columns:
                    columns.append(name)
                before, _, after = str(named(join(_COLUMN), piece.start, piece.stop, piece.column)).partition(_COLUMN)
                parts = (join(before), columns.index(name), join(after))
                pieces += [part for part in parts if isinstance(part, int) or str(part)]
        return pieces


def _is_fast(function: str, spark_type: str, *, is_distinct: bool) -> bool:
    """True if kernels compute this aggregate."""
    if function == "count" and not is_distinct:
        return True
    if decimal_of(spark_type) or kind_of(spark_type) not in ("int", "float"):
        return False
    return kernel_result(function, spark_type) is not None


def _is_list(function: str) -> bool:
    return function in AGGREGATES and AGGREGATES[function].is_list
