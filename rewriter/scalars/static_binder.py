"""Parses the text of a scalar expression over one row into its tree, with names and types resolved without Spark.

Rules are compiled without a session: on the workers of a stream, from the texts in the rules table. `sqlext_match` and
`sqlext warm` have no session either. So types come from the columns and from `function_table.result_type`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from sqlext.errors import BindError, Place, SqlExtError, UnsupportedError
from sqlext.expressions.function import CALENDAR_INTERVALS, ExecutionSettings
from sqlext.expressions.function_table import FUNCTIONS
from sqlext.expressions.python_functions import PythonFunction
from sqlext.expressions.scalar_tree import Column, Constant, Scalar, ScalarCall, call, call_python, columns_in
from sqlext.expressions.spark_types import decimal_of, is_interval, renamed_timestamp
from sqlext.expressions.times import refused_policy
from sqlext.expressions.values import arrow_type
from sqlext.pattern.task.task import LiteralValue
from sqlext.rewriter.scalars.aggregate_text import aggregate_type_of
from sqlext.rewriter.scalars.char_padding import padded_lengths
from sqlext.rewriter.scalars.expression import Node, calls_by_name, own_items, parse
from sqlext.rewriter.scalars.literals import literal
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import Lexeme, lexemes
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.splice import Text

NOT_IN_TABLE = "SQLEXT_FUNCTION_OVER_SEVERAL_ROWS"
# names of nodes, and aliases of functions → names of functions
_NAMES = {"iff": "if", "DIV": "div", "element": "[]", "between": "BETWEEN"}
_TYPES = {
    "integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint", "real": "float", "bool": "boolean",
    "decimal": "decimal(10,0)", "dec": "decimal(10,0)", "numeric": "decimal(10,0)", "timestamp_ltz": "timestamp",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class StaticBinder:
    """Binds expressions to columns of known types. It is a TypeResolver for lowering clauses without Spark.

    `columns`: the Spark type of each column, by its name; `functions`: the Python UDFs of the session, by their names
    in lower case; `text`: the user's whole text, for places of errors; `chars`: the lengths of the
    CHAR columns, whose values Spark pads.
    """

    columns: Mapping[str, str]
    settings: ExecutionSettings
    chars: Mapping[str, int] = field(default_factory=dict)
    functions: Mapping[str, PythonFunction] = field(default_factory=dict)
    text: str = ""
    trees: dict[str, Scalar] = field(default_factory=dict)

    def tree(self, text: Text) -> Scalar:
        """The tree of an expression.

        Raises BindError (names, types) and UnsupportedError, with the place where the user wrote the text.
        """
        key = str(text)
        if key not in self.trees:
            items = lexemes(Fragment(key, 0, len(key)))
            node = parse(items, 0, len(items), with_aliases=True)
            self.trees[key] = _TreeBuilder(self, items, text).scalar(node)
        return self.trees[key]

    # as the TypeResolver of a lowering

    def types(self, texts: Sequence[Text]) -> list[str]:
        """The types of expressions, or of aggregates of expressions over rows."""
        return [self._aggregate_type(text) or self.tree(text).type for text in texts]

    def _aggregate_type(self, text: Text) -> str | None:
        return aggregate_type_of(self, text, self.place(text, 0, len(str(text))))

    def values(self, texts: Sequence[Text], types: Sequence[str]) -> list[Any]:
        return [self._constant(text) for text in texts]

    def constant(self, text: Text) -> LiteralValue:
        """The value of a constant expression; NULL for an expression that cannot be computed, as it is on rows."""
        return stored_value(self._constant_or_null(text), self.types([text])[0])

    def _constant_or_null(self, text: Text) -> Any:
        tree = self.tree(text)
        if isinstance(tree, Constant) or next(columns_in(tree), None) is not None:
            return self._constant(text)
        return True if isinstance(tree, ScalarCall) and tree.function == "IS NULL" else None

    def _constant(self, text: Text) -> Any:
        tree = self.tree(text)
        if not isinstance(tree, Constant):
            raise UnsupportedError(
                "EXPRESSION", f"{text} must be a constant", place=self.place(text, 0, len(str(text)))
            )
        return tree.value

    def place(self, text: Text, start: int, stop: int) -> Place | None:
        """The place in the user's text of characters `start` to `stop` of an expression, or None if it has none."""
        origins = text.origins(start, stop)
        return Place(self.text, min(origins), max(origins) + 1) if origins and self.text else None


