"""Cases of patterns with skipped rows: from cep.txt, and at random."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.program import ast
from sqlext.pattern.task.skip_mode import MODES, NO_SKIP
from sqlext.pattern.task.task import (
    Aggregate,
    Condition,
    Literal,
    MachineCall,
    Navigation,
    Operand,
    Output,
    Rows,
    Skip,
    Spans,
    Values,
)
from tests.task_harness import cep_task_of, tree_of

from .pattern_harness import packed

LETTERS = tuple("ABCMNS")


def task_of(pattern: ast.Pattern, skip: Skip, bound: str = "") -> CepTask:
    """`bound`: "", "within" or "between"; time-outs are shown where there is one."""
    return cep_task_of(
        pattern,
        LETTERS,
        skip=skip,
        output=Output(shows_timeouts=bool(bound)),
        is_within=bool(bound),
        is_between=bound == "between",
    )


def rows_of(held: np.ndarray, bounds: np.ndarray, key: np.ndarray, distance: int | None) -> Rows:
    """`held: bool[n, letters]`; without a `distance` there is no bound."""
    if distance is None:
        return Rows(bounds=bounds, mask=packed(held))
    ends = np.repeat(bounds[1:], np.diff(bounds))
    limit = np.array(
        [next((j for j in range(i, ends[i]) if key[j] >= key[i] + distance), ends[i]) for i in range(len(key))],
        np.int64,
    )
    return Rows(bounds=bounds, mask=packed(held), limit=limit, key=key, end=key + distance)


def case_of(pattern: str, rows: str, mode: str) -> tuple[CepTask, Rows]:
    """A line of cep.txt."""
    tree, _ = tree_of(pattern)
    mode, _, bound = mode.partition(", ")
    words = mode.split()
    targets = () if mode in MODES else tuple(LETTERS.index(x) for x in words[2:])
    skip = Skip(MODES[" ".join(words[:2]) if targets else mode], targets, else_next_row=True)
    kind, _, distance = bound.partition(" ")
    satisfied = rows.split()
    held = np.array([[letter in row for letter in LETTERS] for row in satisfied], bool)
    key = np.arange(len(satisfied))
    return task_of(tree, skip, kind), rows_of(held, np.array([0, len(key)]), key, int(distance) if distance else None)


def shown(blocks: Iterable[Spans]) -> str:
    """As the last field of cep.txt."""
    matches, partial = [], []
    for _, rows, labels, hidden, is_partial in listed(blocks):
        letters = [LETTERS[x].lower() if h else LETTERS[x] for x, h in zip(labels, hidden)]
        text = " ".join(f"{letter}{row}" for letter, row in zip(letters, rows))
        (partial if is_partial else matches).append(text)
    return " | ".join(matches) + (" / " + " | ".join(sorted(partial)) if partial else "")


def listed(blocks: Iterable[Spans]) -> list[tuple]:
    """(number, rows, labels, hidden, is partial) of each match."""
    found: list[tuple] = []
    for block in blocks:
        hidden = np.zeros(len(block.label), bool) if block.is_hidden is None else block.is_hidden
        for i in range(len(block.start)):
            at = slice(block.offset[i], block.offset[i + 1])
            assert block.row is not None
            taken = tuple(block.row[at].tolist()), tuple(block.label[at].tolist()), tuple(hidden[at].tolist())
            found.append((int(block.number[i]), *taken, block.timed_out is not None))
    return found


def everything(blocks: Iterable[Spans]) -> dict[str, object]:
    """All that blocks say, partial matches and unmatched rows in one order."""
    held = list(blocks)
    found = listed(held)
    failure = next((block.failure for block in held if block.failure is not None), None)
    return {
        "start": [start for block in held if block.timed_out is None for start in block.start.tolist()],
        "matches": [x for x in found if not x[-1]],
        "partial": sorted(x for x in found if x[-1]),
        "unmatched": None if failure else sorted(row for block in held for row in block.unmatched.tolist()),
        "failure": failure,
    }


# at random

_QUANTIFIERS = [(0, None), (1, None), (0, 1), (2, None), (0, 2), (1, 3), (2, 2)]


def random_tree(chance: random.Random, size: int) -> ast.Pattern:
    """A tree of about `size` nodes over A, B, C, with N, C and S, A after absences and UNTIL."""
    if size <= 1:
        return ast.Variable(chance.choice("ABC"))
    kind, below = chance.random(), size - 1
    if kind < 0.3:
        mode = chance.choice([ast.GREEDY, ast.GREEDY, ast.RELUCTANT, ast.POSSESSIVE])
        item = random_tree(chance, below)
        least, most = chance.choice(_QUANTIFIERS)
        return ast.Quantified(item=item, at_least=least, at_most=most, mode=mode)
    if kind < 0.5:
        return ast.Relaxed(chance.choice(["->", "->>"]), random_tree(chance, below))
    if kind < 0.57:
        return ast.Until(random_tree(chance, below), ast.Variable(chance.choice("SA")))
    if kind < 0.62:
        return ast.Exclusion(random_tree(chance, below))
    if kind < 0.72:
        items = random_tree(chance, below // 2), random_tree(chance, below // 2)
        return ast.Alternation(items) if kind < 0.7 else ast.Permutation(items)
    return ast.Concatenation(tuple(_random_items(chance, below)))


def _random_items(chance: random.Random, size: int) -> list[ast.Pattern]:
    items: list[ast.Pattern] = [ast.PartitionStart()] if chance.random() < 0.03 else []
    parts = chance.randint(2, 3)
    for _ in range(parts):
        items.append(random_tree(chance, size // parts))
        if chance.random() < 0.25:
            items.append(ast.Absence(chance.choice(["!", "!->"]), ast.Variable(chance.choice("NC"))))
    return [*items, ast.PartitionEnd()] if chance.random() < 0.05 else items


def random_case(seed: int, rows: int = 7) -> tuple[CepTask, Rows]:
    """Everything combined: modes, bounds, ties of the key, partitions, conditions on the path."""
    chance, numbers = random.Random(seed), np.random.default_rng(seed)
    pattern, n = random_tree(chance, chance.randint(2, 8)), chance.randint(1, rows)
    bounds = np.array([0, n]) if n < 2 or chance.random() < 0.7 else np.array([0, n // 2, n])
    held = numbers.random((n, len(LETTERS))) < chance.choice([0.3, 0.5, 0.7])
    if chance.random() < 0.4:
        held = numbers.integers(0, len(LETTERS), (n, 1)) == np.arange(len(LETTERS))
    mode = chance.choice([NO_SKIP, NO_SKIP, *MODES.values()])
    targets = tuple(chance.sample(range(3), 2)) if mode.has_target else ()
    bound = chance.choice(["", "", "within", "between"])
    task = task_of(pattern, Skip(mode, targets, chance.random() < 0.7), bound)
    task = replace(task, output=replace(task.output, shows_unmatched=chance.random() < 0.3))
    made = rows_of(held, bounds, np.cumsum(numbers.integers(0, 3, n)), chance.randint(1, 4) if bound else None)
    if chance.random() < 0.3:
        return with_conditions(task, made, chance)
    return task, replace(made, key=None, end=None) if chance.random() < 0.3 else made


def with_conditions(task: CepTask, rows: Rows, chance: random.Random) -> tuple[CepTask, Rows]:
    """Some variables get conditions on the path."""
    conditions = tuple(_condition(chance, label) if chance.random() < 0.4 else None for label in range(len(LETTERS)))
    numbers, n = np.random.default_rng(chance.randint(0, 10**6)), len(rows.mask)
    valid = numbers.random(n) < 0.9 if chance.random() < 0.3 else None
    return replace(task, conditions=conditions), replace(rows, columns=(Values(numbers.integers(0, 5, n), valid),))


def _condition(chance: random.Random, label: int) -> Condition:
    right = chance.choice([_operand(chance, label), Literal(chance.randint(0, 4), "int")])
    return MachineCall(
        function=chance.choice(["less", "less_equal", "equal", "not_equal"]),
        arguments=(_operand(chance, label), right),
        kind="bool",
    )


def _operand(chance: random.Random, label: int) -> Operand:
    kind, labels = chance.random(), chance.choice([None, (label,), (0,), (1,), (2,), (0, 1)])
    if kind < 0.6:
        offset, step = chance.choice([0, 0, 1, 2]), chance.choice([0, 0, 0, -1, 1])
        navigation = Navigation(argument=0, labels=labels, from_first=chance.random() < 0.25, offset=offset, step=step)
        return Operand(navigation, "int", chance.choice([None, None, 3]))
    if kind < 0.8:
        return Operand(Aggregate(function="count", argument=None, labels=labels), "int")
    return Operand(Aggregate(function=chance.choice(["sum", "min", "max"]), argument=0, labels=labels), "int")
