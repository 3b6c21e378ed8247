"""Streams of patterns that skip rows: what the rows so far decide is what all rows give, whatever comes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from contiguity_harness import listed, random_case

from sqlext.errors import DataError
from sqlext.pattern.contiguity import decided as contiguity_decided
from sqlext.pattern.contiguity import nfa_strategy
from sqlext.pattern.parts import part_of
from sqlext.pattern.streams.decided import Passed, first_place


def one_partition(seed: int):
    task, rows = random_case(seed, rows=9)
    n = len(rows.mask)
    key = np.arange(n) if rows.key is None else rows.key
    if task.is_within and rows.end is None:
        return None
    rows = replace(rows, bounds=np.array([0, n]), key=key)
    if rows.limit is not None:
        rows = replace(
            rows, limit=np.array([next((j for j in range(i, n) if key[j] >= rows.end[i]), n) for i in range(n)])
        )
    task = replace(task, output=replace(task.output, shows_timeouts=False, shows_unmatched=False))
    is_fine = not task.skip.labels or task.skip.else_next_row
    return (task, rows) if is_fine and contiguity_decided.objection(task) is None else None


def decided(task, rows, watermark: int):
    """What is decided when all rows with keys up to the watermark have come."""
    n = int(np.searchsorted(rows.key, watermark, side="right"))
    if n == 0:
        return []
    part = part_of(rows, 0, n)
    passed = Passed(rows.key[:n], watermark, None if rows.end is None else rows.end[:n])
    found = contiguity_decided.decide(task, part, passed, first_place(part))
    return [(*match, time) for match, time in zip(listed([found.spans]), found.time.tolist())]


@pytest.mark.parametrize("block", range(20))
def test_the_law_holds_for_every_watermark(block):
    """At watermark W just those matches are decided whose time is at most W, and they are the first of the batch."""
    checked = 0
    for seed in range(5000 + block * 60, 5000 + block * 60 + 60):
        case = one_partition(seed)
        if case is None:
            continue
        task, rows = case
        try:
            batch = listed(nfa_strategy.find(task, rows))
        except DataError:
            continue
        last = int(rows.key[-1] if rows.end is None else rows.end.max())
        final = decided(task, rows, last + 5)
        for watermark in range(int(rows.key[0]), last + 6):
            found = decided(task, rows, watermark)
            assert [match[:-1] for match in found] == batch[: len(found)], f"{seed}\n{task.nfa}"
            assert found == [match for match in final if match[-1] <= watermark], f"{seed}\n{task.nfa}"
        checked += 1
    assert checked
