"""Parses a scalar expression into a tree, for the conditions that depend on the match so far.

It is a small operator-precedence parser over the items of `scalars`. Every node keeps its range of items, so Spark can
compute any part of the expression as the user wrote it. Syntax that the parser does not know (lambdas) becomes an
"opaque" node, which must be computable from one row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

from sqlext.rewriter.scalars.references import Item, Reference, closing_item, words_of_items
from sqlext.rewriter.text.and_list import split_at_all_ands, split_at_and
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import SUBQUERY_STARTS, Lexeme, lexemes
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.nesting import MAX_NESTING, balanced
from sqlext.rewriter.tree.keywords import INTERVAL_UNITS

# https://spark.apache.org/docs/latest/sql-ref-operators.html "Operator Precedence", loosest first
COMPARISONS = frozenset({"=", "==", "<=>", "<>", "!=", "<", "<=", ">", ">="})
SHIFTS = (">>>", ">>", "<<")  # the tokenizer reads their characters one by one
_BINARY = {
    "OR": 1,
    "AND": 2,
    **dict.fromkeys(COMPARISONS, 5),
    "|": 6,
    "^": 7,
    "&": 8,
    **dict.fromkeys(SHIFTS, 9),
    "+": 10,
    "-": 10,
    "||": 10,
    "*": 11,
    "/": 11,
    "%": 11,
    "DIV": 11,
}
_ASSOCIATIVE = ("AND", "OR")
DEEP = "deep"
AnyItem = TypeVar("AnyItem", bound=Item)
_NOT, _PREDICATE, _UNARY = 3, 4, 12
_LIKE = {"LIKE": "LIKE", "ILIKE": "ILIKE", "RLIKE": "RLIKE", "REGEXP": "RLIKE"}
_PREDICATES = ("IS", "NOT", "BETWEEN", "IN", *_LIKE)
_WITH_UNIT = ("timestampdiff", "timestampadd", "datediff", "date_diff", "dateadd", "date_add")  # with three arguments
_ENDS = (")", "]", ",", "THEN", "WHEN", "ELSE", "END", "AS", "ESCAPE")  # of an operand


@dataclass(frozen=True, kw_only=True)
class Node:
    """Items `start` to `stop` (exclusive) of an expression.

    `kind`: an operator ("AND", "<", "+", …), "NOT", "negate", "BETWEEN", "IN", "IS NULL", "CASE" (pairs of condition
    and value, then the ELSE value if there is one), "CAST" or "TRY_CAST" (`name` is the type), "LIKE", "ILIKE",
    "RLIKE", "IS DISTINCT FROM", "IS NOT DISTINCT FROM", "call" (`name` in lower case), "unit" (`MONTH` in a call, its
    `name`), "alias" (`a AS name` in a call), "query" (a scalar subquery, or EXISTS with its subquery), "IN query" (also
    NOT IN; its child is the value that is searched), "field" (`name`), "element", "path" (`va:a`), "reference",
    "literal", "column" or "opaque" (its `name` is DEEP if it is nested too deep to be read). `depth` is the number of
    nodes from this one to the furthest leaf. `padded`: the length to which a text is padded with blanks, 0 for none.
    """

    kind: str
    start: int
    stop: int
    children: tuple[Node, ...] = ()
    name: str = ""
    depth: int = 1
    padded: int = 0


def conjuncts(items: Sequence[Item]) -> list[tuple[int, int]]:
    """The ranges of items between the ANDs at the top of an expression.

    An AND of BETWEEN or inside CASE … END is not at the top; a top-level OR makes the whole expression one conjunct.
    """
    return split_at_and(words_of_items(items))


def all_conjuncts(items: Sequence[Item], lo: int, hi: int) -> list[tuple[int, int]]:
    """The ranges of items `lo` to `hi` between its ANDs, also those in parentheses around some of the members."""
    return [(lo + first, lo + stop) for first, stop in split_at_all_ands(words_of_items(items[lo:hi]))]


def own_items(node: Node, items: Sequence[AnyItem]) -> list[AnyItem]:
    """The items of a literal or of a column, which may be qualified, without the parentheses around it."""
    return [
        item for item in items[node.start : node.stop] if not isinstance(item, Lexeme) or item.raw not in ("(", ")")
    ]


def parse(items: Sequence[Item], start: int, stop: int, *, with_aliases: bool = False) -> Node:
    """The tree of items `start` to `stop`, or one opaque node if the parser cannot read them. `with_aliases`: the
    names of arguments, as in `struct(a AS b)`, are nodes too."""
    parser = _ExpressionParser(items, start, stop, with_aliases=with_aliases)
    try:
        node = parser.expression(0)
    except _CannotRead as e:
        return Node(kind="opaque", start=start, stop=stop, name=str(e))
    return node if parser.i == stop else Node(kind="opaque", start=start, stop=stop)


def compared(node: Node) -> list[Node]:
    """The values that the comparisons in a condition compare, without literals, in the order of the text."""
    if node.kind in ("AND", "OR", "NOT"):
        return [value for child in node.children for value in compared(child)]
    return [child for child in node.children or (node,) if not _says_its_value(child)]


def compared_parts(condition: Fragment) -> list[Fragment]:
    """The values that a condition over rows compares, without literals, each once.

    >>> def shown(text):
    ...     return [part.text for part in compared_parts(Fragment(text, 0, len(text)))]
    >>> shown("l.k <> 'a'"), shown("f(v) BETWEEN 1 AND v + 1"), shown("NOT (a IS NULL OR a IN (b, -2))"), shown("ok")
    (['l.k'], ['f(v)', 'v + 1'], ['a', 'b'], [])
    """
    items = lexemes(condition)
    nodes = compared(parse(items, 0, len(items)))
    parts = (Fragment.of_tokens(condition.source, items, node.start, node.stop) for node in nodes)
    return list({part.in_line: part for part in parts if part.text != condition.text}.values())


def _says_its_value(node: Node) -> bool:
    """Whether a node is a literal, also one with a sign, or has no value to show."""
    if node.kind == "negate":
        return node.children[0].kind == "literal"
    return node.kind in ("literal", "unit", "query", "opaque")


def has_column(node: Node, items: Sequence[Item]) -> bool:
    """True if the node reads columns of the current row, or may read them because it is opaque and contains names that
    are neither functions nor fields."""
    if node.kind == "opaque":
        words = ["", *(x.raw if isinstance(x, Lexeme) else "" for x in items[node.start : node.stop]), ""]
        names = (i for i, x in enumerate(items[node.start : node.stop], 1) if isinstance(x, Lexeme) and x.is_name)
        return any(words[i - 1] != "." and words[i + 1] != "(" for i in names)
    return node.kind == "column" or any(has_column(child, items) for child in node.children)


def calls_by_name(node: Node) -> bool:
    """True if the node holds the call of a function by its name."""
    return next(called_names(node), None) is not None


def called_names(node: Node) -> Iterator[str]:
    """The names of the functions that the node calls by their names."""
    if node.kind == "call":
        yield node.name
    for child in node.children:
        yield from called_names(child)


def holds_query(items: Sequence[Item]) -> bool:
    """True if there is a subquery among the items."""
    return any(word == "(" and after in SUBQUERY_STARTS for word, after in pairwise(words_of_items(items)))


def combines_searches(node: Node) -> bool:
    """True if the node combines the results of `IN (query)` by AND, OR and NOT.

    Matchers evaluate these operators, because NOT would turn a NULL of `IN (query)`, which Spark returns as false, into
    true.
    """
    if node.kind not in ("AND", "OR", "NOT"):
        return False
    return any(child.kind == "IN query" or combines_searches(child) for child in node.children)


class _CannotRead(Exception):
    pass


class _ExpressionParser:
    def __init__(self, items: Sequence[Item], start: int, stop: int, *, with_aliases: bool):
        self.items, self.i, self.stop, self.level = items, start, stop, 0
        self.with_aliases = with_aliases

    def node(self, kind: str, start: int, *children: Node, name: str = "") -> Node:
        """The node of the items from `start` to the current one."""
        depth = 1 + max((child.depth for child in children), default=0)
        if depth > MAX_NESTING:
            raise _CannotRead(DEEP)
        return Node(kind=kind, start=start, stop=self.i, children=children, name=name, depth=depth)

    def word(self, ahead: int = 0) -> str:
        i = self.i + ahead
        item = self.items[i] if i < self.stop else None
        return item.word if isinstance(item, Lexeme) else ""

    def operator(self) -> str:
        """The word here, or the operator of which it is the first character."""
        for shift in SHIFTS:
            parts = [x for x in self.items[self.i : min(self.i + len(shift), self.stop)] if isinstance(x, Lexeme)]
            if "".join(x.raw for x in parts) == shift and all(x.stop == y.start for x, y in pairwise(parts)):
                return shift
        return self.word()

    def is_literal(self, ahead: int) -> bool:
        item = self.items[self.i + ahead] if self.i + ahead < self.stop else None
        return isinstance(item, Lexeme) and item.is_literal

    def is_number(self) -> bool:
        item = self.items[self.i] if self.i < self.stop else None
        return isinstance(item, Lexeme) and item.raw[0].isdigit() and not item.is_parameter

    def is_query(self, ahead: int = 0) -> bool:
        return self.word(ahead) == "(" and self.word(ahead + 1) in SUBQUERY_STARTS

    def skip_query(self) -> None:
        """Skip a query in parentheses."""
        self.i = closing_item(self.items, self.i) + 1
        if self.i > self.stop:
            raise _CannotRead

    def expect(self, word: str) -> None:
        if self.word() != word:
            raise _CannotRead
        self.i += 1

    def expression(self, loosest: int) -> Node:
        """Read everything from here that binds at least as tightly as `loosest`."""
        self.level += 1
        if self.level > MAX_NESTING:
            raise _CannotRead(DEEP)
        node = self.operators(loosest, self.i)
        self.level -= 1
        return node

    def operators(self, loosest: int, start: int) -> Node:
        """Read operands and the operators between them."""
        node = self.prefix()
        while self.i < self.stop:
            operator = self.operator()
            power = _BINARY.get(operator)
            if power is not None and power >= loosest:
                if operator in _ASSOCIATIVE:
                    node = self.chain(operator, power, node)
                    continue
                self.i += len(operator) if operator in SHIFTS else 1
                right = self.expression(power + 1)
                node = self.node({"==": "=", "!=": "<>"}.get(operator, operator), start, node, right)
            elif loosest <= _PREDICATE and self.word() in _PREDICATES:
                node = self.predicate(start, node)
            elif power is not None or self.word() in _PREDICATES or self.word() in _ENDS:
                break
            else:
                raise _CannotRead
        return node

    def chain(self, operator: str, power: int, first: Node) -> Node:
        """Read `a AND b AND …` or `a OR b OR …` into a flat tree."""
        operands = [first]
        while self.word() == operator:
            self.i += 1
            operands.append(self.expression(power + 1))

        def combine(left: Node, right: Node) -> Node:
            return replace(self.node(operator, left.start, left, right), stop=right.stop)

        return balanced(operands, combine)

    def predicate(self, start: int, left: Node) -> Node:
        is_negated = self.word() == "NOT"
        self.i += is_negated
        word = self.word()
        self.i += 1
        if word == "BETWEEN":
            low = self.expression(_BINARY["|"])
            self.expect("AND")
            node = self.node("BETWEEN", start, left, low, self.expression(_BINARY["|"]))
        elif word == "IN" and self.is_query():
            self.skip_query()
            return self.node("IN query", start, left)
        elif word == "IN" and self.word() == "(":
            values = self.arguments()
            if not values:
                raise _CannotRead
            node = self.node("IN", start, left, *values)
        elif word == "IS" and not is_negated:
            return self.test(start, left)
        elif word in _LIKE and self.word() not in ("ANY", "ALL", "SOME"):
            pattern = self.expression(_BINARY["|"])
            escape: tuple[Node, ...] = ()
            if self.word() == "ESCAPE":
                self.i += 1
                escape = (self.primary(),)
            node = self.node(_LIKE[word], start, left, pattern, *escape)
        else:
            raise _CannotRead
        return self.node("NOT", start, node) if is_negated else node

    def test(self, start: int, left: Node) -> Node:
        """Read the words after IS: [NOT] NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM value."""
        is_negated = self.word() == "NOT"
        self.i += is_negated
        word = self.word()
        self.i += 1
        if word == "DISTINCT":
            self.expect("FROM")
            right = self.expression(_BINARY["|"])
            return self.node("IS NOT DISTINCT FROM" if is_negated else "IS DISTINCT FROM", start, left, right)
        if word in ("NULL", "UNKNOWN"):
            node = self.node("IS NULL", start, left)
        elif word in ("TRUE", "FALSE"):
            literal = Node(kind="literal", start=self.i - 1, stop=self.i)
            node = self.node("<=>", start, left, literal)
        else:
            raise _CannotRead
        return self.node("NOT", start, node) if is_negated else node

    def prefix(self) -> Node:
        start, word = self.i, self.word()
        if word in ("NOT", "!"):
            self.i += 1
            operand = self.expression(_NOT if word == "NOT" else _UNARY)
            return self.node("NOT", start, operand)
        if word in ("-", "+", "~"):
            self.i += 1
            if word == "-" and self.is_number():  # the sign is a part of the number: -5::STRING
                self.i += 1
                return self.postfixed(self.node("negate", start, Node(kind="literal", start=start + 1, stop=self.i)))
            operand = self.expression(_UNARY)
            return self.node({"-": "negate", "+": "positive"}.get(word, word), start, operand)
        return self.primary()

    def primary(self) -> Node:
        start = self.i
        if self.i >= self.stop:
            raise _CannotRead
        item = self.items[self.i]
        if isinstance(item, Reference):
            self.i += 1
            return self.postfixed(self.node("reference", start))
        if self.is_query() or (item.word == "EXISTS" and self.is_query(1)):
            self.i += item.word == "EXISTS"
            self.skip_query()
            return self.postfixed(self.node("query", start))
        if item.raw == "(":
            return self.parenthesised()
        if item.word == "CASE":
            return self.case()
        if item.word in ("CAST", "TRY_CAST") and self.word(1) == "(":
            return self.postfixed(self.cast(item.word))
        if item.word == "EXTRACT" and self.word(1) == "(":
            return self.extract()
        if item.is_name and self.word(1) == "(":
            self.i += 1
            arguments, name = self.arguments(), unquoted(item.raw).lower()
            if name in _WITH_UNIT and len(arguments) == 3 and arguments[0].kind == "column":
                arguments = (self.unit(arguments[0]), *arguments[1:])
            return self.postfixed(self.node("call", start, *arguments, name=name))
        self.i += 1
        if item.word == "INTERVAL":
            return self.interval(start)
        if item.is_name and self.word()[:1] in ("'", '"'):  # DATE '2020-01-01'
            self.i += 1
            return self.postfixed(self.node("literal", start))
        if item.is_literal or item.word in ("NULL", "TRUE", "FALSE"):
            return self.postfixed(self.node("literal", start))
        if item.is_name:
            return self.postfixed(self.node("column", start))
        raise _CannotRead

    def unit(self, column: Node) -> Node:
        """The node of a unit that was read as a column."""
        return replace(column, kind="unit", name=self.raw(column.start, column.stop))

    def extract(self) -> Node:
        """Read `EXTRACT(field FROM value)`."""
        start = self.i
        self.i += 3
        field = Node(kind="unit", start=self.i - 1, stop=self.i, name=self.raw(self.i - 1, self.i))
        self.expect("FROM")
        value = self.expression(0)
        self.expect(")")
        return self.node("call", start, field, value, name="extract")

    def interval(self, start: int) -> Node:
        """Read `INTERVAL '1' DAY`, `INTERVAL -5 MINUTES`, `INTERVAL '1 2' DAY TO HOUR` or `INTERVAL 1 DAY 2 HOURS`."""
        first = self.i
        while self.is_literal(ahead=self.word() == "-"):
            self.i += 1 + (self.word() == "-")
            while self.word() in INTERVAL_UNITS or self.word() == "TO":
                self.i += 1
        if self.i == first:
            raise _CannotRead
        return self.node("literal", start)

    def postfixed(self, node: Node) -> Node:
        """Read the fields, elements and types that follow a primary: `.field`, `[index]`, `::type`."""
        while self.word() in (".", "[", "::", ":"):
            operator = self.word()
            self.i += 1
            if operator == ":":  # the first step of a path into a variant; the others are fields and elements
                self.i += self.word() != "["
                node = self.node("path", node.start, node)
            elif operator == "[":
                index = self.expression(0)
                self.expect("]")
                node = self.node("element", node.start, node, index)
            elif operator == ".":
                self.i += 1
                node = self.node("field", node.start, node, name=unquoted(self.raw(self.i - 1, self.i)))
            else:
                first = self.i
                self.i += 1
                if self.word() == "(":
                    self.arguments()
                node = self.node("CAST", node.start, node, name=self.raw(first, self.i))
        if self.word() in ("->", "=>"):
            raise _CannotRead
        return node

    def raw(self, start: int, stop: int) -> str:
        return " ".join(x.raw for x in self.items[start:stop] if isinstance(x, Lexeme)).lower()

    def parenthesised(self) -> Node:
        """The node of `(a)`, and of the row `(a, b)`, which is `struct(a, b)`."""
        start = self.i
        parts = self.arguments()
        if len(parts) == 1 and parts[0].kind != "alias":
            return self.postfixed(replace(parts[0], start=start, stop=self.i))
        if not parts:
            raise _CannotRead
        return self.postfixed(self.node("call", start, *parts, name="struct"))

    def arguments(self) -> tuple[Node, ...]:
        self.expect("(")
        nodes: list[Node] = []
        while self.word() != ")":
            if nodes:
                self.expect(",")
            nodes.append(self.argument())
        self.i += 1
        return tuple(nodes)

    def argument(self) -> Node:
        start, argument = self.i, self.expression(0)
        if self.word() != "AS":
            return argument
        name = self.items[self.i + 1] if self.i + 1 < self.stop else None
        if not isinstance(name, Lexeme):
            raise _CannotRead
        self.i += 2
        return self.node("alias", start, argument, name=unquoted(name.raw)) if self.with_aliases else argument

    def cast(self, kind: str) -> Node:
        start = self.i
        self.i += 2
        operand = self.expression(0)
        self.expect("AS")
        first = self.i
        while self.word() != ")":
            if self.word() == "(":  # decimal(10, 2)
                while self.word() != ")":
                    self.i += 1
            self.i += 1
            if self.i >= self.stop:
                raise _CannotRead
        name = self.raw(first, self.i)
        self.i += 1
        return self.node(kind, start, operand, name=name)

    def case(self) -> Node:
        start = self.i
        self.i += 1
        subject = None if self.word() == "WHEN" else self.expression(0)
        parts: list[Node] = []
        while self.word() == "WHEN":
            self.i += 1
            condition = self.expression(0)
            if subject is not None:
                condition = replace(condition, kind="=", children=(subject, condition), name="of case")
            self.expect("THEN")
            parts += [condition, self.expression(0)]
        if self.word() == "ELSE":
            self.i += 1
            parts.append(self.expression(0))
        self.expect("END")
        return self.node("CASE", start, *parts)
