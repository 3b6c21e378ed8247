"""Every pattern of up to 5 nodes, matched against every word of up to 6 letters.

Nodes are the letters A, B, C, concatenations and alternations of two nodes, and `*`, `+`, `?`. A tree with k letters
and u quantifiers has 2k - 1 + u nodes, so there are 363 + 1,152 + 216 = 1,731 trees with 1, 2 and 3 letters.
"""

from __future__ import annotations

from functools import cache, partial
from itertools import product

import numpy as np
import pytest

from sqlext.pattern.batch import bounded, lazy_dfa, reference, two_pass
from sqlext.pattern.measures.tails import unshared
from sqlext.pattern.program import ast
from sqlext.pattern.program.compile import compile_pattern
from sqlext.pattern.task.skip_mode import SKIP_TO_NEXT_ROW
from sqlext.pattern.task.task import MatchTask, Rows, Skip

from .pattern_harness import packed

LETTERS = "ABC"
WORDS = [word for length in range(1, 7) for word in product(range(3), repeat=length)]
LETTER = np.array([letter for word in WORDS for letter in word])
BOUNDS = np.cumsum([0, *(len(word) for word in WORDS)])
ROWS = Rows(bounds=BOUNDS, mask=packed(LETTER[:, None] == np.arange(3)))
_NUMBER = {word: k for k, word in enumerate(WORDS)}
# For each row the number of the word that begins there: a match from this row is a match of that word.
SUFFIX = np.array([_NUMBER[word[i:]] for word in WORDS for i in range(len(word))])


@cache
def trees(nodes: int) -> list[ast.Pattern]:
    """All trees with exactly `nodes` nodes."""
    if nodes == 1:
        return [ast.Variable(letter) for letter in LETTERS]
    bounds = [(0, None), (1, None), (0, 1)]
    patterns: list[ast.Pattern] = [
        ast.Quantified(item=item, at_least=least, at_most=most) for item in trees(nodes - 1) for least, most in bounds
    ]
    for kind in (ast.Concatenation, ast.Alternation):
        for left in range(1, nodes - 1):
            patterns += [kind(items) for items in product(trees(left), trees(nodes - 1 - left))]
    return patterns


def first_letters(tree: ast.Pattern) -> list[str]:
    """The letters in order of first use."""
    return list(dict.fromkeys(node.name for node in ast.walk(tree) if isinstance(node, ast.Variable)))


def is_first_of_its_kind(tree: ast.Pattern) -> bool:
    """Return True for one of all trees that differ only in the names of their letters; `reference` runs this one."""
    letters = first_letters(tree)
    return letters == list(LETTERS[: len(letters)])


def renamings(tree: ast.Pattern) -> list[tuple[str, ...]]:
    """All ways to rename the letters of the first tree of a kind, which yield the other trees of its kind."""
    used = len(first_letters(tree))
    return [names for names in product(LETTERS, repeat=used) if len(set(names)) == used]


TREES = [tree for nodes in range(1, 6) for tree in trees(nodes)]
KINDS = [tree for tree in TREES if is_first_of_its_kind(tree)]


def test_there_are_1731_patterns():
    assert len(TREES) == len(set(TREES)) == 1731
    assert sum(len(renamings(tree)) for tree in KINDS) == 1731


def expected_matches(task: MatchTask) -> tuple[np.ndarray, np.ndarray]:
    """`length: int64[words]` of the match at each word's first row (-1: none), `label: int16[words, 6]`."""
    length, label = np.full(len(WORDS), -1), np.full((len(WORDS), 6), -1)
    for k, word in enumerate(WORDS):
        start = reference.Start(0, (0, len(word)), len(word))
        mapped = reference.search(task.program, start, lambda label, path, word=word: word[len(path)] == label)
        if mapped is not None:
            length[k] = len(mapped)
            label[k, : len(mapped)] = [letter for letter, _ in mapped]
    return length, label


def assert_finds(name: str, task: MatchTask, letters: list[int], expected: tuple[np.ndarray, np.ndarray]) -> None:
    """Assert that a strategy finds the expected matches; label l of the task is letter `letters[l]` of the rows."""
    length, label = expected
    blocks = [unshared(block, np.arange(len(block.start))) for block in STRATEGIES[name](task, ROWS)]
    start = np.concatenate([block.start for block in blocks] or [[]]).astype(int)
    lengths = np.full(len(LETTER), -1)
    lengths[start] = np.concatenate([np.diff(block.offset) for block in blocks] or [[]])
    word = RENAMED[tuple(letters)][SUFFIX]
    assert np.array_equal(lengths, length[word]), (name, task)
    wanted = label[word[start]]
    labels = np.concatenate([block.label for block in blocks] or [[]])
    assert np.array_equal(labels, wanted[wanted >= 0]), (name, task)


def _renamed(letters: tuple[int, ...]) -> np.ndarray:
    """For each word the number of the word that results if each letter is replaced by its label."""
    label_of = {letter: label for label, letter in enumerate(letters)}
    return np.array([_NUMBER[tuple(label_of[letter] for letter in word)] for word in WORDS])


RENAMED = {letters: _renamed(letters) for letters in product(range(3), repeat=3) if len(set(letters)) == 3}
STRATEGIES = {
    "two_pass": two_pass.find,
    "two_pass, labels shared": partial(two_pass.find, block_rows=300, overlap=0),
    "lazy_dfa": lazy_dfa.find,
    "lazy_dfa, labels shared": partial(lazy_dfa.find, block_rows=500, overlap=0),
    "bounded": bounded.find,
    "bounded, labels shared": partial(bounded.find, block_rows=700, overlap=0),
}


PARTS = 48


@pytest.mark.random(every=4)
@pytest.mark.parametrize("part", range(PARTS))
def test_all_strategies_find_what_the_reference_finds(part):
    for tree in KINDS[part::PARTS]:
        program = compile_pattern(tree, tuple(LETTERS))
        expected = expected_matches(MatchTask(program=program, bits=(0, 1, 2), conditions=(None,) * 3))
        for names in renamings(tree):
            letters = [LETTERS.index(name) for name in names]
            letters += [letter for letter in range(3) if letter not in letters]
            task = MatchTask(program=program, bits=tuple(letters), conditions=(None,) * 3, skip=Skip(SKIP_TO_NEXT_ROW))
            for name in STRATEGIES:
                assert_finds(name, task, letters, expected)
