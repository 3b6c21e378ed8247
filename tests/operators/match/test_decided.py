"""What is decided, by its definition: a result is decided if no rows whatsoever that come later can change it."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from sqlext.pattern.batch import reference
from sqlext.pattern.program import ast
from sqlext.pattern.program.compile import compile_pattern
from sqlext.pattern.stream import stream_reference
from sqlext.pattern.stream import walk as stream_walk
from sqlext.pattern.task.event_time import EventTimes, StreamFacts, first_position
from sqlext.pattern.task.skip_mode import SKIP_PAST_LAST_ROW, SKIP_TO_NEXT_ROW
from sqlext.pattern.task.task import MatchTask, Output, Rows, Skip

LATER = 4  # rows that may follow: enough to end any of the patterns
SPACE = 10  # between the times of rows; later ones come one by one after the last, before WITHIN can end


def tree(chance: random.Random, size: int) -> ast.Pattern:
    """A pattern on A and B that four rows can always end."""
    if size <= 1:
        return ast.Variable(chance.choice("AB"))
    if chance.random() < 0.4:
        least, most = chance.choice([(0, None), (1, None), (0, 1)])
        mode = chance.choice([ast.GREEDY, ast.RELUCTANT])
        return ast.Quantified(item=tree(chance, size - 2), at_least=least, at_most=most, mode=mode)
    kind = chance.choice([ast.Concatenation, ast.Concatenation, ast.Alternation])
    return kind((tree(chance, size // 2), tree(chance, size - size // 2)))


def rows_with(masks, bound: int | None, later=()) -> tuple[Rows, np.ndarray, np.ndarray | None]:
    """Rows, their times, and where WITHIN ends."""
    key = np.concatenate([np.arange(1, len(masks) + 1) * SPACE, len(masks) * SPACE + 1 + np.arange(len(later))])
    masks, n = [*masks, *later], len(key)
    end = None if bound is None else key + bound
    limit = None if end is None else np.searchsorted(key, end, side="left")
    return Rows(bounds=np.array([0, n]), mask=np.array(masks, np.uint8).reshape(n, 1), limit=limit), key, end


def results(task: MatchTask, masks, bound: int | None, later) -> set:
    rows, _, _ = rows_with(masks, bound, later)
    found = set()
    for spans in reference.find(task, rows):
        parts = np.split(spans.label, spans.offset[1:-1])
        found |= {("match", s, n, tuple(p)) for s, n, p in zip(spans.start.tolist(), spans.number.tolist(), parts)}
        found |= {("unmatched", row) for row in spans.unmatched.tolist()}
    return found


def decided(task: MatchTask, masks, bound: int | None, watermark: int, engine) -> tuple[set, int]:
    rows, key, end = rows_with(masks, bound)
    event_times = EventTimes(key=key, watermark=watermark, end=end)
    given = engine.decide(task, rows, event_times, first_position(rows), StreamFacts())
    spans = given.spans
    parts = np.split(spans.label, spans.offset[1:-1])
    found = {("match", s, n, tuple(p)) for s, n, p in zip(spans.start.tolist(), spans.number.tolist(), parts)}
    return found | {("unmatched", row) for row in spans.unmatched.tolist()}, int(given.position.row[0])


@pytest.mark.random
@pytest.mark.parametrize("part", range(6))
def test_decided_is_what_no_later_rows_can_change(part):
    for seed in range(part, 90, 6):
        chance = random.Random(seed)
        program = compile_pattern(tree(chance, chance.randint(2, 4)), ("A", "B"))
        bound = chance.choice([None, None, SPACE, 2 * SPACE])
        skip = Skip(chance.choice([SKIP_PAST_LAST_ROW, SKIP_PAST_LAST_ROW, SKIP_TO_NEXT_ROW]))
        task = MatchTask(
            program=program,
            bits=(0, 1),
            conditions=(None, None),
            skip=skip,
            output=Output(is_all_rows=True, shows_empty=True, shows_unmatched=True),
            is_within=bound is not None,
        )
        masks = [chance.randrange(4) for _ in range(chance.randint(1, 3))]
        certain = set.intersection(
            *(results(task, masks, bound, later) for n in range(LATER + 1) for later in product(range(4), repeat=n))
        )
        for engine in (stream_reference, stream_walk):
            found, undecided = decided(task, masks, bound, SPACE * len(masks), engine)
            assert found <= certain, (seed, engine)
            early = {row for row in certain - found if row[1] == undecided}
            assert not early, (seed, engine)
