"""What is decided of patterns that skip rows, by its definition: no rows whatsoever that come later can change it."""

from __future__ import annotations

import random
from itertools import product

import pytest

from sqlext.pattern.cep import path_search
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.program import ast
from sqlext.pattern.strategy import decide
from sqlext.pattern.task.event_time import EventTimes, StreamFacts, first_position
from sqlext.pattern.task.skip_mode import NO_SKIP, SKIP_PAST_LAST_ROW, SKIP_TO_NEXT_ROW
from sqlext.pattern.task.task import Output, Rows, Skip, Spans
from tests.sampling import seeded
from tests.task_harness import cep_task_of

from .test_cep_law import relaxed
from .test_decided import LATER, SPACE, rows_with, tree

LETTERS = "AB"
CASES = 240
PARTS = 48


def task_of(chance: random.Random) -> tuple[CepTask, int | None]:
    """A small task over A and B, and its bound."""
    pattern = relaxed(tree(chance, chance.randint(2, 4)), chance, LETTERS)
    if chance.random() < 0.3:
        pattern = ast.Concatenation((pattern, ast.Absence(chance.choice(["!", "!->"]), ast.Variable("B"))))
    bound = chance.choice([None, SPACE, 2 * SPACE])
    mode = chance.choice([NO_SKIP, NO_SKIP, SKIP_PAST_LAST_ROW, SKIP_TO_NEXT_ROW])
    shows_timeouts = bound is not None and chance.random() < 0.5
    output = (
        Output(is_all_rows=True, shows_empty=True, shows_unmatched=mode != NO_SKIP)
        if not shows_timeouts
        else Output(shows_timeouts=True)
    )
    is_between = bound is not None and chance.random() < 0.3
    options = {"skip": Skip(mode), "output": output, "is_within": bound is not None, "is_between": is_between}
    return cep_task_of(pattern, tuple(LETTERS), **options), bound


def timed(masks, bound: int | None, later=()) -> Rows:
    rows, key, end = rows_with(masks, bound, later)
    return Rows(bounds=rows.bounds, mask=rows.mask, limit=rows.limit, key=key, end=end)


def shown(blocks: list[Spans]) -> set:
    found = set()
    for spans in blocks:
        assert spans.row is not None
        for i in range(len(spans.start)):
            at = slice(spans.offset[i], spans.offset[i + 1])
            is_late = spans.timed_out is not None and bool(spans.timed_out[i])
            taken = tuple(spans.row[at].tolist()), tuple(spans.label[at].tolist())
            found.add(("match", int(spans.start[i]), 0 if is_late else int(spans.number[i]), *taken))
        found |= {("unmatched", row, -1) for row in spans.unmatched.tolist()}
    return found


@pytest.mark.random(every=6)
@pytest.mark.parametrize("part", range(PARTS))
def test_decided_is_what_no_later_rows_can_change(part):
    for seed in range(part, CASES, PARTS):
        chance = seeded(seed)
        task, bound = task_of(chance)
        masks = [chance.randrange(4) for _ in range(chance.randint(1, 3))]
        certain = set.intersection(
            *(
                shown(list(path_search.find(task, timed(masks, bound, later))))
                for n in range(LATER + 1)
                for later in product(range(4), repeat=n)
            )
        )
        rows = timed(masks, bound)
        assert rows.key is not None
        event_times = EventTimes(key=rows.key, watermark=SPACE * len(masks), end=rows.end)
        given = decide(task, rows, event_times, first_position(rows), StreamFacts())
        found = shown([given.spans])
        assert found <= certain, f"{seed}\n{task.nfa}"
        undecided = int(given.position.row[0])
        early = {x for x in certain - found if task.skip.mode.lists_all or x[1] == undecided}
        assert not early or waits_on_purpose(task) or all(x[2] == 0 for x in early), f"{seed} {masks}\n{task.nfa}"


def waits_on_purpose(task: CepTask) -> bool:
    """Of a time-out (number 0) the time is the end of its bound, whatever was certain before. With UNTIL a path may be
    alive that no row can continue, as conditions are taken to be free. `!-> B` at the end without a bound is no SQL."""
    has_until = any(isinstance(node, ast.Until) for node in ast.walk(task.nfa.pattern))
    return has_until or (not task.is_within and any(end.absent for end in task.nfa.ends))
