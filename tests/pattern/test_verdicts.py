"""The counts of verdicts are those of counting row by row, whatever order the rows come in."""

from __future__ import annotations

import numpy as np
import pytest

from sqlext.pattern.why.verdicts import FALSE, NULL, TRUE, VerdictCounts, packed
from tests.sampling import seeded


def and_of(verdicts: list[int]) -> int:
    return FALSE if FALSE in verdicts else NULL if NULL in verdicts else TRUE


@pytest.mark.random
@pytest.mark.parametrize("part", range(4))
def test_counts_are_those_of_single_rows(part):
    for seed in range(part * 100, part * 100 + 50):
        chance = seeded(seed)
        labels = [chance.choice([0, 1, 2]) for _ in range(chance.randint(1, 6))]
        rows = [[chance.choice([TRUE, TRUE, FALSE, NULL]) for _ in labels] for _ in range(chance.randint(1, 30))]
        number, first = [chance.randint(1, 3) for _ in rows], [chance.randint(0, 9) for _ in rows]
        last = [low + chance.randint(0, 3) for low in first]
        counts = VerdictCounts()
        for chosen in (range(0, len(rows), 2), range(1, len(rows), 2)):
            part_of = VerdictCounts()
            columns = [np.array([rows[r][c] for r in chosen], np.int8) for c in range(len(labels))]
            verdicts = list(packed(columns, range(len(labels))))
            part_of.add(verdicts, labels, *(np.array([x[r] for r in chosen], np.int64) for x in (number, first, last)))
            counts.merge(VerdictCounts.of_json(part_of.as_json()))
        assert counts.rows == sum(number)
        for verdict in (TRUE, FALSE, NULL):
            for label in labels:
                mine = [c for c, of in enumerate(labels) if of == label]
                expected = sum(n for n, row in zip(number, rows) if and_of([row[c] for c in mine]) == verdict)
                assert counts.all_of[label, verdict] == expected, seed
            for c, label in enumerate(labels):
                assert counts.each[c, verdict] == sum(n for n, row in zip(number, rows) if row[c] == verdict)
                others = [k for k, of in enumerate(labels) if of == label and k != c]
                alone = [r for r, row in enumerate(rows) if row[c] == verdict and all(row[k] == TRUE for k in others)]
                if verdict != TRUE:
                    assert counts.alone[c, verdict] == sum(number[r] for r in alone)
                    ends = (min(first[r] for r in alone), max(last[r] for r in alone)) if alone else None
                    assert counts.row_ids.get((c, verdict)) == ends


def test_the_counts_of_many_conditions_are_few():
    random = np.random.default_rng(1)
    counts, n = VerdictCounts(), 50_000
    ones, row_ids = np.ones(n, np.int64), np.arange(n)
    verdicts = [(random.random(n) < 0.9).astype(np.int8) for _ in range(60)]
    counts.add(list(packed(verdicts, range(60))), [0] * 60, ones, row_ids, row_ids)
    assert len(counts.each) + len(counts.all_of) + len(counts.alone) + len(counts.row_ids) <= 60 * 7 + 3
    assert len(counts.as_json()) < 20_000
