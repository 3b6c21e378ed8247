"""What navigations and aggregates of interpreted conditions read: the arguments, evaluated on each row that is read.

Spark computes an argument on every row. If it reads CLASSIFIER(), Spark computes it once for each label and once for
rows that are not mapped; if it reads MATCH_NUMBER(), it is evaluated in Python on the row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sqlext.expressions.aggregates.aggregate_table import AGGREGATES, parameter_types, unknown_aggregate
from sqlext.expressions.aggregates.distinct_rows import SortKey
from sqlext.expressions.scalar_tree import Read, Scalar
from sqlext.pattern.task import Navigation, SparkAggregate
from sqlext.rewriter.match.condition_parts import ConditionParts
from sqlext.rewriter.match.expression import Node, parse
from sqlext.rewriter.match.references import Reference, render
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.splice import Text, join, standing_for

_OF_WITHIN_GROUP = ("mode", "percentile_cont", "percentile_disc")  # they aggregate the key of WITHIN GROUP

Lower = Callable[[ConditionParts, Node, str], Scalar]


@dataclass(frozen=True)
class InterpretedArguments:
    """Lowers the arguments of references. `lower(parts, node, spark_type)` lowers an expression over one row."""

    parts: ConditionParts
    lower: Lower

    def navigated(self, reference: Reference, spark_type: str) -> Read:
        """The argument of a navigation, on the row that it reaches."""
        value = self._value(reference, 0, spark_type)
        if isinstance(value, Read) and isinstance(value.source, Navigation):
            source = self.parts.navigation(reference, value.source.argument)
            return Read(replace(source, by_label=value.source.by_label), spark_type)
        return Read(replace(self.parts.navigation(reference, 0), expression=value), spark_type)

    def aggregated(self, reference: Reference, result: str) -> Read:
        """An aggregate. Raises UnsupportedError for one that is not in the table."""
        if reference.function not in AGGREGATES:
            raise unknown_aggregate(reference.function, reference.place)
        parameters: list[Text | int] = list(reference.parameters)
        keys = reference.order_by
        if reference.is_within_group and reference.function in _OF_WITHIN_GROUP:
            parameters, keys = [keys[0][0], *parameters], ()
        types = parameter_types(reference.function, tuple(self._type(reference, p) for p in parameters))
        constants = self._constants(reference, parameters)
        arguments = [self._argument(reference, p, types[i]) for i, p in enumerate(parameters) if i not in constants]
        key_types = [self._type(reference, argument) for argument, _, _ in keys]
        arguments += [self._value(reference, argument, t) for (argument, _, _), t in zip(keys, key_types)]
        source = SparkAggregate(
            function=reference.function,
            arguments=tuple(arguments),
            types=types,
            type=result,
            settings=self.parts.settings,
            labels=self.parts.navigation(reference, 0).labels,
            is_distinct=reference.is_distinct,
            constants=tuple(constants.items()),
            order_by=tuple(
                SortKey(t, down, down if last is None else last) for t, (_, down, last) in zip(key_types, keys)
            ),
            ignores_nulls=reference.nulls == "IGNORE",
            filter=None if reference.filter is None else self._value(reference, reference.filter, "boolean"),
        )
        source.aggregator  # noqa: B018  (binds the aggregate, which refuses what it cannot compute)
        return Read(source, result)

    def _constants(self, reference: Reference, parameters: list[Text | int]) -> dict[int, Any]:
        """The values of the arguments that must be constants, by position."""
        wanted = AGGREGATES[reference.function].constants
        texts = {i: p for i, p in enumerate(parameters) if i in wanted and isinstance(p, Text)}
        if not texts:
            return {}
        types = [self._type(reference, text) for text in texts.values()]
        values = self.parts.resolver.values(list(texts.values()), types)
        return {i: tuple(value) if isinstance(value, list) else value for i, value in zip(texts, values)}

    def _argument(self, reference: Reference, parameter: Text | int, spark_type: str) -> Scalar:
        if isinstance(parameter, int):
            return self._value(reference, parameter, spark_type)
        text = self.parts.cast(parameter, self._type(reference, parameter), spark_type)
        return Read(Navigation(argument=self.parts.object_column(text, spark_type)), spark_type)

    def _type(self, reference: Reference, parameter: Text | int) -> str:
        text = self._text(reference, parameter, "''") if isinstance(parameter, int) else parameter
        self.parts.resolve([text])
        return self.parts.types[str(text)]

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
        """An argument that reads MATCH_NUMBER() is evaluated in Python, on the row."""
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
