"""Random clauses whose lambdas, pattern variables, columns and relation share few names, and what they mean.

A clause is drawn as a tree of what it reads. It is written twice: with names from one small pool, and with names of
which each belongs to one thing only, so that nothing can be confused. A reference is drawn only if its names mean it
by the rule that a parameter hides everything, then a pattern variable hides columns and relations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from sqlext.rewriter.lowering.input_query import InputRelation
from sqlext.rewriter.lowering.lower_clause import lower
from sqlext.rewriter.lowering.match_plan import MatchPlan
from sqlext.rewriter.match.parse_match import parse_match
from sqlext.rewriter.match.sites import scan
from sqlext.rewriter.text.splice import Source, Text
from sqlext.rewriter.text.tokens import tokenize

POOL = ("a", "b", "i", "v", "xs", "t", "x")
COLUMNS = {"time": "int", "value": "int", "list": "array<struct<f:int,g:int>>", "pair": "struct<f:int,g:int>"}
VARIABLES = ("first", "second", "union")
RELATION, FIELDS = "relation", ("f", "g")
_WORD = re.compile(r"`[^`]*`|\w+|->|'[^']*'|\S")
_OF_STRUCT, _OF_NUMBER = tuple((name,) for name in FIELDS), ((),)
Meaning = tuple[str, ...]


@dataclass
class Names:
    """The name of each thing. `parameters`: the names of the parameters, in the order in which they are declared."""

    of: dict[str, str]
    parameters: Callable[[int], str]

    def __getitem__(self, thing: str) -> str:
        return self.of[thing] if thing in self.of else self.parameters(int(thing[1:]))


@dataclass
class Draw:
    """One random clause. `names`: those of the pool; `scope`: the parameters around the place that is drawn."""

    random: Random
    pool: tuple[str, ...] = POOL
    count: int = 0
    scope: list[str] = field(default_factory=list)
    fields: dict[str, Sequence[tuple[str, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        draw = self.random
        things = dict(zip(COLUMNS, draw.sample(self.pool, len(COLUMNS))))
        things |= dict(zip(VARIABLES, draw.sample(self.pool, len(VARIABLES))))
        things |= dict(zip(("measure 0", "measure 1"), draw.sample(self.pool, 2)))
        things |= {RELATION: draw.choice(self.pool), "f": "f", "g": "g"}
        self.parameter_names = [draw.choice(self.pool) for _ in range(60)]
        self.names = Names(things, self.parameter_names.__getitem__)
        self.unique = Names({thing: f"u_{thing.replace(' ', '_')}" for thing in things}, lambda n: f"u_p{n}")
        self.unique.of |= {"f": "f", "g": "g"}

    # what names mean

    def meaning(self, parts: Sequence[str]) -> Meaning | None:
        """What a dotted name means here by the rules of the language; None if it means nothing, or is ambiguous."""
        first, rest = parts[0].lower(), [part.lower() for part in parts[1:]]
        for parameter in reversed(self.scope):
            if self.names[parameter].lower() == first:
                return ("parameter", parameter, *rest)
        columns = {self.names[column].lower(): column for column in COLUMNS}
        variables = {self.names[variable].lower(): variable for variable in VARIABLES}
        if rest and first in variables:
            return ("variable", variables[first], columns[rest[0]], *rest[1:]) if rest[0] in columns else None
        of_relation = bool(rest) and first == self.names[RELATION].lower() and rest[0] in columns
        if first in columns:
            return None if of_relation else ("column", columns[first], *rest)
        return ("relation", columns[rest[0]], *rest[1:]) if of_relation else None

    # trees: a text is a string, and a reference is a tuple of things

    def expression(self, variables: Sequence[str], depth: int, *, unqualified: bool = True) -> list[object]:
        """An integer that reads parameters, columns of the `variables` and, where allowed, other columns."""
        if depth == 0 or self.random.random() < 0.4:
            return [self.leaf(variables, unqualified=unqualified)]
        left, right = (self.expression(variables, depth - 1, unqualified=unqualified) for _ in range(2))
        if self.random.random() < 0.6:
            return [*left, " + ", *right]
        both = self.aggregate(variables, depth - 1, unqualified=unqualified)
        return [*left, " + ", *both]

    def aggregate(self, variables: Sequence[str], depth: int, *, unqualified: bool = True) -> list[object]:
        array = self.array(variables, unqualified=unqualified)
        names, body = self.body(2, lambda: self.expression(variables, depth, unqualified=unqualified))
        return ["aggregate(", *array, ", 0, (", ("declare", names[0]), ", ", ("declare", names[1]), ") -> ", *body, ")"]

    def exists(self, variables: Sequence[str], depth: int) -> list[object]:
        array = self.array(variables)
        (name,), body = self.body(1, lambda: self.expression(variables, depth))
        return ["exists(", *array, ", ", ("declare", name), " -> ", *body, " > 0)"]

    def body(self, count: int, draw: Callable[[], list[object]]) -> tuple[list[str], list[object]]:
        names = [f"p{self.count + k}" for k in range(count)]
        if count == 2 and self.names[names[0]] == self.names[names[1]]:
            self.parameter_names[self.count + 1] = next(n for n in self.pool if n != self.names[names[0]])
        self.count += count
        self.scope += names
        self.fields |= dict(zip(reversed(names), (_OF_STRUCT, _OF_NUMBER)))  # the element of an array, and a sum
        body = draw()
        del self.scope[-count:]
        return names, body

    def array(self, variables: Sequence[str], *, unqualified: bool = True) -> list[object]:
        return [self.reference("list", variables, unqualified=unqualified) or "array(named_struct('f', 1, 'g', 2))"]

    def leaf(self, variables: Sequence[str], *, unqualified: bool) -> object:
        parameters = [("parameter", p, *f) for p in self.scope for f in self.fields[p]]
        known = [m for m in parameters if self.meaning([self.names[m[1]], *m[2:]]) == m]
        if known and self.random.random() < 0.6:
            return self.random.choice(known)
        column = self.random.choice(("time", "value", "pair"))
        return self.reference(column, variables, unqualified=unqualified) or "1"

    def reference(self, column: str, variables: Sequence[str], *, unqualified: bool) -> object:
        fields = (self.random.choice(FIELDS),) if column == "pair" else ()
        wanted: list[Meaning] = [("variable", variable, column, *fields) for variable in variables]
        if unqualified:
            wanted += [("column", column, *fields), ("relation", column, *fields)]
        known = [meaning for meaning in wanted if self.meaning(self.parts(meaning, self.names)) == meaning]
        return self.random.choice(known) if known else None

    def parts(self, meaning: Meaning, names: Names) -> list[str]:
        kind, *things = meaning
        return [names[RELATION], *(names[t] for t in things)] if kind == "relation" else [names[t] for t in things]

    # the statement

    def trees(self) -> list[list[object]]:
        """The trees of the two measures, the two conditions and the key of the partitions."""
        first, second, union = VARIABLES
        measures = [self.measure(), self.measure()]
        conditions = [self.exists([first], 2), self.exists([second, union], 2)]
        return [*measures, *conditions, self.exists([], 1)]

    def measure(self) -> list[object]:
        if self.random.random() < 0.5:
            (name,), body = self.body(1, lambda: self.expression(VARIABLES, 2))
            array = self.array(VARIABLES)
            return ["transform(", *array, ", ", ("declare", name), " -> ", *body, ")"]
        function, variable = self.random.choice(("sum", "LAST", "FIRST")), self.random.choice(VARIABLES)
        return [f"{function}(", *self.aggregate([variable], 2, unqualified=False), ")"]

    def text(self, trees: Sequence[list[object]], names: Names) -> str:
        """The statement with these names."""
        first, second, key, *rest = (self.written(tree, names) for tree in (*trees[:2], trees[4], *trees[2:4]))
        variables = [names[variable] for variable in VARIABLES]
        return (
            f"SELECT * FROM rows AS {names[RELATION]} MATCH_RECOGNIZE ("
            f"PARTITION BY {key} AS k ORDER BY {names['time']} "
            f"MEASURES {first} AS {names['measure 0']}, {second} AS {names['measure 1']} "
            f"PATTERN ({variables[0]} {variables[1]}?) SUBSET {variables[2]} = ({variables[0]}, {variables[1]}) "
            f"DEFINE {variables[0]} AS {rest[0]}, {variables[1]} AS {rest[1]})"
        )

    def written(self, tree: Sequence[object], names: Names) -> str:
        pieces = []
        for node in tree:
            if isinstance(node, str):
                pieces.append(node)
            elif isinstance(node, tuple):
                parts = [names[node[1]]] if node[0] == "declare" else self.parts(node, names)
                pieces.append(".".join([self.spelling(parts[0], node), *parts[1:]]))
        return "".join(pieces)

    def spelling(self, name: str, node: tuple) -> str:
        """A name in other letters, or in backticks unless it is that of a variable, whose case would then matter."""
        if name.startswith("u_"):
            return name
        kind = self.random.randrange(6)
        return f"`{name}`" if kind == 0 and node[0] != "variable" else name.upper() if kind == 1 else name


class Types:
    """Enough of Spark's types for these clauses."""

    def types(self, texts: Sequence[Text]) -> list[str]:
        return [
            "array<int>" if str(t).startswith(("transform(", "filter(")) else
            "boolean" if str(t).lstrip("(").startswith("exists(") else "int"
            for t in texts
        ]  # fmt: skip

    def values(self, texts: Sequence[Text], types: Sequence[str]) -> list[object]:
        return [None for _ in texts]

    def constant(self, text: Text) -> int:
        return 0


