"""Lowers DEFINE: conjuncts that one row decides become bits of a mask, and conjuncts that depend on the match become a
Condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from sqlext.errors import ParseError, SqlExtError, UnsupportedError, all_of, raise_all
from sqlext.expressions.spark_types import MAX_DIGITS, decimal_of
from sqlext.operators.match.plan import OperandColumn
from sqlext.pattern.conditions.columnar import is_columnar
from sqlext.pattern.task.task import Condition
from sqlext.rewriter.conditions.compiled_condition import chain
from sqlext.rewriter.conditions.condition import build_condition, not_boolean, texts_of_condition
from sqlext.rewriter.conditions.condition_parts import ConditionParts
from sqlext.rewriter.lowering.input_query import Context
from sqlext.rewriter.lowering.match_plan import WINDOW, CountedConjunct, Mask
from sqlext.rewriter.match.match_clause import Definition
from sqlext.rewriter.scalars.analyse import analyse
from sqlext.rewriter.scalars.expression import all_conjuncts, compared, conjuncts, parse
from sqlext.rewriter.scalars.references import Item, Reference, place_of
from sqlext.rewriter.scalars.render import render_fields
from sqlext.rewriter.text.fragments import in_line
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.splice import Text, join, standing_for

Defined = dict[str, list[Item]]  # the items of each condition, by its variable


class DefineLowering:
    """Lowers DEFINE and collects masks and operands. `definitions` is called first, and `lower` after it."""

    def __init__(self, context: Context):
        self.context, self.needs_window = context, False
        self.compares_chars = False  # whether PREV or NEXT reads a CHAR column
        self.operands: list[OperandColumn] = []
        self.masks: list[Mask] = []
        self.mask_shapes: list[Text] = []  # the conjuncts of masks without window functions, of the same types
        self.conjuncts: list[CountedConjunct] = []
        self.dropped: set[tuple[int, int]] = set()  # (label, first item) of conjuncts that bounds make true

    def definitions(self) -> Defined:
        """The items of each condition. Raises BindError and UnsupportedError, all errors together."""
        definitions = self.context.clause.definitions
        every = all_of(definitions, self._items)
        references = (x for items in every for x in items if isinstance(x, Reference) and x.step)
        self.compares_chars = any(
            self.context.char_length(x.arguments[0]) for x in references if x.kind == "navigation"
        )
        return {definition.variable.key: items for definition, items in zip(definitions, every)}

    def _items(self, definition: Definition) -> list[Item]:
        items = analyse(definition.condition, self.context.scope(in_define=True))
        self._check_no_numbers(items)
        self._check_no_gaps(items)
        return items

    def _check_no_numbers(self, items: Sequence[Item]) -> None:
        """Raise UnsupportedError for MATCH_NUMBER() with NO SKIP, which numbers matches after they are decided."""
        number = next((x for x in items if isinstance(x, Reference) and x.kind == "match number"), None)
        if number is not None and self.context.clause.skip_mode.lists_all:
            message = "AFTER MATCH NO SKIP numbers matches after DEFINE is evaluated, so DEFINE cannot read the number"
            raise UnsupportedError("NUMBER_IN_DEFINE", message, place=number.place)

    def _check_no_gaps(self, items: Sequence[Item]) -> None:
        """Raise ParseError for `a AND AND b` and `a AND`."""
        for lo, hi in conjuncts(items):
            if lo == hi:
                and_ = items[lo - 1] if lo else items[hi]
                place = place_of([and_], self.context.source)
                raise ParseError("MISSING_EXPRESSION", "a condition is missing beside AND", place=place)

    def lower(
        self, labels: tuple[str, ...], defined: Defined
    ) -> tuple[tuple[int | None, ...], tuple[Condition | None, ...]]:
        """The bit in the mask and the run-dependent condition of each label; None where there is nothing to test."""
        tested = [(label, defined[key]) for label, key in enumerate(labels) if key in defined]
        lowered = dict(all_of(tested, lambda each: (each[0], self._condition(*each))))
        self._check_masks_boolean()
        both = [lowered.get(label, (None, None)) for label in range(len(labels))]
        return tuple(bit for bit, _ in both), tuple(condition for _, condition in both)

    def texts_to_type(self, defined: Defined) -> list[Text]:
        """The texts whose types `lower` needs, as far as they are known in advance."""
        texts: list[Text] = []
        for label, key in enumerate(self.context.clause.labels):
            if key in defined:
                texts += texts_of_condition(self.parts(defined[key], label), conjuncts(defined[key]))
        return texts

    def _condition(self, label: int, items: list[Item]) -> tuple[int | None, Condition | None]:
        """The bit of the conjuncts that one row decides, and the condition for the others."""
        local: list[tuple[int, int]] = []
        dependent: list[tuple[int, int]] = []
        ranges = [(lo, hi) for lo, hi in conjuncts(items) if (label, lo) not in self.dropped]
        for lo, hi in ranges:
            is_local = self._is_row_local(items[lo:hi], label) and self._can_be_mask(items, (lo, hi), label)
            (local if is_local else dependent).append((lo, hi))
        bit = self._bit(items, local, label) if local else None
        for conjunct in ranges:
            self.conjuncts += self._counted(items, conjunct, label, is_local=conjunct in local)
        if not dependent:
            return bit, None
        return bit, self._run_dependent(items, dependent, label)

    def _counted(
        self, items: list[Item], conjunct: tuple[int, int], label: int, *, is_local: bool
    ) -> Iterator[CountedConjunct]:
        """A conjunct as EXPLAIN MATCH ANALYZE shows it. Of ANDs in parentheses it shows each part, of which Spark
        computes those that the row decides: workers get no columns for them."""
        parts = all_conjuncts(items, *conjunct)
        if parts == [conjunct]:
            reads = is_local and not self.context.relation.is_static and _reads_neighbours(items, conjunct)
            condition = self._neighbours(items, [conjunct], label) if reads else None
            yield self._conjunct(items, conjunct, label, condition, is_local=is_local)
            return
        for part in parts:
            is_part_local = self._is_row_local(items[slice(*part)], label)
            yield self._conjunct(items, part, label, None, is_local=is_part_local)

    def _conjunct(
        self, items: list[Item], conjunct: tuple[int, int], label: int, condition: Condition | None, *, is_local: bool
    ) -> CountedConjunct:
        def written(lo: int, hi: int) -> str:
            return in_line(place_of(items[lo:hi], self.context.source).written)

        if not is_local or self.context.relation.is_static:
            return CountedConjunct(label=label, written=written(*conjunct))
        ranges = [(node.start, node.stop) for node in compared(parse(items, *conjunct))]
        operands = {written(*r): self._text(items, r, label) for r in ranges if r != conjunct}
        return CountedConjunct(
            label=label,
            written=written(*conjunct),
            text=self._text(items, conjunct, label),
            condition=condition,
            operands=tuple(operands.items()),
        )

    def _run_dependent(self, items: list[Item], ranges: list[tuple[int, int]], label: int) -> Condition:
        """The conjuncts of these ranges as one condition; Spark computes the parts that the current row decides."""
        parts = self.parts(items, label)
        return chain("and", [build_condition(parts, lo, hi, self._undo()) for lo, hi in ranges], "bool")

    def parts(self, items: list[Item], label: int) -> ConditionParts:
        return ConditionParts(
            items=items,
            source=self.context.source,
            resolver=self.context.relation.resolver,
            settings=self.context.relation.settings,
            navigation=self.context.navigation,
            aggregate=self.context.aggregate,
            column=self._operand,
            is_local=lambda r: r.step == 0 and self.context.is_local(r, label),
            local_text=lambda r: self._local_text(r, label),
            names=self.context.clause.labels,
            python_function=self.context.relation.python_function,
            char_length=self.context.char_length,
            spark_computes=not self.context.relation.is_static,
        )

    def _is_row_local(self, items: Sequence[Item], label: int) -> bool:
        """True if the conjunct can be computed on each row alone. Without Spark, only a Boolean column can."""
        if self.context.relation.is_static:
            return len(items) == 1 and not isinstance(items[0], Reference) and items[0].is_name
        references = [x for x in items if isinstance(x, Reference)]
        return all(self.context.is_local(x, label) and not self.context.leaves_frame(x, label) for x in references)

    def _can_be_mask(self, items: list[Item], conjunct: tuple[int, int], label: int) -> bool:
        """True if this conjunct can be a mask. If times are needed, a mask must not hide how many rows ahead it reads.

        Workers can find that number in conditions on neighbours, but not in Spark's window functions, which do not
        return CHAR either, so Spark would not pad what it compares with them.
        """
        needs_workers = (self.context.needs_times or self.compares_chars) and _reads_neighbours(items, conjunct)
        return not needs_workers or self._neighbours(items, [conjunct], label) is not None

    def _text(self, items: list[Item], conjunct: tuple[int, int], label: int) -> Text:
        """A part of a condition as SQL over the rows of the input query."""
        return render_fields(items[slice(*conjunct)], self.context.source, lambda r: self._local_text(r, label))

    def _local_text(self, reference: Reference, label: int) -> Text:
        if reference.kind == "classifier":
            return standing_for(string_literal(self.context.clause.pattern_variables[label].key), reference.place.start)
        if reference.step == 0:
            return join("(", reference.arguments[0], ")")
        function = "lag" if reference.step < 0 else "lead"
        # The parentheses keep Spark from reading `OVER __rows - 1` as a name with a hyphen.
        return join(f"({function}(", reference.arguments[0], f", {abs(reference.step)}) OVER {WINDOW})")

    def _bit(self, items: list[Item], ranges: list[tuple[int, int]], label: int) -> int:
        """A new bit for these conjuncts."""

        def shape(lo: int, hi: int) -> Text:
            return render_fields(
                items[lo:hi], self.context.source, lambda r: self._local_text(replace(r, step=0), label)
            )

        texts = {r: self._text(items, r, label) for r in ranges}
        reading = [r for r in ranges if _reads_neighbours(items, r)]
        rest = [text for r, text in texts.items() if r not in reading]
        neighbours = self._neighbours(items, reading, label) if reading else None
        self.needs_window |= bool(reading) and neighbours is None
        self.masks.append(Mask(_all_of(list(texts.values())), _all_of(rest or [join("TRUE")]), neighbours))
        self.mask_shapes += [shape(*r) for r in ranges]
        return len(self.masks) - 1

    def _neighbours(self, items: list[Item], ranges: list[tuple[int, int]], label: int) -> Condition | None:
        """The conjuncts with PREV and NEXT as a condition that workers evaluate on columns; None if workers cannot."""
        if self.needs_window:
            return None
        undo = self._undo()
        try:
            condition = self._run_dependent(items, ranges, label)
            if is_columnar(condition) and not any(map(_is_wide, self.operands)):
                return condition
        except SqlExtError:
            pass  # Spark may be able to compute it, and reports the error if not
        undo()
        return None

    def _undo(self) -> Callable[[], None]:
        """A function that removes the columns and operands that are added after this call."""
        columns, operands = list(self.context.columns), list(self.operands)

        def undo() -> None:
            self.context.columns, self.operands = list(columns), list(operands)

        return undo

    def _check_masks_boolean(self) -> None:
        errors: list[SqlExtError] = []
        for text, spark_type in zip(self.mask_shapes, self.context.relation.resolver.types(self.mask_shapes)):
            if spark_type not in ("boolean", "void"):
                origins = [o for i in range(len(str(text))) if (o := text.origin(i)) is not None]
                place = self.context.scope(in_define=True).place(min(origins), max(origins) + 1)
                errors.append(not_boolean(spark_type, place))
        raise_all(errors)

    def _operand(self, text: Text, spark_type: str, kind: str) -> int:
        operand = OperandColumn(self.context.input_column("v", text), spark_type, kind)
        if operand not in self.operands:
            self.operands.append(operand)
        return self.operands.index(operand)


def _is_wide(column: OperandColumn) -> bool:
    """True if the column has decimals that do not fit an int64."""
    digits = decimal_of(column.spark_type)
    return digits is not None and digits[0] > MAX_DIGITS


def _reads_neighbours(items: Sequence[Item], conjunct: tuple[int, int]) -> bool:
    """True if the conjunct reads PREV or NEXT of the current row."""
    return any(isinstance(x, Reference) and x.step for x in items[slice(*conjunct)])


def _all_of(conjuncts: list[Text]) -> Text:
    """The text `(c) AND (d) AND …`; a single conjunct is returned as it is."""
    return conjuncts[0] if len(conjuncts) == 1 else join(*(join("(", c, ")") for c in conjuncts), separator=" AND ")
