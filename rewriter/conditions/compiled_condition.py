"""Lowers the tree of a run-dependent condition to Calls over numbers, ranks and Booleans, which are compiled.

Matchers evaluate the operators and the functions in FUNCTIONS as machine code. If a condition needs more, an
UnsupportedError reports what it needs, and the condition is interpreted instead (`interpreted_condition`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlext.errors import Place, UnsupportedError
from sqlext.expressions.calendars import DAY_US
from sqlext.expressions.function_table import parameter_types
from sqlext.expressions.spark_types import FLOATS, INTEGER_BITS, MAX_DIGITS, TIMESTAMPS, decimal_of, kind_of
from sqlext.pattern.task.task import (
    CLASSIFIER,
    MATCH_NUMBER,
    Aggregate,
    Condition,
    Literal,
    LiteralValue,
    MachineCall,
    Navigation,
    Operand,
)
from sqlext.rewriter.conditions.condition_parts import ConditionParts, padded_text
from sqlext.rewriter.scalars.expression import Node, combines_searches
from sqlext.rewriter.scalars.references import Reference
from sqlext.rewriter.text.nesting import MAX_NESTING, balanced
from sqlext.rewriter.text.splice import Text, join

FUNCTIONS = ("abs", "coalesce", "nvl", "ifnull", "nullif", "if", "iff", "least", "greatest")
_COMPARISONS = {
    "=": "equal",
    "<>": "not_equal",
    "<=>": "null_safe_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "less",
    ">=": "less_equal",
}
_ARITHMETIC = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "remainder"}
_OTHER_KINDS = ["AND", "OR", "NOT", "negate", "BETWEEN", "IN", "CASE", "CAST", "call", "reference", "literal", "column"]
_KINDS = frozenset([*_COMPARISONS, *_ARITHMETIC, *_OTHER_KINDS, "IS NULL"])
_EXACT_DIGITS = 15  # integers with at most this number of digits are exact as a double


@dataclass(frozen=True)
class CompiledCondition:
    """Lowers a condition to Calls. Every method raises UnsupportedError for what cannot be compiled."""

    parts: ConditionParts

    def lower(self, node: Node) -> Condition:
        """The Condition of a Boolean node."""
        self.parts.resolve(self.texts_to_type(node))
        return self._lower(node, "boolean")

    def texts_to_type(self, node: Node) -> Iterable[Text]:
        """The texts whose types `lower` needs."""
        if self.parts.is_text(node):
            yield self.parts.typed_text(node)
        if self.parts.spark_computes and self.parts.is_text(node) and self.parts.needs_one_row(node):
            return
        if (node.kind == "call" and node.name not in FUNCTIONS) or node.kind not in _KINDS:
            raise self._several_rows(node)
        for child in node.children:
            yield from self.texts_to_type(child)

    # nodes

    def _lower(self, node: Node, wanted: str) -> Condition:
        """The node as a Condition whose values are of the Spark type `wanted`."""
        if combines_searches(node):
            return self._call(node)
        references = self.parts.run_dependent(node)
        if not references and self._is_null_cast(node):
            return Literal(None, self._kind(wanted, node))
        if not references and self.parts.is_text(node) and (self.parts.spark_computes or not node.children):
            return self._local(node, wanted)
        if self.parts.is_text(node) and references and self.parts.reads_one_row(node, references):
            operand = self._navigated(node, references[0], wanted)
            if operand is not None:
                return operand
        if node.kind == "reference":
            return self._convert(self._reference(references[0], node), self.parts.type(node), wanted, node)
        return self._convert(self._call(node), self.parts.type(node), wanted, node)

    def _within_64_bits(self, value: LiteralValue, node: Node) -> LiteralValue:
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise self._unsupported(node, "a constant of so many digits", "write it with fewer digits.")
        return value

    def _is_null_cast(self, node: Node) -> bool:
        """True if the node is `CAST(NULL AS type)`, for which no column is needed."""
        if node.kind != "CAST" or node.children[0].kind != "literal":
            return False
        return str(self.parts.typed_text(node.children[0])).strip("() ").upper() == "NULL"

    def _local(self, node: Node, wanted: str) -> Condition:
        """The node as an operand that Spark computes on the current row."""
        text, have = self.parts.text(node, self.parts.local_text), self.parts.type(node)
        if node.kind == "literal" and _kind_of(wanted) != "rank":
            value = self.parts.resolver.constant(self.parts.cast(text, have, wanted))
            return Literal(self._within_64_bits(value, node), self._kind(wanted, node))
        if not self.parts.spark_computes:
            operand = Operand(Navigation(argument=self._column(text, have)), self._kind(have, node))
            return self._convert(operand, have, wanted, node)
        column = self._column(self.parts.cast(text, have, wanted), wanted)
        return Operand(Navigation(argument=column), self._kind(wanted, node))

    def _navigated(self, node: Node, reference: Reference, wanted: str) -> Condition | None:
        """The node as an operand that Spark computes on every row and the navigation reads, or None.

        If there is no such row, its value is a separate constant: `coalesce(LAST(A.v), 0)` is then 0.
        """
        if not self.parts.spark_computes:
            return None
        index = self._column(
            self.parts.cast(self.parts.text(node, self.parts.typed_reference), self.parts.type(node), wanted), wanted
        )
        source, kind = self.parts.navigation(reference, index), self._kind(wanted, node)
        if node.kind == "reference":
            return Operand(source, kind)
        missing = self.parts.cast(self.parts.missing_text(node), self.parts.type(node), wanted)
        if not self.parts.holds_query(node):
            if _kind_of(wanted) != "rank":
                return Operand(source, kind, self.parts.resolver.constant(missing))
            if self.parts.resolver.constant(join("(", missing, ") IS NULL")):
                return Operand(source, kind)
        one = Operand(self.parts.navigation(reference, self._column(join("1"), "int")), "int")
        constant = Operand(Navigation(argument=self._column(missing, wanted)), kind)
        return _call("if", kind, _call("is_null", "bool", one), constant, Operand(source, kind))

    def _reference(self, reference: Reference, node: Node) -> Condition:
        if reference.kind == "classifier":
            return Operand(self.parts.navigation(reference, CLASSIFIER), "int")
        if reference.kind == "match number":
            return Operand(Navigation(argument=MATCH_NUMBER), "int")
        if reference.kind == "sequence number":
            return Operand(Aggregate(function="count"), "int")
        if reference.argument_kind == "row" and (reference.reads_labels or reference.reads_numbers):
            raise self._several_rows(node)
        if reference.kind == "navigation":
            spark_type = self.parts.types[str(self.parts.typed_reference(reference))]
            text = padded_text(reference.arguments[0], node.padded)
            column = self._column(text, spark_type)
            return Operand(self.parts.navigation(reference, column), _kind_of(spark_type) or "")
        if self.parts.plain_aggregate_type(reference) is None:
            raise self._several_rows(node)
        index = CLASSIFIER if reference.argument_kind == "classifier" else None
        if reference.arguments:
            argument = self.parts.types[str(reference.arguments[0])]
            if _kind_of(argument) is None:
                raise self._no_kind(argument, reference.place)
            index = self._column(reference.arguments[0], argument)
        spark_type = self.parts.aggregate_type(reference)
        kind, aggregate = _kind_of(spark_type) or "int", self.parts.aggregate(reference, index)
        if reference.function == "sum" and (digits := decimal_of(spark_type)):
            aggregate = replace(aggregate, digits=digits[0], is_ansi=self.parts.settings.is_ansi)
        return Operand(aggregate, "int" if kind == "rank" else kind)

    def _column(self, text: Text, spark_type: str) -> int:
        return self.parts.column(text, spark_type, _kind_of(spark_type) or "")

    def _call(self, node: Node) -> Condition:
        kind, children = node.kind, node.children
        if kind in ("AND", "OR"):
            return _call(kind.lower(), "bool", *(self._lower(c, "boolean") for c in children))
        if kind == "NOT":
            return _call("not", "bool", self._lower(children[0], "boolean"))
        if kind == "IS NULL":
            return _call("is_null", "bool", self._lower(children[0], self.parts.type(children[0])))
        if kind in _COMPARISONS:
            common = self._common_type(kind, *children)
            return self._compare(kind, *(self._lower(c, common) for c in children))
        if kind == "BETWEEN":
            return self._between(*children)
        if kind == "IN":
            common = self._common_type(kind, *children)
            value, *choices = (self._lower(c, common) for c in children)
            return chain("or", [self._compare("=", value, c) for c in choices], "bool")
        if kind in _ARITHMETIC:
            return self._arithmetic(node)
        return self._function(node)

    def _common_type(self, function: str, *operands: Node) -> str:
        """The type in which Spark compares the operands of a comparison or of IN."""
        types = tuple(self.parts.type(operand) for operand in operands)
        return parameter_types(function, types, "boolean", self.parts.settings)[0]

    def _between(self, value: Node, low: Node, high: Node) -> Condition:
        """The comparisons with both bounds. Spark compares each in a type of its own; one for both is the same where
        all values are exact in it."""
        exact = self._common_type("IN", value, low, high)
        commons = [self._common_type("<=", value, bound) for bound in (low, high)]
        of_low, of_high = commons if exact in (*FLOATS, "string") else (exact, exact)
        at_least = self._compare("<=", self._lower(low, of_low), self._lower(value, of_low))
        at_most = self._compare("<=", self._lower(value, of_high), self._lower(high, of_high))
        return _call("and", "bool", at_least, at_most)

    def _compare(self, operator: str, left: Condition, right: Condition) -> Condition:
        arguments = (right, left) if operator in (">", ">=") else (left, right)
        return _call(_COMPARISONS[operator], "bool", *arguments)

    def _arithmetic(self, node: Node) -> Condition:
        result, arguments = self.parts.type(node), [self.parts.type(c) for c in node.children]
        function = _ARITHMETIC[node.kind]
        if (result in INTEGER_BITS and function != "divide") or result == "double":
            return self._same(function, node, result)
        digits, scales = decimal_of(result), [(decimal_of(t) or (0, 0))[1] for t in arguments]
        is_exact = digits and set(map(_kind_of, arguments)) == {"int"}
        if digits and is_exact and function in ("add", "subtract") and max(scales) == digits[1]:
            return self._same(function, node, result)
        if digits and is_exact and function == "multiply" and sum(scales) == digits[1]:
            return MachineCall(
                function=function,
                arguments=tuple(self._lower(c, t) for c, t in zip(node.children, arguments)),
                kind="int",
                is_ansi=self.parts.settings.is_ansi,
                digits=digits[0],
            )
        if function == "subtract" and set(arguments) <= set(TIMESTAMPS):  # Spark subtracts local times
            return self._same(function, node, "timestamp_ntz")
        if function == "subtract" and arguments == ["date", "date"]:
            return _call("multiply", "int", self._same(function, node, "date"), Literal(DAY_US, "int"))
        raise self._unsupported(
            node,
            f"{' '.join((arguments[0], node.kind, arguments[1]))} of different rows",
            "CAST both sides AS DOUBLE, or compute in the navigation what one row decides: LAST(A.ts + bound).",
        )

    def _same(self, function: str, node: Node, spark_type: str) -> MachineCall:
        """The call of a function whose arguments all have one type."""
        arguments = tuple(self._lower(c, spark_type) for c in node.children)
        return MachineCall(
            function=function,
            arguments=arguments,
            kind=self._kind(spark_type, node),
            bits=INTEGER_BITS.get(spark_type, 64),
            is_ansi=self.parts.settings.is_ansi,
            digits=(decimal_of(spark_type) or (0,))[0],
        )

    def _function(self, node: Node) -> Condition:
        result = self.parts.type(node)
        if node.kind == "negate" or (node.kind == "call" and node.name == "abs"):
            return self._same("negate" if node.kind == "negate" else "abs", node, result)
        kind = self._kind(result, node)
        if node.kind == "CAST" and result in (*INTEGER_BITS, "double"):
            own = self.parts.type(node.children[0])
            return self._convert(self._lower(node.children[0], own), own, result, node)
        if node.kind == "CASE":
            return self._case(node, result, kind)
        if node.kind != "call":
            raise self._several_rows(node)
        if node.name in ("coalesce", "nvl", "ifnull", "least", "greatest"):
            name = node.name if node.name in ("least", "greatest") else "coalesce"
            return chain(name, [self._lower(c, result) for c in node.children], kind)
        if node.name in ("if", "iff") and len(node.children) == 3:
            condition, then, otherwise = node.children
            decision = self._lower(condition, "boolean")  # first: columns are numbered in the order of the text
            return _call("if", kind, decision, self._lower(then, result), self._lower(otherwise, result))
        if node.name == "nullif" and len(node.children) == 2:
            common = self._common_type("=", *node.children)
            left, right = (self._lower(c, common) for c in node.children)
            value = self._lower(node.children[0], result)
            return _call("if", kind, self._compare("=", left, right), Literal(None, kind), value)
        raise self._several_rows(node)

    def _case(self, node: Node, result: str, kind: str) -> Condition:
        parts = list(node.children)
        if len(parts) > 2 * MAX_NESTING:  # each WHEN would be inside the one before it
            raise self._several_rows(node)
        value: Condition = self._lower(parts.pop(), result) if len(parts) % 2 else Literal(None, kind)
        while parts:
            then, condition = self._lower(parts.pop(), result), parts.pop()
            value = _call("if", kind, self._lower(condition, "boolean"), then, value)
        return value

    def _kind(self, spark_type: str, node: Node) -> str:
        kind = _kind_of(spark_type)
        if kind is None:
            raise self._no_kind(spark_type, self.parts.place(node))
        return "int" if kind == "rank" else kind

    def _no_kind(self, spark_type: str, place: Place) -> UnsupportedError:
        return UnsupportedError(
            "TYPE_IN_DEFINE",
            f"a condition over several rows cannot use {spark_type}",
            place=place,
            hint="it can use numbers, booleans, dates, timestamps and plain strings.",
        )

    def _convert(self, value: Condition, spark_type: str, wanted: str, node: Node) -> Condition:
        """A value of a MachineCall, converted to another type. Only the widenings that Spark inserts are possible."""
        if spark_type == wanted or _kind_of(spark_type) == _kind_of(wanted) == "float":
            return value
        if spark_type in INTEGER_BITS and wanted in INTEGER_BITS and INTEGER_BITS[wanted] >= INTEGER_BITS[spark_type]:
            return value
        digits = decimal_of(spark_type) or (spark_type in INTEGER_BITS and (0, 0))
        wanted_digits = decimal_of(wanted)
        if digits and wanted == "double" and digits[0] <= _EXACT_DIGITS:
            as_float = _call("float", "float", value)
            return _call("divide", "float", as_float, Literal(10.0 ** digits[1], "float")) if digits[1] else as_float
        more = wanted_digits[1] - digits[1] if digits and wanted_digits else -1
        if wanted_digits and 0 <= more <= MAX_DIGITS:
            if not more:
                return value
            return MachineCall(
                function="multiply",
                arguments=(value, Literal(10**more, "int")),
                kind="int",
                is_ansi=self.parts.settings.is_ansi,
                digits=wanted_digits[0],
            )
        raise self._unsupported(
            node,
            f"the conversion of {spark_type} to {wanted} over several rows",
            "write the CAST on the column inside the navigation.",
        )

    def _several_rows(self, node: Node) -> UnsupportedError:
        what = f"{node.name}() over several rows" if node.kind == "call" else "this expression over several rows"
        return self._unsupported(
            node, what, f"over several rows it can use operators, CASE, CAST between numbers, {', '.join(FUNCTIONS)}."
        )

    def _unsupported(self, node: Node, what: str, hint: str) -> UnsupportedError:
        return UnsupportedError(
            "DEFINE_EXPRESSION", f"DEFINE cannot compute {what} yet", place=self.parts.place(node), hint=hint
        )


def _kind_of(spark_type: str) -> str | None:
    """The kind in which matchers store values of a type, as `kind_of`, with a decimal of any precision as its unscaled
    value."""
    return "int" if decimal_of(spark_type) else kind_of(spark_type)


def chain(function: str, arguments: Sequence[Condition], kind: str) -> Condition:
    """The call f(a, b, c) as f(f(a, b), c), or as another tree of such calls, because the functions are associative."""
    return balanced(arguments, lambda a, b: _call(function, kind, a, b))


def _call(function: str, kind: str, *arguments: Condition) -> MachineCall:
    return MachineCall(function=function, arguments=arguments, kind=kind)
