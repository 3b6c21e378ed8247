"""Which variables every match must map."""

from __future__ import annotations

import pytest
from pattern_harness import lines

from sqlext.errors import UnsupportedError
from sqlext.pattern.compile import compile_pattern
from sqlext.pattern.mandatory import mandatory
from sqlext.pattern.program import Jump, MatchLabel, Program, Split
from sqlext.rewriter.match.parse_pattern import parse_pattern


def is_done_without(program: Program, label: int) -> bool:
    """Is there a way through the program that takes no row for the label, if `^` and `$` always hold?"""
    met: set[int] = set()
    stack = [0]
    while stack:
        i = stack.pop()
        instruction = program.instructions[i]
        if i in met or instruction == MatchLabel(label) or instruction == MatchLabel(label, is_hidden=True):
            continue
        met.add(i)
        if isinstance(instruction, Split):
            stack += [instruction.first, instruction.second]
        elif i + 1 < len(program.instructions):
            stack.append(instruction.target if isinstance(instruction, Jump) else i + 1)
    return len(program.instructions) - 1 in met


@pytest.mark.parametrize("pattern, expected", lines("mandatory.txt"))
def test_these_variables_are_in_every_match(pattern, expected):
    tree, names = parse_pattern(pattern, 0, len(pattern))
    assert sorted(mandatory(tree)) == expected.split()
    try:
        program = compile_pattern(tree, tuple(name.key for name in names))
    except UnsupportedError:
        return  # relaxed patterns are not built yet
    assert [name for i, name in enumerate(program.labels) if not is_done_without(program, i)] == expected.split()
