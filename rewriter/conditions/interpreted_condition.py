"""Lowers the tree of a run-dependent condition to a Scalar, which is interpreted.

Every function of `expressions.function_table` may read several rows, with the types and the casts that Spark chooses.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

from sqlext.errors import SqlExtError, UnsupportedError
from sqlext.expressions.function_table import parameter_types
from sqlext.expressions.python_functions import PythonFunction
from sqlext.expressions.scalar_tree import Constant, Read, Scalar, ScalarCall
from sqlext.expressions.spark_types import COLLATED
from sqlext.expressions.values import arrow_type
from sqlext.pattern.task.task import CLASSIFIER_NAME, MATCH_NUMBER, Aggregate, Navigation
from sqlext.rewriter.conditions.condition_parts import ConditionParts
from sqlext.rewriter.conditions.interpreted_arguments import InterpretedArguments
from sqlext.rewriter.scalars.expression import DEEP, Node, combines_searches, compared
from sqlext.rewriter.scalars.references import Reference
from sqlext.rewriter.text.nesting import MAX_NESTING
from sqlext.rewriter.text.splice import Text, join

_NAMES = {"iff": "if", "DIV": "div", "element": "[]", "field": "."}  # names of nodes and aliases → names of functions


@dataclass(frozen=True)
class InterpretedCondition:
    """Lowers a condition to a Scalar. Raises UnsupportedError for a part that no function of the table computes."""

    parts: ConditionParts

    def value(self, node: Node, spark_type: str) -> Scalar:
        """The value of a node, in the type `spark_type`; the value of a condition is Boolean."""
        self.parts.resolve(self._texts_to_type(node))
        return self._value(node, spark_type)

    def operands(self, node: Node) -> list[tuple[Node, Scalar]]:
        """The values that the comparisons in a condition compare, without literals; none that cannot be computed."""
        values: list[tuple[Node, Scalar]] = []
        for child in compared(node):
            if self.parts.is_text(child):
                with suppress(UnsupportedError):
                    self.parts.resolve(self._texts_to_type(child))
                    values.append((child, self._value(child, self._type(child))))
        return values

    def _texts_to_type(self, node: Node) -> Iterable[Text]:
        if self.parts.is_text(node) and node.kind != "unit":
            yield self.parts.typed_text(node)
            if self.parts.spark_computes and self.parts.needs_one_row(node):
                return
        for child in node.children:
            yield from self._texts_to_type(child)

    def _value(self, node: Node, wanted: str) -> Scalar:
        """The value of a node, in the Spark type `wanted`."""
        try:
            return self._value_of(node, wanted)
        except SqlExtError as e:  # also what is wrong with a constant argument, as in percentile(x, 5)
            raise e.placed(self.parts.place(node)) from None

    def _value_of(self, node: Node, wanted: str) -> Scalar:
        parts, have = self.parts, self._type(node)
        if have == "void" or node.kind == "unit":
            return Constant(node.name, "string") if node.kind == "unit" else Constant(None, wanted)
        if node.padded and not parts.spark_computes:
            value = self._value(replace(node, padded=0), "string")
            return self._cast(self._bound("rpad", (value, Constant(node.padded, "int")), "string", node), wanted)
        if parts.is_text(node) and not combines_searches(node) and (parts.spark_computes or not node.children):
            references = parts.run_dependent(node)
            if not references:
                return self._local(node, have, wanted)
            if parts.reads_one_row(node, references) and parts.spark_computes:
                return self._navigated(node, references[0], have, wanted)
            if node.kind == "reference":
                return self._cast(self._reference(references[0], have), wanted)
        return self._cast(self._call(node, have), wanted)

    def _type(self, node: Node) -> str:
        return "string" if node.kind == "unit" else self.parts.type(node)

    def _cast(self, value: Scalar, wanted: str) -> Scalar:
        return value if value.type == wanted else self._bound("CAST", (value,), wanted, None)

    def _spark_cast(self, text: Text, have: str, wanted: str) -> tuple[Text, str]:
        """The text with the part of a cast that cannot fail on rows that no condition tests, and its type."""
        if have in (wanted, "string"):
            return text, have
        return self.parts.cast(text, have, wanted), wanted

    # parts that one row decides

    def _local(self, node: Node, have: str, wanted: str) -> Scalar:
        """The value of a node that the current row alone decides."""
        text = self.parts.text(node, self.parts.local_text)
        if node.kind == "literal":
            (value,) = self.parts.resolver.values([self.parts.cast(text, have, wanted)], [wanted])
            return Constant(value, wanted)
        text, have = self._spark_cast(text, have, wanted)
        return self._cast(self._operand(text, have), wanted)

    def _navigated(self, node: Node, reference: Reference, have: str, wanted: str) -> Scalar:
        """The value of a node that Spark computes on every row and the navigation reads.

        If there is no such row, it is the value that the node has for NULL: `coalesce(LAST(A.v), 0)` is then 0.
        """
        parts = self.parts
        text, have = self._spark_cast(parts.text(node, parts.typed_reference), have, wanted)
        value = Read(parts.navigation(reference, self.parts.object_column(text, have)), have)
        if node.kind == "reference":
            return self._cast(value, wanted)
        missing = parts.cast(parts.missing_text(node), "", have)
        if not parts.holds_query(node) and parts.resolver.constant(join("(", missing, ") IS NULL")):
            return self._cast(value, wanted)
        is_there = Read(parts.navigation(reference, self.parts.object_column(join("TRUE"), "boolean")), "boolean")
        whole = self._bound("if", (is_there, value, self._operand(missing, have)), have, None)
        return self._cast(whole, wanted)

    def _reference(self, reference: Reference, spark_type: str) -> Scalar:
        parts = self.parts
        if reference.kind == "classifier":
            return Read(parts.navigation(reference, CLASSIFIER_NAME), spark_type)
        if reference.kind == "match number":
            return Read(Navigation(argument=MATCH_NUMBER), spark_type)
        if reference.kind == "sequence number":
            return Read(Aggregate(function="count"), spark_type)
        arguments = InterpretedArguments(parts, _lower)
        if reference.kind == "navigation" and not reference.argument_items:  # `A.v`
            return Read(
                parts.navigation(reference, self.parts.object_column(reference.arguments[0], spark_type)), spark_type
            )
        if reference.kind == "navigation":
            return arguments.navigated(reference, spark_type)
        if not reference.argument_items:
            return Read(parts.aggregate(reference, None), spark_type)
        return arguments.aggregated(reference, spark_type)

    # functions

    def _call(self, node: Node, result: str) -> Scalar:
        name = node.name if node.kind == "call" else _NAMES.get(node.kind, node.kind)
        name, children = _NAMES.get(name, name), node.children
        if node.kind == "opaque":
            raise self._not_read(node)
        if node.kind == "IN query":
            return self._search(node)
        if node.kind == "field":
            value = self._value(children[0], self._type(children[0]))
            return self._bound(name, (value, Constant(node.name, "string")), result, node)
        python = self.parts.python_function(name) if node.kind == "call" else None
        if python is not None:
            return self._python_call(node, python, result)
        have = tuple(self._type(child) for child in children)
        if collated := next((kind for kind in have if COLLATED in kind), None):
            arrow_type(collated)  # refuses it, since only Spark compares its values
        try:
            wanted = parameter_types(name, have, result, self.parts.settings)
        except UnsupportedError as e:
            raise e.with_(place=self.parts.place(node)) from None
        arguments = tuple(self._value(child, t) for child, t in zip(children, wanted))
        return self._bound(name, arguments, result, node)

    def _python_call(self, node: Node, python: PythonFunction, result: str) -> Scalar:
        """The call of a UDF of the session with its arguments as they are. The UDF is called more than once per row."""
        if not python.is_deterministic:
            raise UnsupportedError(
                "DEFINE_EXPRESSION",
                f"{python.name}() is not deterministic, so a condition over several rows cannot call it",
                place=self.parts.place(node),
                hint="compute it in a subquery that is the input.",
            )
        types = tuple(self._type(child) for child in node.children)
        arguments = tuple(self._value(child, t) for child, t in zip(node.children, types))
        call = ScalarCall(
            function=python.name, arguments=arguments, type=result, settings=self.parts.settings, python=python
        )
        return self._checked(call, node)

    def _search(self, node: Node) -> ScalarCall:
        """The call for `value [NOT] IN (query)`: Spark collects the query's values once, and workers search in them.

        If the query has no rows, no value is in its result, not even NULL.
        """
        (child,) = node.children
        if child.kind == "call" and child.name == "struct" and len(child.children) > 1:
            raise UnsupportedError(
                "DEFINE_EXPRESSION",
                "DEFINE cannot search a row over several rows in a subquery",
                place=self.parts.place(node),
                hint="search one value, for example concat_ws('|', A.a, B.b) IN (SELECT concat_ws('|', a, b) FROM t).",
            )
        is_negated = getattr(self.parts.items[child.stop], "word", "") == "NOT"
        query = self.parts.query_at(child.stop + 1 + is_negated)
        values = join("(SELECT transform(collect_list(struct(v)), x -> x.v) FROM ", query, " AS q (v))")
        exists = join("EXISTS ", query)
        self.parts.resolve([values, exists])
        have = (self.parts.types[str(values)], self._type(child))
        try:
            wanted = parameter_types("array_contains", have, "boolean", self.parts.settings)
        except UnsupportedError as e:
            raise e.with_(place=self.parts.place(node)) from None
        list_of_values, type_of_list = self._spark_cast(values, have[0], wanted[0])
        is_in_list = self._bound(
            "array_contains",
            (self._operand(list_of_values, type_of_list), self._value(child, wanted[1])),
            "boolean",
            node,
        )
        both = (self._operand(exists, "boolean"), is_in_list)
        search = self._bound("AND", both, "boolean", node)
        return self._bound("NOT", (search,), "boolean", node) if is_negated else search

    def _operand(self, text: Text, spark_type: str) -> Read:
        """The value of a text on the current row."""
        return Read(Navigation(argument=self.parts.object_column(text, spark_type)), spark_type)

    def _bound(self, name: str, arguments: tuple[Scalar, ...], result: str, node: Node | None) -> ScalarCall:
        """The call of a function. Raises UnsupportedError if it cannot be computed."""
        call = ScalarCall(function=name, arguments=arguments, type=result, settings=self.parts.settings)
        return self._checked(call, node)

    def _checked(self, call: ScalarCall, node: Node | None) -> ScalarCall:
        try:
            call.apply  # noqa: B018  (binds the function, which refuses what it cannot compute)
        except UnsupportedError as e:
            raise e.with_(place=e.place or (self.parts.place(node) if node else None)) from None
        return call

    def _not_read(self, node: Node) -> UnsupportedError:
        if node.name == DEEP:
            message = f"an expression over several rows nests operators and functions at most {MAX_NESTING} levels deep"
            hint = "compute parts of it in a subquery that is the input, or inside the navigations."
            return UnsupportedError("TOO_DEEP", message, place=self.parts.place(node), hint=hint)
        return UnsupportedError(
            "DEFINE_EXPRESSION",
            "DEFINE cannot compute this expression over several rows",
            place=self.parts.place(node),
            hint="over several rows there are no lambdas and window functions; compute in the navigation "
            "what one row decides: LAST(transform(A.list, x -> x + 1)).",
        )


def _lower(parts: ConditionParts, node: Node, spark_type: str) -> Scalar:
    return InterpretedCondition(parts).value(node, spark_type)
