"""The tree of a row pattern (ISO/IEC 9075-2, <row pattern>), which the parser builds and `compile` reads.

Variables are names here; `compile` turns them into labels 0, 1, …. `place` is the (start, stop) of the node in the
user's text; equality ignores it. The parts of a node that may map rows are in its field `item` or `items`; a `variable`
beside them, or alone, is only tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Union

GREEDY, RELUCTANT, POSSESSIVE = "greedy", "reluctant", "possessive"
Offsets = tuple[int, int]
_NOWHERE: Offsets = (0, 0)


def _place():
    return field(default=_NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Variable:
    name: str
    place: Offsets = _place()


@dataclass(frozen=True)
class Empty:
    """`()`"""

    place: Offsets = _place()


@dataclass(frozen=True)
class PartitionStart:
    """`^`"""

    place: Offsets = _place()


@dataclass(frozen=True)
class PartitionEnd:
    """`$`"""

    place: Offsets = _place()


@dataclass(frozen=True)
class Concatenation:
    items: tuple[Pattern, ...]
    place: Offsets = _place()


@dataclass(frozen=True)
class Alternation:
    """`items[0] | items[1] | …`, most preferred first."""

    items: tuple[Pattern, ...]
    place: Offsets = _place()


@dataclass(frozen=True)
class Permutation:
    """`PERMUTE(items…)`: all orders, lexicographic in list order."""

    items: tuple[Pattern, ...]
    place: Offsets = _place()


@dataclass(frozen=True)
class Exclusion:
    """`{- item -}`"""

    item: Pattern
    place: Offsets = _place()


@dataclass(frozen=True, kw_only=True)
class Quantified:
    """`item{at_least,at_most}`; None as `at_most` means no bound; `mode` is GREEDY, RELUCTANT or POSSESSIVE."""

    item: Pattern
    at_least: int
    at_most: int | None
    mode: str = GREEDY
    place: Offsets = _place()


@dataclass(frozen=True)
class Relaxed:
    """`-> item` (operator "->": followed by) or `->> item` (operator "->>": followed by any)."""

    operator: str
    item: Pattern
    place: Offsets = _place()


@dataclass(frozen=True)
class Absence:
    """`!variable` (operator "!": not next) or `!-> variable` (operator "!->": not followed by); it maps no row."""

    operator: str
    variable: Variable
    place: Offsets = _place()


@dataclass(frozen=True)
class Until:
    """`item UNTIL variable`"""

    item: Pattern
    variable: Variable
    place: Offsets = _place()


Pattern = Union[
    Variable,
    Empty,
    PartitionStart,
    PartitionEnd,
    Concatenation,
    Alternation,
    Permutation,
    Exclusion,
    Quantified,
    Relaxed,
    Absence,
    Until,
]


def children(node: Pattern) -> tuple[Pattern, ...]:
    """The direct parts of a node, in the order of the text.

    >>> children(Quantified(item=Variable("A"), at_least=1, at_most=None))
    (Variable(name='A'),)
    """
    variable = getattr(node, "variable", None)
    return mapped_parts(node) if variable is None else (*mapped_parts(node), variable)


def mapped_parts(node: Pattern) -> tuple[Pattern, ...]:
    """The direct parts of a node that may map rows: without the variable of an absence or of UNTIL.

    >>> mapped_parts(Until(Variable("A"), Variable("B"))), mapped_parts(Absence("!", Variable("N")))
    ((Variable(name='A'),), ())
    """
    item = getattr(node, "item", None)
    return getattr(node, "items", ()) if item is None else (item,)


def with_parts(node: Pattern, change: Callable[[Pattern], Pattern]) -> Pattern:
    """The node with its direct parts that may map rows (`mapped_parts`) changed.

    >>> with_parts(Until(Variable("A"), Variable("B")), lambda part: Empty())
    Until(item=Empty(), variable=Variable(name='B'))
    """
    parts = tuple(map(change, mapped_parts(node)))
    if not parts:
        return node
    changed: dict[str, Any] = {"items": parts} if hasattr(node, "items") else {"item": parts[0]}
    return replace(node, **changed)


def mapped_names(pattern: Pattern) -> frozenset[str]:
    """The names of the variables that may map a row.

    >>> sorted(mapped_names(Concatenation((Variable("A"), Absence("!", Variable("N"))))))
    ['A']
    """
    return _names(pattern, mapped_parts)


def names(pattern: Pattern) -> frozenset[str]:
    """The names of all variables."""
    return _names(pattern, children)


def _names(pattern: Pattern, parts: Callable[[Pattern], tuple[Pattern, ...]]) -> frozenset[str]:
    return frozenset(node.name for node in walk(pattern, parts) if isinstance(node, Variable))


def walk(node: Pattern, parts: Callable[[Pattern], tuple[Pattern, ...]] = children) -> Iterator[Pattern]:
    """Yield the node and all nodes below it, parents first, left to right, without recursion."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(parts(current)))