def plan_of(text: str, names: Names) -> MatchPlan:
    clause = parse_match(text, tokenize(text), scan(text)[0])
    columns = tuple((names[column], kind) for column, kind in COLUMNS.items())
    relation = InputRelation(columns=columns, resolver=Types(), is_aggregate=lambda name: False)
    return lower(clause, Source(text), relation)


def bound_texts(plan: MatchPlan, names: Names) -> list[str]:
    """The SQL of a plan with what each name in it means to Spark, which looks up a parameter first."""

    def bound(text: object) -> str:
        return " ".join(bound_words(_WORD.findall(str(text)), names))

    columns = {column.name: bound(column.text) for column in plan.columns}
    slots = {
        slot.name: repr([slot.kind, slot.navigation, slot.aggregate, *(columns[name] for name in slot.columns)])
        for slot in plan.slots
    }
    shown = [bound(column.text) for column in plan.shown]
    measures = [re.sub(r"__[a-z]\d+", lambda m: slots.get(m[0]) or columns[m[0]], text) for text in shown]
    return [*measures, *(bound(mask.text) for mask in plan.masks), *map(bound, plan.partition_by)]


def bound_words(words: Sequence[str], names: Names) -> Iterator[str]:
    columns = {names[column].lower(): column for column in COLUMNS}
    scopes: list[tuple[int, dict[str, str]]] = []  # the depth of the brackets of a lambda, and its parameters
    depth = number = i = 0
    while i < len(words):
        word, after = words[i], words[i + 1] if i + 1 < len(words) else ""
        name = word.strip("`").lower()
        while scopes and word in (")", ",") and depth <= scopes[-1][0]:
            scopes.pop()
        declared = _declared(words, i)
        if declared:
            scopes.append((depth, {n: f"parameter{number + k}" for k, n in enumerate(declared)}))
            number += len(declared)
            yield "->"
            i += 2 if len(declared) == 1 else 6
            continue
        depth += (word == "(") - (word == ")")
        parameter = next((scope[name] for _, scope in reversed(scopes) if name in scope), None)
        is_name = re.match(r"[`a-z_]", word, re.IGNORECASE) and words[i - 1 : i] != ["."] and after != "("
        if is_name and parameter:
            yield parameter
        elif is_name and name in columns:
            yield columns[name]
        elif is_name and after == "." and name == names[RELATION].lower():
            yield columns[words[i + 2].strip("`").lower()]
            i += 2
        else:
            yield word
        i += 1


def _declared(words: Sequence[str], i: int) -> list[str]:
    """The parameters that are declared from word i on: `x ->` or `( x , y ) ->`."""
    if words[i + 1 : i + 2] == ["->"]:
        return [words[i].strip("`").lower()]
    if words[i] == "(" and words[i + 5 : i + 6] == ["->"] and words[i + 2] == ",":
        return [words[i + k].strip("`").lower() for k in (1, 3)]
    return []
