"""The law of streams for patterns that skip rows, have absences, UNTIL or possessive loops, for NO SKIP, time-outs
and bounds between rows."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from sqlext.operators.match.plan import Slot
from sqlext.pattern.batch.parts import may_fail
from sqlext.pattern.cep.cep_task import cep_task
from sqlext.pattern.cep.nfa_compile import compile_nfa, is_contiguous, skeleton
from sqlext.pattern.conditions.condition_reads import reads_ahead
from sqlext.pattern.program import ast
from sqlext.pattern.program.compile import compile_pattern
from sqlext.pattern.program.program import MatchStart
from sqlext.pattern.strategy import stream_refusal
from sqlext.pattern.task.skip_mode import NO_SKIP
from sqlext.pattern.task.task import MatchTask, Output, Skip
from tests.sampling import seeded

from .stream_cases import LABELS, Case, decided_by_law, random_case, random_tree

CASES = 2400
PARTS = 96


def relaxed(node: ast.Pattern, chance: random.Random, letters: str = LABELS) -> ast.Pattern:
    """The pattern with operators, absences, UNTIL and possessive loops put in."""
    if isinstance(node, (ast.Concatenation, ast.Alternation, ast.Permutation)):
        items = [relaxed(item, chance, letters) for item in node.items]
        if isinstance(node, ast.Concatenation) and chance.random() < 0.3:
            absence = ast.Absence(chance.choice(["!", "!->"]), ast.Variable(chance.choice(letters)))
            items.insert(chance.choice([1, 1, len(items)]), absence)
        node = replace(node, items=tuple(items))
    elif isinstance(node, ast.Quantified):
        mode = ast.POSSESSIVE if chance.random() < 0.3 else node.mode
        node = replace(node, item=relaxed(node.item, chance, letters), mode=mode)
    elif isinstance(node, ast.Exclusion):
        node = replace(node, item=relaxed(node.item, chance, letters))
    if chance.random() < 0.1:
        node = ast.Until(node, ast.Variable(chance.choice(letters)))
    return ast.Relaxed(chance.choice(["->", "->>"]), node) if chance.random() < 0.4 else node


def cep_case(chance: random.Random) -> Case | None:
    """A random case of streams with such a pattern, None if no stream can answer it."""
    case, labels = random_case(chance), tuple(LABELS)
    tree = relaxed(random_tree(chance, chance.randint(2, 8)), chance)
    task = cep_task(replace(case.plan.task, program=compile_pattern(skeleton(tree), labels)), compile_nfa(tree, labels))
    task = mode_of(task, chance)
    if may_fail(task):
        task = replace(task, skip=replace(task.skip, else_next_row=True))
    is_plain = not task.skip.mode.lists_all and not task.is_between and not task.output.shows_timeouts
    is_ahead = reads_ahead(task, [condition for _, condition in case.plan.neighbours])
    if (is_plain and is_contiguous(tree)) or stream_refusal(task, reads_ahead=is_ahead) is not None:
        return None
    keeps_all_keys = any(isinstance(x, MatchStart) for x in task.program.instructions)
    carried = ("k", "u") if task.output.is_all_rows else ("k",)
    timed_out = Slot(name="timed_out", kind="timed out")
    plan = replace(case.plan, task=task, carried=carried, slots=(timed_out, *case.plan.slots))
    worker = replace(plan, slots=(timed_out, *case.stream.worker.slots))
    return Case(plan, replace(case.stream, worker=worker, keeps_all_keys=keeps_all_keys), case.rows)


def mode_of(task: MatchTask, chance: random.Random) -> MatchTask:
    """The task with NO SKIP, with time-outs, or with a bound between rows, or with several of them, or none."""
    if chance.random() < 0.35:
        task = replace(task, skip=Skip(NO_SKIP), output=replace(task.output, shows_unmatched=False))
    if task.is_within and chance.random() < 0.4:
        task = replace(task, output=Output(shows_timeouts=True))
    return replace(task, is_between=task.is_within and chance.random() < 0.3)


@pytest.mark.random(every=6)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_stream_emits_the_rows_that_are_decided_in_batch(part):
    decided = 0
    for seed in range(part, CASES, PARTS):
        chance = seeded(seed)
        case = cep_case(chance)
        decided += 0 if case is None else decided_by_law(case, chance)
    assert decided
