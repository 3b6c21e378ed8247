"""MEASURES: the values that workers compute (slots), and the text that Spark computes from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlext.errors import BindError, SqlExtError, UnsupportedError, raise_all
from sqlext.expressions.spark_types import aggregate_type, kind_of
from sqlext.pattern.task import CLASSIFIER
from sqlext.rewriter.match.check import UNMAPPED_HINT, unmapped_variables
from sqlext.rewriter.match.lower.input_query import Context
from sqlext.rewriter.match.match_plan import IS_MATCHED, ROW_TIME, WITHIN_END, WITHIN_KEY, Slot
from sqlext.rewriter.match.references import FILTER_PLACE, Item, Reference, place_of, render
from sqlext.rewriter.match.scalars import analyse
from sqlext.rewriter.text.splice import Text, join, standing_for

_RUNNING_DISTINCT = ("count", "sum", "avg", "mean", "min", "max")


class Measures:
    """Lowers MEASURES and collects their slots. `of_all_rows`: the measures that unmatched rows have, too."""

    def __init__(self, context: Context):
        self.context = context
        self.slots: list[Slot] = []
        self.of_all_rows: set[str] = set()

    def lower(self) -> list[tuple[str, Text]]:
        """(name, Spark's expression over slots) of each measure.

        Raises BindError and UnsupportedError, those of all measures together.
        """
        scope, errors, measures = self.context.scope(in_define=False), [], []
        for measure in self.context.clause.measures:
            try:
                items = analyse(measure.expression, scope)
                self._check_no_free_star(items)
                self._check_mapped(items)
                text = render(items, self.context.source, self.slot_text)
                measures.append((measure.name.text, text if len(items) == 1 else join("(", text, ")")))
                kinds = {x.kind for x in items if isinstance(x, Reference)}
                self.of_all_rows |= {measure.name.text} if kinds == {"rowtime"} else set()
            except SqlExtError as e:
                errors.append(e)
        raise_all(errors)
        return measures

    def of_matches(self, values: list[tuple[str, Text]]) -> list[tuple[str, Text]]:
        """The measures for a result with unmatched rows, which have NULL in all but `of_all_rows`."""
        return [
            (name, text if name in self.of_all_rows else join(f"CASE WHEN {IS_MATCHED} THEN ", text, " END"))
            for name, text in values
        ]

    def _check_no_free_star(self, items: Sequence[Item]) -> None:
        if len(items) == 1 and not isinstance(items[0], Reference) and items[0].raw == "*":
            raise BindError(
                "MISPLACED_STAR",
                "* is not a measure",
                place=place_of(items, self.context.source),
                hint="ALL ROWS PER MATCH shows all columns.",
            )

    def _check_mapped(self, items: Sequence[Item]) -> None:
        """Raise BindError for a measure that reads rows of a variable that maps none."""
        unmapped = unmapped_variables(self.context.clause.pattern)
        for item in items:
            if isinstance(item, Reference) and item.variable in unmapped:
                message = f'"{item.variable}" maps no row, so a measure cannot read it'
                raise BindError("UNMAPPED_VARIABLE", message, place=item.place, hint=UNMAPPED_HINT)

    def slot_text(self, reference: Reference) -> Text:
        slot = self._slot(reference)
        same = next((s for s in self.slots if replace(s, name="") == slot), None)
        if same is None:
            same = replace(slot, name=f"__s{len(self.slots)}")
            self.slots.append(same)
        return standing_for(same.name, reference.place.start)

    def _slot(self, reference: Reference) -> Slot:
        """The slot of a reference, without a name."""
        if reference.kind in ("match number", "sequence number", "timed out"):
            return Slot(kind=reference.kind)
        if reference.kind == "rowtime":
            return Slot(kind="rowtime", columns=(WITHIN_KEY, WITHIN_END) if self.context.clause.within else (ROW_TIME,))
        if reference.kind == "classifier":
            return Slot(kind="classifier", navigation=self.context.navigation(reference, CLASSIFIER))
        columns = tuple(self.context.input_column("a", text) for text in reference.arguments)
        if reference.kind == "navigation":
            return Slot(kind="value", columns=columns, navigation=self.context.navigation(reference, 0))
        return self._aggregate_slot(reference, columns)

    def _aggregate_slot(self, reference: Reference, columns: tuple[str, ...]) -> Slot:
        function = reference.function
        is_running = self.context.clause.rows_per_match.is_all_rows and not reference.is_final
        if reference.is_distinct and is_running and function not in _RUNNING_DISTINCT:
            raise UnsupportedError(
                "RUNNING_DISTINCT",
                f"a running {function}(DISTINCT) is not supported",
                place=reference.place,
                hint="write FINAL before it, or use count, sum, avg, min or max.",
            )
        if reference.argument_kind == "classifier":
            return self._classifier_aggregate(reference)
        if not columns:
            return Slot(kind="aggregate", aggregate=self.context.aggregate(reference, None))
        types = self.context.relation.resolver.types(reference.arguments)
        if len(columns) == 1 and _is_fast(function, types[0], reference.is_distinct):
            return Slot(kind="aggregate", columns=columns, aggregate=self.context.aggregate(reference, 0))
        if (
            function in ("array_agg", "collect_list")
            and len(columns) == 1
            and len(reference.call) == 4  # nothing but `name(argument)`
            and not reference.is_distinct
        ):
            return Slot(kind="array", columns=columns, aggregate=self.context.aggregate(reference, 0))
        self.context.relation.resolver.types([_call_over_input(reference)])  # Spark reports errors in the user's names
        aggregate = self.context.aggregate(reference, 0)
        return Slot(kind="members", columns=columns, aggregate=aggregate, call=reference.call)

    def _classifier_aggregate(self, reference: Reference) -> Slot:
        if reference.function in ("array_agg", "collect_list") and not reference.is_distinct:
            return Slot(kind="array", aggregate=self.context.aggregate(reference, CLASSIFIER))
        if reference.function == "count" and not reference.is_distinct:
            return Slot(kind="aggregate", aggregate=self.context.aggregate(reference, None))
        raise UnsupportedError(
            "CLASSIFIER_AGGREGATE",
            f"{reference.function}(CLASSIFIER()) is not supported",
            place=reference.place,
            hint="use an array function around array_agg(CLASSIFIER()).",
        )


def _call_over_input(reference: Reference) -> Text:
    """The call of an aggregate over the rows of the input."""
    parts = (p for p in reference.call if p != FILTER_PLACE)
    return join(*(reference.arguments[p] if isinstance(p, int) else p for p in parts))


def _is_fast(function: str, spark_type: str, is_distinct: bool) -> bool:
    """Do workers compute this aggregate?"""
    if function == "count" and not is_distinct:
        return True
    if spark_type.startswith("decimal") or kind_of(spark_type) not in ("int", "float"):
        return False
    return (
        function in ("count", "min", "max", "sum", "avg", "mean") and aggregate_type(function, spark_type) is not None
    )
