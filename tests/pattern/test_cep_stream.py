"""Streams of patterns that skip rows: what the rows so far decide is what all rows give, whatever comes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from sqlext.errors import DataError
from sqlext.pattern.batch.parts import part_of
from sqlext.pattern.conditions.condition_reads import reads_ahead
from sqlext.pattern.strategy import decide, match, stream_refusal
from sqlext.pattern.task.event_time import EventTimes, StreamFacts, first_position

from .cep_harness import listed, random_case


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
    task = replace(task, output=replace(task.output, shows_timeouts=task.output.shows_timeouts and task.is_within))
    is_fine = not task.skip.labels or task.skip.else_next_row
    return (task, rows) if is_fine and stream_refusal(task, reads_ahead=reads_ahead(task)) is None else None


@dataclass(frozen=True)
class Found:
    """(a match or partial match, its time), and (an unmatched row, its time)."""

    matches: list
    partial: list
    unmatched: list

    def up_to(self, watermark: int) -> Found:
        held = self.matches, self.partial, self.unmatched
        return Found(*([x for x in found if x[-1] <= watermark] for found in held))


def decided(task, rows, watermark: int) -> Found:
    """What is decided when all rows with keys up to the watermark have come."""
    n = int(np.searchsorted(rows.key, watermark, side="right"))
    end = None if rows.end is None else rows.end[:n]
    part = replace(part_of(rows, 0, n), key=rows.key[:n], end=end)
    found = decide(
        task, part, EventTimes(key=rows.key[:n], watermark=watermark, end=end), first_position(part), StreamFacts()
    )
    spans, matches, partial = found.spans, [], []
    is_partial = np.zeros(len(spans.start), bool) if spans.timed_out is None else spans.timed_out
    for shown, time, is_late in zip(listed([spans]), found.time.tolist(), is_partial.tolist()):
        (partial if is_late else matches).append((shown[1:-1] if is_late else shown[:-1], time))
    return Found(matches, sorted(partial), list(zip(spans.unmatched.tolist(), found.unmatched_time.tolist())))


@pytest.mark.random(every=2)
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
            blocks = list(match(task, rows))
        except DataError:
            continue
        batch = listed(blocks)
        matches = [shown[:-1] for shown in batch if not shown[-1]]
        partial = {shown[1:-1] for shown in batch if shown[-1]}
        unmatched = {row for block in blocks for row in block.unmatched.tolist()}
        last = int(rows.key[-1] if rows.end is None else rows.end.max())
        final = decided(task, rows, last + 5)
        assert [match for match, _ in final.matches] == matches[: len(final.matches)], f"{seed}\n{task.nfa}"
        assert {match for match, _ in final.partial} <= partial, f"{seed}\n{task.nfa}"
        assert {row for row, _ in final.unmatched} <= unmatched, f"{seed}\n{task.nfa}"
        assert decided(replace(task, strategy="reference"), rows, last + 5) == final, f"{seed}\n{task.nfa}"
        for watermark in range(int(rows.key[0]), last + 6):
            assert decided(task, rows, watermark) == final.up_to(watermark), f"{seed}\n{task.nfa}"
        checked += 1
    assert checked >= 20
