from __future__ import annotations

import pytest

from sqlext.errors import BindError, UnsupportedError
from sqlext.pattern.program import ast
from sqlext.pattern.program.compile import MAX_INSTRUCTIONS, MAX_NESTING, compile_pattern

from .pattern_harness import lines, task_of

A = ast.Variable("A")


def times(item: ast.Pattern, at_least: int, at_most: int | None = None) -> ast.Quantified:
    return ast.Quantified(item=item, at_least=at_least, at_most=at_most)


def nested(depth: int) -> ast.Pattern:
    """A tree with `depth` nodes inside one another."""
    tree: ast.Pattern = A
    for _ in range(depth - 1):
        tree = ast.Concatenation((tree,))
    return tree


@pytest.mark.parametrize("pattern, instructions", lines("programs.txt"))
def test_a_pattern_becomes_exactly_these_instructions(pattern, instructions):
    found = [line.split(": ")[1].replace(",", "") for line in str(task_of(pattern).program).splitlines()]
    assert found == [part.strip() for part in instructions.split(",")]


TOO_LARGE = {
    "one over": times(A, MAX_INSTRUCTIONS),
    "a billion": times(A, 10**9, 10**9),
    "a billion optional": times(A, 0, 10**9),
    "a billion optional nothings": times(ast.Empty(), 0, 10**9),
    "a billion by nesting": times(times(times(A, 1000, 1000), 1000, 1000), 1000, 1000),
    "permute 12": ast.Permutation((A,) * 12),
    "permute 12 nothings": ast.Permutation((ast.Empty(),) * 12),
    "permute ten thousand": ast.Permutation((A,) * 10**4),
    "side by side": ast.Concatenation((times(A, 30_000, 30_000),) * 2),
    "one of two": ast.Alternation((times(A, 30_000, 30_000),) * 2),
}


@pytest.mark.parametrize("tree", TOO_LARGE.values(), ids=TOO_LARGE)
def test_a_pattern_too_large_is_refused_before_it_is_unfolded(tree):
    with pytest.raises(UnsupportedError) as error:
        compile_pattern(tree, ("A",))
    assert error.value.error_class == "SQLEXT_PATTERN_TOO_LARGE"


LARGE = {
    "just fits": (times(A, MAX_INSTRUCTIONS - 1, MAX_INSTRUCTIONS - 1), MAX_INSTRUCTIONS),
    "optional prefix": (ast.Concatenation((times(times(A, 0, 1), 4000, 4000), times(A, 4000, 4000))), 12_001),
    "permute 7": (ast.Permutation((A,) * 7), 5040 * 9 - 1),
}


@pytest.mark.parametrize("tree, size", LARGE.values(), ids=LARGE)
def test_a_large_pattern_compiles(tree, size):
    assert len(compile_pattern(tree, ("A",)).instructions) == size


def test_a_pattern_nests_up_to_the_limit():
    assert len(compile_pattern(nested(MAX_NESTING), ("A",)).instructions) == 2


@pytest.mark.parametrize("depth", [MAX_NESTING + 1, 1000, 100_000])
def test_a_pattern_nested_deeper_is_refused(depth):
    with pytest.raises(UnsupportedError) as error:
        compile_pattern(nested(depth), ("A",))
    assert error.value.error_class == "SQLEXT_PATTERN_TOO_DEEP"


@pytest.mark.parametrize(
    "tree",
    [
        ast.Relaxed("->", A),
        ast.Concatenation((A, ast.Absence("!", A))),
        ast.Until(times(A, 1), A),
        ast.Quantified(item=A, at_least=0, at_most=None, mode=ast.POSSESSIVE),
    ],
    ids=["relaxed", "absence", "until", "possessive"],
)
def test_what_is_not_built_is_refused(tree):
    with pytest.raises(UnsupportedError) as error:
        compile_pattern(tree, ("A",))
    assert error.value.error_class == "SQLEXT_UNSUPPORTED_PATTERN"


def test_a_lower_bound_above_the_upper_one_is_an_error():
    with pytest.raises(BindError) as error:
        compile_pattern(times(A, 3, 2), ("A",))
    assert error.value.error_class == "SQLEXT_INVALID_QUANTIFIER"
