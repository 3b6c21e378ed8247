"""The cases of batch row by row through every matcher of streams that accepts them, with a restart after each row.

After each row, the matcher keeps what a stream keeps of a key: the rows from the search position on. By then it has
emitted exactly the results of batch whose MATCH_ROWTIME() is at most the watermark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from sqlext.pattern.batch.parts import may_fail, part_of
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.conditions.condition_reads import reads_ahead
from sqlext.pattern.strategy import (
    CEP_STREAM_MATCHERS,
    STREAM_MATCHERS,
    Matcher,
    choose_on_stream,
    decide,
    match,
    stream_refusal,
)
from sqlext.pattern.stream.rowtime import batch_times
from sqlext.pattern.task.event_time import BEGINNING, EventTimes, SearchPosition, StreamFacts, first_position
from sqlext.pattern.task.task import Rows, Spans, Task, Values

from .cep_harness import case_of
from .pattern_harness import lines, rows_of, task_of
from .test_matches import skip_of

Result = tuple


def results_of(
    spans: Spans, times: np.ndarray, unmatched_times: np.ndarray, first: int = 0
) -> list[tuple[int, Result]]:
    """(time, match, partial match or unmatched row) of a block whose row 0 is row `first`."""
    results: list[tuple[int, Result]] = []
    for i, time in enumerate(times.tolist()):
        at = slice(spans.offset[i], spans.offset[i + 1])
        start, length = int(spans.start[i]), int(spans.offset[i + 1] - spans.offset[i])
        rows = np.arange(start, start + length) if spans.row is None else spans.row[at]
        hidden = (False,) * len(rows) if spans.is_hidden is None else tuple(spans.is_hidden[at].tolist())
        is_partial = spans.timed_out is not None and bool(spans.timed_out[i])
        kind = "partial" if is_partial else int(spans.number[i])
        labels = tuple(spans.label[at].tolist())
        results.append((time, (kind, start + first, tuple((rows + first).tolist()), labels, hidden)))
    unmatched = zip(unmatched_times.tolist(), spans.unmatched.tolist())
    return results + [(time, ("unmatched", row + first)) for time, row in unmatched]


def in_batch(task: Task, rows: Rows) -> list[tuple[int, Result]]:
    """All results of batch with their times."""
    assert rows.key is not None
    end = None if rows.end is None else Values(rows.end)
    times = batch_times(decide, task, rows, Values(rows.key), end, None)
    results = []
    for block in match(task, rows):
        timed = times.of(block, rows.bounds)
        assert timed.time is not None and timed.unmatched_time is not None
        results += results_of(timed, timed.time, timed.unmatched_time)
    return results


def replayed(task: Task, rows: Rows, matcher: Matcher) -> Iterator[tuple[int, Counter]]:
    """(watermark, the results emitted so far) after each row and when all bounds have ended; ends at a failure."""
    assert rows.key is not None
    facts, emitted, before = facts_for(matcher), Counter(), BEGINNING
    first, position = 0, None
    last = int(rows.key[-1] if rows.end is None else rows.end.max()) + 1
    for watermark in [*rows.key.tolist(), *range(int(rows.key[-1]) + 1, last + 1)]:
        passed = kept(rows, first, watermark)
        if passed is not None:
            position = first_position(passed[0]) if position is None else position
            decisions = decide(task, *passed, position, facts, matcher.name)
            timed = results_of(decisions.spans, decisions.time, decisions.unmatched_time, first)
            emitted.update(result for time, result in timed if before < time <= watermark)
            first, position = restarted(decisions.position, first)
        yield watermark, Counter(emitted)
        if passed is not None and decisions.spans.failure is not None:
            return
        before = watermark


def kept(rows: Rows, first: int, watermark: int) -> tuple[Rows, EventTimes] | None:
    """The rows from `first` on that have passed, None if there are none: then a stream has nothing to search."""
    assert rows.key is not None
    n = int(np.searchsorted(rows.key, watermark, side="right"))
    key, end = rows.key[first:n], None if rows.end is None else rows.end[first:n]
    if first == n:
        return None
    return replace(part_of(rows, first, n), key=key, end=end), EventTimes(key=key, watermark=watermark, end=end)


def restarted(position: SearchPosition, first: int) -> tuple[int, SearchPosition]:
    """The first row that is kept, and the position counted from there."""
    dropped = int(position.row[0])
    position = replace(
        position,
        row=position.row - dropped,
        matched_end=np.maximum(position.matched_end - dropped, 0),
        is_first=position.is_first & (dropped == 0),
    )
    return first + dropped, position


def facts_for(matcher: Matcher) -> StreamFacts:
    return StreamFacts(needs_times=matcher.name != "unknown_rows")


def matchers_for(task: Task) -> list[Matcher]:
    """The matchers that accept a task. A stream refuses a SKIP that may fail, so `unknown_rows` knows no failure."""
    matchers = CEP_STREAM_MATCHERS if isinstance(task, CepTask) else STREAM_MATCHERS
    is_fine = [matcher for matcher in matchers if matcher.refusal(task, facts_for(matcher)) is None]
    return [matcher for matcher in is_fine if matcher.name != "unknown_rows" or not may_fail(task)]


def assert_law(task: Task, rows: Rows) -> None:
    assert stream_refusal(task, reads_ahead=reads_ahead(task)) is None
    batch, matchers = in_batch(task, rows), matchers_for(task)
    assert choose_on_stream(task, StreamFacts())[0] in [matcher.name for matcher in matchers]
    for matcher in matchers:
        for watermark, emitted in replayed(task, rows, matcher):
            expected = Counter(result for time, result in batch if time <= watermark)
            assert emitted == expected, f"{matcher.name} at {watermark}"


def partitions(task: Task, words: str) -> Iterator[Rows]:
    """Each partition as rows of its own, one unit of time apart."""
    for word in words.split():
        yield replace(rows_of(task, [word]), key=np.arange(len(word)))


@pytest.mark.parametrize("pattern, word, expected", lines("matches.txt"))
def test_the_patterns_of_batch(pattern, word, expected):
    task = task_of(pattern, shows_unmatched=True)
    for rows in partitions(task, word):
        assert_law(task, rows)


@pytest.mark.parametrize("pattern, words, skip, expected, unmatched, failure", lines("runs.txt"))
def test_the_runs_of_batch(pattern, words, skip, expected, unmatched, failure):
    task = task_of(pattern, skip=skip_of(skip, task_of(pattern)), shows_unmatched=True)
    for rows in partitions(task, words):
        assert_law(task, rows)


CEP = [(title, *case_of(pattern, rows, mode)) for title, pattern, rows, mode, _ in lines("cep.txt")]
DECIDABLE = [case for case in CEP if stream_refusal(case[1], reads_ahead=False) is None]


@pytest.mark.parametrize("title, task, rows", DECIDABLE, ids=lambda field: field[:40] if isinstance(field, str) else "")
def test_the_cases_of_cep(title, task, rows):
    assert_law(task, rows if rows.key is not None else replace(rows, key=np.arange(len(rows.mask))))


def test_every_matcher_has_cases():
    tasks = [task for _, task, _ in DECIDABLE] + [task_of(pattern) for pattern, *_ in lines("matches.txt")]
    accepted = Counter((type(task), matcher.name) for task in tasks for matcher in matchers_for(task))
    assert len(accepted) == len(STREAM_MATCHERS) + len(CEP_STREAM_MATCHERS)
    assert len(CEP) - len(DECIDABLE) <= 4  # $ together with NO SKIP
