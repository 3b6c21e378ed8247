"""Long matches that overlap: the number of listed labels is linear in the rows, not in the rows that matches map."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sqlext.pattern.batch import bounded, lazy_dfa, two_pass
from sqlext.pattern.task.skip_mode import SKIP_TO_FIRST, SKIP_TO_NEXT_ROW
from sqlext.pattern.task.task import MatchTask, Output, Rows, Skip, Spans

from .pattern_harness import rows_of, task_of

N = 12_000
BLOCK_ROWS = 500
WALKS = {  # pattern: (word, the number of walks that are new on each row of a block, the most tails that a match has)
    "A+ B": ("A" * N + "B", 1, 1),
    "B B* C": ("B" * N + "C", 2, 1),
    "B B*": ("B" * N, 2, 1),
    "B{5} B* C": ("B" * N + "C", 6, 1),
    "A+ B+ C+": ("A" * (N // 3) + "B" * (N // 3) + "C" * (N // 3), 1, 1),
    "(A A)+ A? B+": ("A" * (N // 2) + "B" * (N // 2), 2, 2),
    "((A A)+ A? B)+": (("A" * 99 + "B") * (N // 100), 2, 2),
    "A+ B | B* C": ("A" * (N // 2) + "B" * (N // 2) + "C", 1, 1),
}
STRATEGIES = {"two_pass": two_pass.find, "lazy_dfa": lazy_dfa.find, "bounded": bounded.find}


def overlapping(pattern: str, word: str) -> tuple[MatchTask, Rows]:
    task = task_of(pattern, skip=Skip(SKIP_TO_NEXT_ROW))
    return replace(task, output=Output()), rows_of(task, [word])


def most_tails(spans: Spans) -> int:
    """The greatest number of tails of one match of the block."""
    if spans.tails is None:
        return 0
    depth = np.zeros(len(spans.start) + 1, np.int64)
    for i, tail in enumerate(spans.tails.match.tolist()):
        depth[i] = 1 + depth[tail] if tail >= 0 else 0
    return int(depth.max())


@pytest.mark.random(every=3)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("pattern", WALKS)
def test_labels_are_linear_in_the_rows(pattern, strategy):
    word, new_walks, tails = WALKS[pattern]
    blocks = list(STRATEGIES[strategy](*overlapping(pattern, word), block_rows=BLOCK_ROWS))
    assert sum(int(spans.length.sum()) for spans in blocks) > 100 * N
    # a block lists its new rows, and at most four times as many rows of its matches that the next block lists again
    assert sum(len(spans.label) for spans in blocks) <= 5 * new_walks * N + BLOCK_ROWS
    assert max(map(most_tails, blocks)) == tails


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_block_has_no_more_matches_than_labels(strategy):
    blocks = list(STRATEGIES[strategy](*overlapping("A+ B", "A" * N + "B"), block_rows=BLOCK_ROWS))
    assert all(len(spans.start) <= max(BLOCK_ROWS, len(spans.label)) for spans in blocks)
    assert len(blocks) > 5


NOT_WORTH_IT = {
    "short matches": ("A+ B", "AAAB" * 3000),
    "walks that never meet": ("A{40}", "A" * N),
    "nothing overlaps": ("A+ B+", ("A" * 50 + "B" * 50) * 100, Skip(SKIP_TO_FIRST, (1,))),
}


@pytest.mark.parametrize("pattern, word, skip", [(*case, Skip(SKIP_TO_NEXT_ROW))[:3] for case in NOT_WORTH_IT.values()])
def test_labels_are_not_shared_where_it_saves_little(pattern, word, skip):
    task, rows = overlapping(pattern, word)
    task = replace(task, skip=skip)
    assert all(spans.tails is None for spans in two_pass.find(task, rows, block_rows=BLOCK_ROWS))


def test_labels_are_shared_only_where_limits_do_not_end_the_matches():
    """`A B*` ends where WITHIN ends it; `A B* C` ends with C, whatever the limit is."""
    reach = np.arange(N) + 300
    for pattern, word, is_shared in (("B B*", "B" * N, False), ("B B* C", ("B" * 999 + "C") * (N // 1000), True)):
        task, rows = overlapping(pattern, word)
        task = replace(task, is_within=True)
        blocks = list(
            bounded.find(
                task, Rows(bounds=rows.bounds, mask=rows.mask, limit=np.minimum(reach, N)), block_rows=BLOCK_ROWS
            )
        )
        labels, lengths = (sum(int(x) for x in xs) for xs in zip(*((len(s.label), s.length.sum()) for s in blocks)))
        assert (labels < lengths / 10) == is_shared
