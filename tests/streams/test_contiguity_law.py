"""The law of streams for patterns that skip rows, have absences, UNTIL or possessive loops."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from stream_cases import LABELS, Case, decided_by_law, parts, random_case, random_tree

from sqlext.pattern import ast
from sqlext.pattern.compile import compile_pattern
from sqlext.pattern.contiguity import decided
from sqlext.pattern.contiguity.nfa_compile import compile_nfa, is_contiguous, skeleton
from sqlext.pattern.parts import may_fail
from sqlext.pattern.program import MatchStart

CASES = 1200
PARTS = 12


def relaxed(node: ast.Pattern, chance: random.Random) -> ast.Pattern:
    """The pattern with operators, absences, UNTIL and possessive loops put in."""
    if isinstance(node, (ast.Concatenation, ast.Alternation, ast.Permutation)):
        items = [relaxed(item, chance) for item in node.items]
        if isinstance(node, ast.Concatenation) and chance.random() < 0.3:
            items.insert(1, ast.Absence(chance.choice(["!", "!->"]), ast.Variable(chance.choice(LABELS))))
        node = replace(node, items=tuple(items))
    elif isinstance(node, ast.Quantified):
        mode = ast.POSSESSIVE if chance.random() < 0.3 else node.mode
        node = replace(node, item=relaxed(node.item, chance), mode=mode)
    elif isinstance(node, ast.Exclusion):
        node = replace(node, item=relaxed(node.item, chance))
    if chance.random() < 0.1:
        node = ast.Until(node, ast.Variable(chance.choice(LABELS)))
    return ast.Relaxed(chance.choice(["->", "->>"]), node) if chance.random() < 0.4 else node


def contiguity_case(chance: random.Random) -> Case | None:
    """A random case of streams with such a pattern, None if no stream can answer it yet."""
    case, labels = random_case(chance), tuple(LABELS)
    tree = relaxed(random_tree(chance, chance.randint(2, 8)), chance)
    program = compile_pattern(skeleton(tree), labels)
    output = replace(case.plan.task.output, shows_unmatched=False)
    task = replace(case.plan.task, program=program, nfa=compile_nfa(tree, labels), output=output)
    if may_fail(task):
        task = replace(task, skip=replace(task.skip, else_next_row=True))
    if is_contiguous(tree) or decided.objection(task) is not None:
        return None
    knows_first = any(isinstance(x, MatchStart) for x in program.instructions)
    worker = replace(case.stream.worker, task=task)
    return Case(replace(case.plan, task=task), replace(case.stream, worker=worker, knows_first=knows_first), case.rows)


@pytest.mark.parametrize("part", parts(PARTS))
def test_a_stream_gives_out_what_batch_says_is_decided(part):
    found = 0
    for seed in range(part, CASES, PARTS):
        chance = random.Random(seed)
        case = contiguity_case(chance)
        found += 0 if case is None else decided_by_law(case, chance)
    assert found > CASES // PARTS // 2
