"""Lowers MEASURES to the values that workers compute (slots), and the text that Spark computes from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlext.errors import BindError, all_of
from sqlext.operators.match.plan import Slot
from sqlext.operators.rows.columns import IS_MATCHED, ROW_TIME, WITHIN_END, WITHIN_KEY
from sqlext.pattern.task.task import CLASSIFIER
from sqlext.rewriter.lowering.input_query import Context
from sqlext.rewriter.lowering.lower_aggregates import aggregate_slot
from sqlext.rewriter.match.check import UNMAPPED_HINT, unmapped_variables
from sqlext.rewriter.match.match_clause import Measure
from sqlext.rewriter.scalars.analyse import analyse
from sqlext.rewriter.scalars.foreign_words import hint_of_function
from sqlext.rewriter.scalars.references import Item, Reference, place_of
from sqlext.rewriter.scalars.render import render_fields
from sqlext.rewriter.scalars.struct_fields import free_stars
from sqlext.rewriter.text.splice import Text, join, standing_for


def of_matches(text: Text) -> Text:
    """A measure that is NULL on unmatched rows."""
    return join(f"CASE WHEN {IS_MATCHED} THEN ", text, " END")


class Measures:
    """Lowers MEASURES and collects their slots. `of_all_rows`: the measures that unmatched rows have as well."""

    def __init__(self, context: Context):
        self.context = context
        self.slots: list[Slot] = []
        self.of_all_rows: set[str] = set()

    def lower(self) -> list[tuple[str, Text]]:
        """The pair (name, Spark's expression over slots) of each measure.

        Raises BindError and UnsupportedError; the errors of all measures are raised together.
        """
        return all_of(self.context.clause.measures, self._measure)

    def _measure(self, measure: Measure) -> tuple[str, Text]:
        items = analyse(measure.expression, self.context.scope(in_define=False))
        self._check_no_free_star(items)
        self._check_mapped(items)
        text = render_fields(items, self.context.source, self.slot_text)
        if {x.kind for x in items if isinstance(x, Reference)} == {"rowtime"}:
            self.of_all_rows.add(measure.name.text)
        return measure.name.text, text if len(items) == 1 else join("(", text, ")")

    def texts_to_type(self) -> list[Text]:
        """The texts whose types `lower` needs, as far as they are known in advance."""
        scope, texts = self.context.scope(in_define=False), []
        for measure in self.context.clause.measures:
            references = (x for x in analyse(measure.expression, scope) if isinstance(x, Reference))
            aggregates = (x for x in references if x.argument_items and not x.reads_labels and not x.reads_numbers)
            texts += [text for aggregate in aggregates for text in aggregate.arguments]
        return texts

    def of_matches(self, values: list[tuple[str, Text]]) -> list[tuple[str, Text]]:
        """The measures for a result with unmatched rows, which have NULL in all measures except `of_all_rows`.

        Workers return NULL for the value of a navigation, which keeps its type: CASE would make STRING of CHAR.
        """
        null = {slot.name for slot in self.slots if slot.kind == "value"}
        return [(n, text if n in self.of_all_rows or str(text) in null else of_matches(text)) for n, text in values]

    def _check_no_free_star(self, items: Sequence[Item]) -> None:
        if len(items) == 1 and not isinstance(items[0], Reference) and items[0].raw == "*":
            raise BindError(
                "MISPLACED_STAR",
                "* is not a measure",
                place=place_of(items, self.context.source),
                hint="ALL ROWS PER MATCH shows all columns.",
            )
        star = next(free_stars(items), None)
        if star is not None:
            hint = "write LAST(struct(*)) for the last row, or array_agg(struct(*)) for all of them."
            call = items[max(items.index(star) - 2, 0)]
            raise BindError(
                "MISPLACED_STAR",
                "* means the columns of a row, and a measure reads several rows",
                place=place_of([star], self.context.source),
                hint=(None if isinstance(call, Reference) else hint_of_function(call.raw)) or hint,
            )

    def _check_mapped(self, items: Sequence[Item]) -> None:
        """Raise BindError for a measure that reads a variable that maps no rows."""
        unmapped = unmapped_variables(self.context.clause.pattern)
        for item in items:
            if isinstance(item, Reference) and item.variable in unmapped:
                message = f'"{item.variable}" maps no row, so a measure cannot read it'
                raise BindError("UNMAPPED_VARIABLE", message, place=item.place, hint=UNMAPPED_HINT)

    def slot_text(self, reference: Reference) -> Text:
        """Spark's expression for a reference: the name of its slot, or an expression over several slots."""
        if reference.kind == "proctime":
            return standing_for("current_timestamp()", reference.place.start)
        if reference.kind == "navigation" and (reference.reads_labels or reference.reads_numbers):
            return self._computed_navigation(reference)
        slot = self._slot(reference)
        same = next((s for s in self.slots if replace(s, name="") == slot), None)
        if same is None:
            same = replace(slot, name=f"__s{len(self.slots)}")
            self.slots.append(same)
        return standing_for(same.name, reference.place.start)

    def _computed_navigation(self, reference: Reference) -> Text:
        """The text of `LAST(f(v, CLASSIFIER()))` as f of LAST(v) and LAST(CLASSIFIER()), NULL without such a row."""

        def on_row(part: Reference) -> Text:
            if part.kind == "match number":
                return self.slot_text(part)
            return self.slot_text(replace(reference, kind=part.kind, arguments=part.arguments, argument_items=()))

        value = render_fields(reference.argument_items[0], self.context.source, on_row)
        exists = self.slot_text(replace(reference, arguments=(join("TRUE"),), argument_items=()))
        return join("CASE WHEN ", exists, " THEN ", value, " END")

    def _slot(self, reference: Reference) -> Slot:
        """The slot of a reference, without a name."""
        if reference.kind in ("match number", "sequence number", "timed out"):
            return Slot(kind=reference.kind)
        if reference.kind == "rowtime":
            return Slot(kind="rowtime", columns=(WITHIN_KEY, WITHIN_END) if self.context.clause.within else (ROW_TIME,))
        if reference.kind == "classifier":
            return Slot(kind="classifier", navigation=self.context.navigation(reference, CLASSIFIER))
        if reference.kind == "navigation":
            columns = tuple(self.context.input_column("a", text) for text in reference.arguments)
            return Slot(kind="value", columns=columns, navigation=self.context.navigation(reference, 0))
        return aggregate_slot(self.context, reference, self.slot_text)
