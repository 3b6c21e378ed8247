"""Which variables every match maps, which may take the first row of a match, which follow it and which end it."""

from __future__ import annotations

import pytest

from sqlext.pattern.cep.nfa_compile import skeleton
from sqlext.pattern.program.compile import compile_pattern
from sqlext.pattern.program.mapped_variables import first_rows, mandatory_variables
from sqlext.pattern.program.program import MatchLabel, Program, successors
from sqlext.rewriter.match.parse_pattern import parse_pattern

from .pattern_harness import lines, task_of


def is_done_without(program: Program, label: int) -> bool:
    """Return True if a path through the program takes no row for the label, where `^` and `$` always hold."""
    visited: set[int] = set()
    stack = [0]
    while stack:
        i = stack.pop()
        instruction = program.instructions[i]
        if i in visited or (isinstance(instruction, MatchLabel) and instruction.label == label):
            continue
        visited.add(i)
        stack += successors(instruction, i)
    return len(program.instructions) - 1 in visited


@pytest.mark.parametrize("pattern, expected", lines("mandatory.txt"))
def test_these_variables_are_in_every_match(pattern, expected):
    tree, names = parse_pattern(pattern, 0, len(pattern))
    assert sorted(mandatory_variables(tree)) == expected.split()
    program = compile_pattern(skeleton(tree), tuple(name.key for name in names))
    assert [name for i, name in enumerate(program.labels) if not is_done_without(program, i)] == expected.split()


@pytest.mark.parametrize("case", lines("first_rows.txt"), ids=lambda case: case[0])
def test_a_program_determines_the_labels_of_the_first_row_and_of_the_last(case):
    pattern, *expected = case
    program = task_of(pattern).program
    rows = first_rows(program)

    def names(labels) -> str:
        return " ".join(sorted(program.labels[label] for label in labels))

    def by_label(sets) -> str:
        return " ".join(sorted(f"{program.labels[label]}:{names(labels)}" for label, labels in enumerate(sets)))

    assert [*map(names, (rows.opening, rows.following, rows.ending)), *map(by_label, (rows.before, rows.since))] == (
        expected
    )