def stored_value(value: Any, spark_type: str) -> LiteralValue:
    """A value as compiled conditions store it."""
    digits = decimal_of(spark_type)
    return int(value.scaleb(digits[1])) if digits and value is not None else value


def certain_constant(text: Text, settings: ExecutionSettings) -> Constant | None:
    """The value of literals, casts and operators over them, as Spark computes it; None for all other expressions.

    Functions that are called by name are left to Spark, where the session may have another one of the name.

    >>> from sqlext.rewriter.text.splice import join
    >>> utc = ExecutionSettings(is_ansi=True, time_zone="UTC")
    >>> [certain_constant(join(text), utc) for text in ("CAST(NULL AS int) + 5", "1.50", "abs(1)", "v + 1")]
    [Constant(value=None, type='int'), Constant(value=Decimal('1.50'), type='decimal(3,2)'), None, None]
    """
    items = lexemes(Fragment(str(text), 0, len(str(text))))
    if calls_by_name(parse(items, 0, len(items))):
        return None
    try:
        tree = StaticBinder(columns={}, settings=settings).tree(text)
    except SqlExtError:
        return None
    return tree if isinstance(tree, Constant) else None


@dataclass(frozen=True)
class _TreeBuilder:
    texts: StaticBinder
    items: Sequence[Lexeme]
    text: Text

    def scalar(self, node: Node) -> Scalar:
        try:
            return self._scalar(node)
        except (BindError, UnsupportedError) as e:
            first, last = self.items[node.start], self.items[node.stop - 1]
            place = e.place or self.texts.place(self.text, first.start, last.stop)
            raise e.with_(place=place) from None

    def _scalar(self, node: Node) -> Scalar:
        kind, settings = node.kind, self.texts.settings
        if kind == "literal":
            return self._with_interval(literal([x.raw for x in own_items(node, self.items)], settings))
        if kind == "negate" and self._is_number(node.children[0]):
            return literal(["-", self.items[node.children[0].start].raw], settings)
        if kind == "unit":
            return Constant(node.name, "string")
        if kind == "column":
            return self._column(node)
        if kind == "field":
            return call(".", (self.scalar(node.children[0]), Constant(node.name, "string")), settings)
        if kind in ("CAST", "TRY_CAST"):
            written = type_name(node.name, settings.timestamp_type)
            return call(kind, (self.scalar(node.children[0]),), settings, written)
        if kind in ("opaque", "alias", "query", "IN query", "reference"):
            raise self._not_read("this expression")
        name = node.name if kind == "call" else kind
        if name == "struct":
            return self._struct(node)
        return self._call(_NAMES.get(name, name), tuple(self.scalar(child) for child in node.children))

    def _is_number(self, node: Node) -> bool:
        """True for a number without parentheses around it, to which a sign in front of it belongs."""
        return node.kind == "literal" and self.items[node.start].raw[0].isdigit()

    def _call(self, name: str, arguments: tuple[Scalar, ...]) -> Scalar:
        python, settings = self.texts.functions.get(name), self.texts.settings
        if python is not None:
            return self._python_call(python, arguments)
        if name not in FUNCTIONS:
            raise self._not_read(name)
        arguments = self._padded(name, arguments)
        if policy := refused_policy(name, tuple(argument.type for argument in arguments), settings):
            raise UnsupportedError(
                "RULE_EXPRESSION",
                f"a rule cannot compute {name}() as spark.sql.legacy.timeParserPolicy = {policy} wants it",
                hint="SET spark.sql.legacy.timeParserPolicy = CORRECTED.",
            )
        try:
            return self._with_interval(call(name, arguments, settings))
        except UnsupportedError as e:
            if e.error_class != NOT_IN_TABLE:
                raise
            types = ", ".join(argument.type for argument in arguments) or "nothing"
            raise UnsupportedError(
                "RULE_EXPRESSION",
                f"a rule cannot compute {name} of {types}",
                hint="CAST its arguments to types that it takes.",
            ) from None

    def _padded(self, name: str, arguments: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
        """The arguments; if Spark pads them, because some are CHAR columns, they are padded."""
        chars, settings = self.texts.chars, self.texts.settings
        columns = [chars.get(a.name) if isinstance(a, Column) else None for a in arguments]
        if all(length is None for length in columns):
            return arguments
        texts = [len(a.value) if isinstance(a, Constant) and isinstance(a.value, str) else None for a in arguments]
        lengths = padded_lengths(name, columns, texts, settings.is_on)
        return tuple(call("rpad", (a, Constant(n, "int")), settings) if n else a for a, n in zip(arguments, lengths))

    def _with_interval(self, scalar: Scalar) -> Scalar:
        """The expression, unless it is an interval that has another type for Spark. Raises UnsupportedError."""
        if is_interval(scalar.type) and CALENDAR_INTERVALS in self.texts.settings.is_on:
            raise UnsupportedError(
                "RULE_EXPRESSION",
                f"a rule cannot compute the intervals of {CALENDAR_INTERVALS} = true",
                hint=f"SET {CALENDAR_INTERVALS} = false.",
            )
        return scalar

    def _python_call(self, python: PythonFunction, arguments: tuple[Scalar, ...]) -> Scalar:
        if not python.is_deterministic:
            message = f"{python.name}() is not deterministic, so a rule cannot call it"
            raise UnsupportedError("RULE_EXPRESSION", message, hint="compute it in the query that reads the events.")
        return call_python(python, arguments, self.texts.settings)

    def _struct(self, node: Node) -> Scalar:
        """The tree of `struct(a, s.b, c + 1, d AS e)`, whose fields are named after columns, fields and aliases, or by
        their numbers."""
        parts: list[Scalar] = []
        for i, child in enumerate(node.children, 1):
            is_named = child.kind in ("alias", "field")
            value = self.scalar(child.children[0] if child.kind == "alias" else child)
            name = child.name if is_named else value.name if isinstance(value, Column) else f"col{i}"
            parts += [Constant(name, "string"), value]
        return call("named_struct", tuple(parts), self.texts.settings)

    def _column(self, node: Node) -> Column:
        (lexeme,) = own_items(node, self.items)
        name = unquoted(lexeme.raw).lower()
        for column, spark_type in self.texts.columns.items():
            if column.lower() == name:
                arrow_type(spark_type)
                return Column(column, spark_type)
        shown = ", ".join(column for column in self.texts.columns if column[:2] != "__")
        raise BindError("UNRESOLVED_COLUMN", f"there is no column {lexeme.raw}", hint=f"the columns are {shown}.")

    def _not_read(self, what: str) -> UnsupportedError:
        known = [*function_names(), *self.texts.functions]
        similar = get_close_matches(what, known, n=3, cutoff=0.8)  # not rpad() for rand()
        close = " or ".join(f"{name}()" for name in similar)
        meant = f"did you mean {close}? " if close else ""
        return UnsupportedError(
            "RULE_EXPRESSION",
            f"a rule cannot compute {what}" + ("" if " " in what else "()"),
            hint=f"{meant}rules have operators, CASE, CAST, registered Python UDFs and the functions of "
            "docs/functions.md, but no subqueries and no lambdas.",
        )


def function_names() -> list[str]:
    """The functions that expressions of rules may call, in order."""
    return sorted(name for name in FUNCTIONS if name[:1].islower() and name != "negate")  # an operator


def type_name(written: str, timestamp_type: str = "timestamp") -> str:
    """The simple name of a type as written in a CAST. Raises UnsupportedError: TYPE_OF_EXPRESSION.

    `timestamp_type`: the type that TIMESTAMP names.

    >>> type_name("decimal ( 10 , 2 )"), type_name("integer"), type_name("interval day to second")
    ('decimal(10,2)', 'int', 'interval day to second')
    >>> [type_name(written, "timestamp_ntz") for written in ("TIMESTAMP", "array<timestamp>", "TIMESTAMP_LTZ")]
    ['timestamp_ntz', 'array<timestamp_ntz>', 'timestamp']
    """
    name = " ".join(written.lower().split())
    if not name.startswith("interval"):
        name = re.sub(r"\s+", "", name)
    name = renamed_timestamp(name, timestamp_type)
    name = re.sub(r"^(dec|numeric)\(", "decimal(", _TYPES.get(name, name))
    name = re.sub(r"^decimal\((\d+)\)$", r"decimal(\1,0)", name)
    arrow_type(name)
    return name
