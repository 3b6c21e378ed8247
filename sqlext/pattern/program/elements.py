"""The elements of a pattern: its variables with their quantifiers, as a user wrote them.

A program has several instructions for one element (`A{2,3}`, PERMUTE); `elements_of` says which ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlext.pattern.program import ast
from sqlext.pattern.program.compile import compile_pattern
from sqlext.pattern.program.program import MatchLabel


@dataclass(frozen=True)
class Element:
    """A variable of the pattern that may map rows. `place`: of the variable; `whole`: with the quantifier that follows
    it. `at_least`: how many rows it needs, 0 if the pattern also matches without it, and at most 1 inside PERMUTE or
    another quantifier, where the rows of several rounds are not distinguished."""

    name: str
    place: ast.Offsets
    whole: ast.Offsets
    at_least: int


def elements(pattern: ast.Pattern) -> list[Element]:
    """The elements of a pattern, in the order of the text.

    >>> a, b = ast.Variable("A", place=(0, 1)), ast.Variable("B", place=(7, 8))
    >>> twice = ast.Quantified(item=a, at_least=2, at_most=None, place=(0, 5))
    >>> for element in elements(ast.Concatenation((twice, b))):
    ...     print(element)
    Element(name='A', place=(0, 1), whole=(0, 5), at_least=2)
    Element(name='B', place=(7, 8), whole=(7, 8), at_least=1)
    """
    return list(_elements(pattern, None))


def _elements(node: ast.Pattern, most: int | None) -> Iterator[Element]:
    """`most`: the largest `at_least` here, None without a limit."""
    if isinstance(node, ast.Variable):
        yield Element(node.name, node.place, node.place, 1 if most is None else min(1, most))
    elif isinstance(node, ast.Quantified) and isinstance(node.item, ast.Variable):
        at_least = node.at_least if most is None else min(node.at_least, most)
        yield Element(node.item.name, node.item.place, node.place, at_least)
    else:
        is_optional = isinstance(node, ast.Alternation) or (isinstance(node, ast.Quantified) and not node.at_least)
        is_several = isinstance(node, (ast.Permutation, ast.Quantified))
        for part in ast.mapped_parts(node):
            yield from _elements(part, 0 if is_optional else 1 if is_several and most is None else most)


def elements_of(pattern: ast.Pattern) -> list[tuple[int, int] | None]:
    """For each instruction of the program of a pattern, the number of its element and which copy of it (1, 2, …) the
    instruction is; None for instructions that map no row.

    >>> a, b = ast.Variable("A"), ast.Variable("B")
    >>> elements_of(ast.Concatenation((ast.Quantified(item=a, at_least=2, at_most=None), b)))
    [(0, 1), (0, 2), None, (1, 1), None]
    """
    leaves: list[str] = []
    program = compile_pattern(_numbered(pattern, leaves), tuple(leaves))
    copies: Counter[int] = Counter()
    found: list[tuple[int, int] | None] = []
    for instruction in program.instructions:
        if isinstance(instruction, MatchLabel):
            copies[instruction.label] += 1
            found.append((instruction.label, copies[instruction.label]))
        else:
            found.append(None)
    return found


def _numbered(node: ast.Pattern, leaves: list[str]) -> ast.Pattern:
    """The pattern with another name for each occurrence of a variable."""
    if isinstance(node, ast.Variable):
        leaves.append(str(len(leaves)))
        return replace(node, name=leaves[-1])
    return ast.with_parts(node, lambda part: _numbered(part, leaves))
