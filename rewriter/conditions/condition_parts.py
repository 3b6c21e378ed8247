"""The parts of a run-dependent condition, with their types, which Spark resolves, and the texts that Spark computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from sqlext.aggregates.registry import kernel_result
from sqlext.errors import Place, UnsupportedError
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.python_functions import PythonFunction
from sqlext.expressions.spark_types import in_sql, is_year_month, with_distinct_fields
from sqlext.expressions.values import arrow_type
from sqlext.pattern.task.task import Aggregate, LiteralValue, Navigation
from sqlext.rewriter.scalars.expression import Node, combines_searches, has_column, holds_query
from sqlext.rewriter.scalars.references import FILTER_PLACE, Item, Reference, closing_item, place_of
from sqlext.rewriter.scalars.render import render, render_fields
from sqlext.rewriter.text.splice import Source, Text, join, standing_for


class TypeResolver(Protocol):
    """Resolves the types and values that only Spark can determine.

    `types` returns the simple type names of expressions over the input's rows. `constants` returns the values of
    constant expressions, each of which is a CAST to the type in which a Literal stores it. `values` returns the values
    of constant expressions of the given types, as `expressions.values` represents them.
    """

    def types(self, texts: Sequence[Text]) -> list[str]: ...

    def constant(self, text: Text) -> LiteralValue: ...

    def values(self, texts: Sequence[Text], types: Sequence[str]) -> list[Any]: ...


@dataclass(kw_only=True)
class ConditionParts:
    """The condition of one variable, and what its lowering needs.

    `navigation(reference, column)` and `aggregate(reference, column)` return the rows that a reference reads.
    `column(text, spark_type, kind)` returns the index of an operand column of a kind, see `OperandColumn`.
    `is_local(reference)` returns whether the current row alone decides what the reference reads. `local_text` returns
    the text by which Spark computes such a reference. `names`: the value of CLASSIFIER() for each label.
    `python_function(name)` returns a UDF of the session. `char_length(text)` returns the length of the CHAR column that
    a text is, or None. Without `spark_computes`, matchers also evaluate the parts that need only one row. `types`: the
    types of the texts that have been resolved.
    """

    items: Sequence[Item]
    source: Source
    resolver: TypeResolver
    settings: ExecutionSettings
    navigation: Callable[[Reference, int], Navigation]
    aggregate: Callable[[Reference, int | None], Aggregate]
    column: Callable[[Text, str, str], int]
    is_local: Callable[[Reference], bool]
    local_text: Callable[[Reference], Text]
    names: tuple[str, ...]
    python_function: Callable[[str], PythonFunction | None]
    char_length: Callable[[Text], int | None]
    spark_computes: bool = True
    types: dict[str, str] = field(default_factory=dict)

    def object_column(self, text: Text, spark_type: str) -> int:
        """The operand column of a value as `expressions` represents it. Raises UnsupportedError TYPE_OF_EXPRESSION."""
        arrow_type(spark_type)
        text = self.cast(text, spark_type, with_distinct_fields(spark_type))  # Spark sends no others
        if is_year_month(spark_type):  # PyArrow has no such type
            raise UnsupportedError(
                "TYPE_OF_EXPRESSION",
                f"a condition over several rows cannot read {spark_type}",
                hint="compute the number of months inside the navigation, or add the interval to a date there.",
            )
        return self.column(text, spark_type, "object")

    def resolve(self, texts: Iterable[Text]) -> None:
        new = {str(t): t for t in texts if str(t) not in self.types}
        self.types.update(zip(new, self.resolver.types(list(new.values()))))

    def type(self, node: Node) -> str:
        if not self.is_text(node):
            return "boolean"
        return self.types[str(self.typed_text(node))]

    def is_text(self, node: Node) -> bool:
        """True if the node has a text of its own. The comparison that `CASE x WHEN y` implies has none."""
        return node.name != "of case"

    def typed_text(self, node: Node) -> Text:
        """An expression over one input row that has the type of the node."""
        return render_fields(self.items[node.start : node.stop], self.source, self.typed_reference)

    def typed_reference(self, reference: Reference) -> Text:
        at = reference.place.start
        if reference.kind == "classifier":
            return standing_for("CAST('' AS STRING)", at)
        if reference.kind in ("match number", "sequence number"):
            return standing_for("CAST(1 AS BIGINT)", at)
        if reference.kind == "aggregate":
            return standing_for(f"CAST(NULL AS {in_sql(self.aggregate_type(reference))})", at)
        return join("(", reference.arguments[0], ")")

    def missing_text(self, node: Node) -> Text:
        """The text of a node that reads one row, for the case that there is no such row."""

        def nothing(reference: Reference) -> Text:
            argument = self.typed_reference(reference)
            self.resolve([argument])
            return join("CAST(NULL AS ", in_sql(self.types[str(argument)]), ")")

        return self.text(node, nothing)

    def aggregate_type(self, reference: Reference) -> str:
        """The type of an aggregate. If it is unknown, Spark determines it and reports errors with the user's names."""
        known = self.plain_aggregate_type(reference)
        if known is not None:
            return known
        pieces = (p for p in reference.call if p != FILTER_PLACE)
        call = join(*(self._argument(reference, p) if isinstance(p, int) else p for p in pieces))
        self.resolve([call])
        return self.types[str(call)]

    def plain_aggregate_type(self, reference: Reference) -> str | None:
        """The type of an aggregate that is compiled: `f(x)` or `f(DISTINCT x)`; None for others."""
        if len(reference.argument_items) > 1 or reference.filter is not None or reference.nulls:
            return None
        if reference.argument_kind == "classifier" or not reference.argument_items:
            return kernel_result(reference.function, "string")
        if reference.reads_labels or reference.reads_numbers or len(reference.parameters) != 1 or reference.order_by:
            return None
        self.resolve([reference.arguments[0]])
        return kernel_result(reference.function, self.types[str(reference.arguments[0])])

    def _argument(self, reference: Reference, argument: int) -> Text:
        """An argument over an input row, with constants for CLASSIFIER() and MATCH_NUMBER()."""
        return render(reference.argument_items[argument], self.source, self.typed_reference)

    # nodes that one row decides

    def needs_one_row(self, node: Node) -> bool:
        """True if one row is enough to compute the node: the current row, or the row that a navigation reads."""
        if combines_searches(node):
            return False
        references = self.run_dependent(node)
        return not references or self.reads_one_row(node, references)

    def run_dependent(self, node: Node) -> list[Reference]:
        return [x for x in self.items[node.start : node.stop] if isinstance(x, Reference) and not self.is_local(x)]

    def text(self, node: Node, replace_reference: Callable[[Reference], Text]) -> Text:
        """The text that Spark computes. A column alone has no parentheses: `v` and `(v)` would become two columns."""
        if node.padded:
            return padded_text(self.text(replace(node, padded=0), replace_reference), node.padded)
        items = self.items[node.start : node.stop]
        reference = items[0]
        if len(items) == 1 and isinstance(reference, Reference) and reference.kind == "navigation":
            return reference.arguments[0]
        text = render_fields(items, self.source, replace_reference)
        if node.kind == "IN query":  # as a value, Spark returns false instead of NULL, for NOT IN too
            return join("CASE WHEN ", text, " THEN TRUE WHEN NOT (", text, ") THEN FALSE END")
        return text

    def query_at(self, opening: int) -> Text:
        """The subquery whose parenthesis is the item at `opening`. It reads no row of the match."""
        stop = closing_item(self.items, opening) + 1
        return render(self.items[opening:stop], self.source, self.typed_reference)

    def reads_one_row(self, node: Node, references: list[Reference]) -> bool:
        """True if the node reads only one navigated row, and nothing of the current row."""
        first = references[0]
        return (
            first.kind == "navigation"
            and not any(r.reads_labels or r.reads_numbers for r in references)
            and all(r.source == first.source for r in references)
            and not any(isinstance(x, Reference) and self.is_local(x) for x in self.items[node.start : node.stop])
            and not has_column(node, self.items)
        )

    def holds_query(self, node: Node) -> bool:
        """True if Spark runs a query for the node, even without its references."""
        return holds_query(self.items[node.start : node.stop])

    def cast(self, text: Text, spark_type: str, wanted: str) -> Text:
        if spark_type == wanted:
            return text
        return join("CAST((", text, f") AS {in_sql(wanted)})")

    def place(self, node: Node) -> Place:
        return place_of(self.items[node.start : node.stop], self.source)


def padded_text(text: Text, length: int) -> Text:
    """The text of a string that is padded with blanks to a length; 0 pads nothing."""
    return join("rpad(", text, f", {length})") if length else text
