"""Lowers the arguments of navigations and aggregates in interpreted conditions. They are evaluated on each row read.

Spark computes an argument on every row. If the argument reads CLASSIFIER(), Spark computes it once for each label and
once for rows that are not mapped. If it reads MATCH_NUMBER(), it is evaluated in Python on the row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlext.aggregates.bind import bind_aggregate
from sqlext.expressions.scalar_tree import Read, Scalar
from sqlext.pattern.task.task import InterpretedAggregate, Navigation
from sqlext.rewriter.conditions.condition_parts import ConditionParts
from sqlext.rewriter.scalars.aggregate_syntax import parts_of_reference
from sqlext.rewriter.scalars.expression import Node, parse
from sqlext.rewriter.scalars.references import Reference
from sqlext.rewriter.scalars.render import render
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.splice import Text, join, standing_for

Lower = Callable[[ConditionParts, Node, str], Scalar]


@dataclass(frozen=True)
class InterpretedArguments:
    """Lowers the arguments of references. `lower(parts, node, spark_type)` lowers an expression over one row."""

    parts: ConditionParts
    lower: Lower

    def navigated(self, reference: Reference, spark_type: str) -> Read:
        """The argument of a navigation, on the row that the navigation reaches."""
        value = self._value(reference, 0, spark_type)
        if isinstance(value, Read) and isinstance(value.source, Navigation):
            source = self.parts.navigation(reference, value.source.argument)
            return Read(replace(source, by_label=value.source.by_label), spark_type)
        return Read(replace(self.parts.navigation(reference, 0), expression=value), spark_type)

    def aggregated(self, reference: Reference, result: str) -> Read:
        """The value of an aggregate. Raises UnsupportedError for an aggregate that workers do not compute."""
        types = _ArgumentTypes(self, reference)
        bound, arguments = bind_aggregate(reference.function, parts_of_reference(reference), types, result)
        source = InterpretedAggregate(
            call=bound,
            arguments=tuple(self._argument(reference, a, t) for a, t in zip(arguments, bound.column_types)),
            settings=self.parts.settings,
            labels=self.parts.navigation(reference, 0).labels,
            filter=None if reference.filter is None else self._value(reference, reference.filter, "boolean"),
        )
        source.aggregator  # noqa: B018  (binds the aggregate, which refuses what it cannot compute)
        return Read(source, result)

    def _argument(self, reference: Reference, parameter: Text | int, spark_type: str) -> Scalar:
        if isinstance(parameter, int):
            return self._value(reference, parameter, spark_type)
        text = self.parts.cast(parameter, self._type(reference, parameter), spark_type)
        return Read(Navigation(argument=self.parts.object_column(text, spark_type)), spark_type)

    def _type(self, reference: Reference, parameter: Text | int) -> str:
        text = self.over_input(reference, parameter)
        self.parts.resolve([text])
        return self.parts.types[str(text)]

    def over_input(self, reference: Reference, parameter: Text | int) -> Text:
        """An argument over an input row."""
        return self._text(reference, parameter, "''") if isinstance(parameter, int) else parameter

    def _text(self, reference: Reference, argument: int, label: str) -> Text:
        """An argument over an input row; `label` is the literal for CLASSIFIER()."""

        def over_row(part: Reference) -> Text:
            if part.kind == "navigation":
                return part.arguments[0]
            return standing_for(
                f"CAST({label} AS STRING)" if part.kind == "classifier" else "CAST(1 AS BIGINT)", part.place.start
            )

        return render(reference.argument_items[argument], self.parts.source, over_row)

    def _value(self, reference: Reference, argument: int, spark_type: str) -> Scalar:
        """An argument on a row that is read, as a value of a type."""
        kinds = {x.kind for x in reference.argument_items[argument] if isinstance(x, Reference)}
        if "match number" in kinds:
            return self._with_number(reference, argument, spark_type)
        have = self._type(reference, argument)
        labels = [string_literal(name) for name in self.parts.names] if "classifier" in kinds else []
        texts = [self._text(reference, argument, label) for label in (*labels, "NULL")]
        columns = [self.parts.object_column(self.parts.cast(text, have, spark_type), spark_type) for text in texts]
        by_label = tuple(columns) if labels else ()
        return Read(Navigation(argument=columns[-1], by_label=by_label), spark_type)

    def _with_number(self, reference: Reference, argument: int, spark_type: str) -> Scalar:
        """The value of an argument that reads MATCH_NUMBER(), which is evaluated in Python on the row."""
        items = reference.argument_items[argument]

        def navigation(part: Reference, index: int) -> Navigation:
            return Navigation(argument=index)

        parts = replace(
            self.parts,
            items=items,
            navigation=navigation,
            is_local=lambda part: part.kind == "navigation",
            local_text=lambda part: join("(", part.arguments[0], ")"),
        )
        return self.lower(parts, parse(items, 0, len(items)), spark_type)


@dataclass(frozen=True)
class _ArgumentTypes:
    """The types and constants of the arguments of one aggregate, for `bind_aggregate`."""

    arguments: InterpretedArguments
    reference: Reference

    def types(self, texts: Sequence[Text | int]) -> list[str]:
        parts, written = self.arguments.parts, self._written(texts)
        parts.resolve(written)
        return [parts.types[str(text)] for text in written]

    def values(self, texts: Sequence[Text | int], types: Sequence[str]) -> list[Any]:
        return self.arguments.parts.resolver.values(self._written(texts), types)

    def _written(self, texts: Sequence[Text | int]) -> list[Text]:
        return [self.arguments.over_input(self.reference, text) for text in texts]
