"""The automaton of a pattern: its elements, and which one may follow which (V. M. Glushkov, The abstract theory of
automata, 1961). Every row of a match moves from one element to the next.

>>> a, b = ast.Variable("A", place=(0, 1)), ast.Variable("B", place=(3, 4))
>>> a_plus = ast.Quantified(item=a, at_least=1, at_most=None, place=(0, 2))
>>> found = automaton(ast.Concatenation((a_plus, b)), "A+ B", reached=(812, 0), matches=0, tried=1000)
>>> [node.written for node in found.nodes]
['(start)', 'A+', 'B', '(match)']
>>> for edge in found.edges:
...     print(edge)
Edge(source=0, target=1, label='', count=812)
Edge(source=1, target=1, label='', count=None)
Edge(source=1, target=2, label='', count=0)
Edge(source=2, target=3, label='', count=0)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlext.errors import UnsupportedError
from sqlext.pattern.program import ast

MAX_EDGES = 400
# A pattern may have variables called start and match.
_START, MATCH = "(start)", "(match)"
_NAME = re.compile(r"`(?:[^`]|``)*`|\w+")
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@dataclass(frozen=True)
class AutomatonNode:
    """`written`: as in the pattern, with the number of its occurrence if the variable occurs again (`A₁`, `A₂+`), so it
    is the only node with this name. `variable`: whose condition a row must satisfy, None for the start, the match and
    for what maps no row (`^`, `$`, absence). `count`: start rows from which the search reached it, None if unknown."""

    written: str
    variable: str | None = None
    count: int | None = None


@dataclass(frozen=True)
class Edge:
    """From one node to another, by their numbers. `label`: what lies between their rows (`->`), or the quantifier by
    which a part is repeated. `count`: start rows from which the search took it; None if unknown, as where several
    edges lead to a node: then only the sum is known, which is the node's."""

    source: int
    target: int
    label: str = ""
    count: int | None = None


@dataclass(frozen=True)
class Automaton:
    """The first node is the start, the last one the match. `notes`: sentences about what edges do not show."""

    nodes: tuple[AutomatonNode, ...]
    edges: tuple[Edge, ...]
    notes: tuple[str, ...] = ()


def automaton(
    pattern: ast.Pattern,
    source: str,
    *,
    reached: Sequence[int] | None = None,
    matches: int | None = None,
    tried: int | None = None,
) -> Automaton:
    """The automaton of a pattern whose places are in the text `source`.

    `reached`, `tried`, `matches`: the counts of EXPLAIN MATCH ANALYZE; `reached[e]` is that of element e (`elements`).
    Raises UnsupportedError (DRAWING) if it has more than 400 edges.
    """
    builder = _AutomatonBuilder(source)
    part = builder.part(pattern)
    builder.connect((0,), part.first)
    end = builder.add(MATCH)
    builder.connect(part.last, (end,))
    if part.is_optional:
        builder.connect((0,), (end,))
    nodes = _counted(_numbered(builder.nodes), reached, tried, matches)
    sources = Counter(target for start, target in builder.edges if start != target)
    edges = [
        Edge(start, target, label, nodes[target].count if sources[target] == 1 and start != target else None)
        for (start, target), label in sorted(builder.edges.items())
    ]
    return Automaton(tuple(nodes), tuple(edges), tuple(dict.fromkeys(builder.notes)))


def _numbered(nodes: list[AutomatonNode]) -> list[AutomatonNode]:
    """The nodes, those of a variable that occurs several times with numbers, as Glushkov marks them.

    >>> nodes = [AutomatonNode("a", "a"), AutomatonNode("b", "b"), AutomatonNode("A+?", "A")]
    >>> [node.written for node in _numbered(nodes)]
    ['a₁', 'b', 'A₂+?']
    """
    names = [(node.variable or node.written).upper() for node in nodes]
    total, before = Counter(names), Counter[str]()
    numbered = []
    for node, name in zip(nodes, names):
        before[name] += 1
        number = f"{before[name]}".translate(_SUBSCRIPTS) if total[name] > 1 else ""
        variable = _NAME.match(node.written)
        end = variable.end() if variable else len(node.written)
        numbered.append(replace(node, written=f"{node.written[:end]}{number}{node.written[end:]}"))
    return numbered


def _counted(
    nodes: list[AutomatonNode], reached: Sequence[int] | None, tried: int | None, matches: int | None
) -> list[AutomatonNode]:
    counts = iter(reached or ())
    inner = [replace(node, count=next(counts, None)) if node.variable is not None else node for node in nodes[1:-1]]
    return [replace(nodes[0], count=tried), *inner, replace(nodes[-1], count=matches)]


@dataclass(frozen=True)
class _Fragment:
    """The nodes at which a part of the pattern can begin and end. `is_optional`: it can also be left out."""

    first: tuple[int, ...]
    last: tuple[int, ...]
    is_optional: bool = False


_NOTHING = _Fragment((), (), is_optional=True)


class _AutomatonBuilder:
    def __init__(self, source: str):
        self.source = source
        self.nodes = [AutomatonNode(_START)]
        self.edges: dict[tuple[int, int], str] = {}
        self.notes: list[str] = []
        self.before: dict[int, str] = {}  # the label of the edges that lead to a node from the part before

    def add(self, written: str, variable: str | None = None) -> int:
        self.nodes.append(AutomatonNode(written, variable))
        return len(self.nodes) - 1

    def connect(self, last: Iterable[int], first: Iterable[int], label: str = "") -> None:
        targets = tuple(first)
        for start in last:
            for target in targets:
                self.edges.setdefault((start, target), f"{label} {self.before.get(target, '')}".strip())
        if len(self.edges) > MAX_EDGES:
            raise UnsupportedError(
                "DRAWING",
                f"the automaton of this pattern has more than {MAX_EDGES} edges, too many to be read",
                hint="draw a part of the pattern.",
            )

    def part(self, node: ast.Pattern) -> _Fragment:
        if isinstance(node, ast.Variable):
            return self._leaf(self._text(node), node.name)
        if isinstance(node, ast.Quantified):
            return self._repeated(node)
        if isinstance(node, ast.Empty):
            return _NOTHING
        if isinstance(node, (ast.PartitionStart, ast.PartitionEnd)):
            return self._leaf("^" if isinstance(node, ast.PartitionStart) else "$")
        if isinstance(node, ast.Absence):
            between = " " if node.operator == "!->" else ""
            return self._leaf(f"{node.operator}{between}{self._text(node.variable)}")
        if isinstance(node, ast.Alternation):
            parts = [self.part(item) for item in node.items]
            first, last = (tuple(n for part in parts for n in getattr(part, end)) for end in ("first", "last"))
            return _Fragment(first, last, any(part.is_optional for part in parts))
        if isinstance(node, ast.Permutation):
            return self._permutation([self.part(item) for item in node.items])
        if isinstance(node, ast.Concatenation):
            return self._in_sequence(node)
        part = self.part(node.item)
        if isinstance(node, ast.Relaxed):
            self.before.update(dict.fromkeys(part.first, node.operator))
        elif isinstance(node, ast.Until):
            self.notes.append(f"{self._text(node.item)} ends before a row on which {self._text(node.variable)} holds.")
        else:
            self.notes.append(f"{{- {self._text(node.item)} -}}: its rows are left out of the result.")
        return part

    def _leaf(self, written: str, variable: str | None = None) -> _Fragment:
        number = self.add(written, variable)
        return _Fragment((number,), (number,))

    def _in_sequence(self, node: ast.Concatenation) -> _Fragment:
        whole = _NOTHING
        for item in node.items:
            part = self.part(item)
            self.connect(whole.last, part.first)
            whole = _Fragment(
                whole.first + part.first if whole.is_optional else whole.first,
                whole.last + part.last if part.is_optional else part.last,
                whole.is_optional and part.is_optional,
            )
        return whole

    def _permutation(self, parts: list[_Fragment]) -> _Fragment:
        self.notes.append("PERMUTE: each of its parts once, in any order.")
        for one in parts:
            for other in parts:
                if one is not other:
                    self.connect(one.last, other.first)
        first, last = (tuple(n for part in parts for n in getattr(part, end)) for end in ("first", "last"))
        return _Fragment(first, last, all(part.is_optional for part in parts))

    def _repeated(self, node: ast.Quantified) -> _Fragment:
        part = self.part(node.item)
        if isinstance(node.item, ast.Variable):
            (number,) = part.first
            self.nodes[number] = replace(self.nodes[number], written=self._text(node))
        if node.at_most is None or node.at_most > 1:
            label = "" if isinstance(node.item, ast.Variable) else self.source[node.item.place[1] : node.place[1]]
            self.connect(part.last, part.first, label.lstrip(") \n\t"))
        return replace(part, is_optional=part.is_optional or not node.at_least)

    def _text(self, node: ast.Pattern) -> str:
        return " ".join(self.source[node.place[0] : node.place[1]].split())
