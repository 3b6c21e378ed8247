"""Random blocks of matches: `navigation` agrees with the oracle, for every kind of output and every slice."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from sqlext.pattern.measures import navigation
from sqlext.pattern.task.task import CLASSIFIER, Aggregate, Navigation, Output, Spans, Tails, Values
from tests.sampling import seeded

from . import navigation_oracle as oracle

LABELS = 4
PARTS, BLOCKS = 15, 100  # blocks of a part
NAN = float("nan")
NUMBERS: dict[str, list] = {
    "int": [-3, 0, 1, 2, 5, None],
    "float": [-1.5, -0.0, 0.0, 0.1, 0.2, 7.25, NAN, float("inf"), None],
    "bool": [True, False, None],
}
DTYPES = {"int": np.int64, "float": np.float64, "bool": np.bool_}


def random_block(rng: random.Random) -> tuple[Spans, list[int]]:
    """Partitions of 1 to 12 rows; starts ascend, matches may overlap, be empty, or be hidden altogether."""
    bounds, matches = [0], []
    for _ in range(rng.randint(1, 3)):
        first, stop = bounds[-1], bounds[-1] + rng.randint(1, 12)
        starts = sorted(rng.choices(range(first, stop), k=rng.randint(0, 5)))
        matches += [(start, n + 1, rng.randint(0, stop - start)) for n, start in enumerate(starts)]
        bounds.append(stop)
    offset = np.cumsum([0] + [length for _, _, length in matches])
    mapped = int(offset[-1])
    hidden = np.array([rng.random() < 0.3 for _ in range(mapped)], bool) if rng.random() < 0.5 else None
    spans = Spans(
        start=np.array([start for start, _, _ in matches], np.int64),
        number=np.array([number for _, number, _ in matches], np.int64),
        offset=offset,
        label=np.array([rng.randrange(LABELS) for _ in range(mapped)], np.int16),
        is_hidden=hidden,
        unmatched=np.array(sorted(rng.sample(range(bounds[-1]), rng.randint(0, min(3, bounds[-1])))), np.int64),
    )
    return spans, bounds


def with_random_tails(rng: random.Random, spans: Spans, bounds: list[int]) -> Spans:
    """The same starts; each match has a few own rows and usually continues in an earlier match."""
    owners: list[dict[int, int]] = []  # of each match: the match that lists the row, for each of its rows
    offset, tail, at = [0], [], []
    for i, start in enumerate(spans.start.tolist()):
        stop = next(b for b in bounds if start < b)
        next_row = start + rng.choice([0, 0, 0, 1, 2, stop - start])
        earlier = [p for p in range(i) if next_row in owners[p]]
        p = rng.choice(earlier) if earlier and rng.random() < 0.8 else None
        next_row = next_row if p is not None else rng.randint(start, stop)
        rest = {} if p is None else {row: owner for row, owner in owners[p].items() if row >= next_row}
        owners.append({**dict.fromkeys(range(start, next_row), i), **rest})
        offset.append(offset[-1] + next_row - start)
        tail.append(rest.get(next_row, -1))
        at.append(offset[tail[-1]] + next_row - int(spans.start[tail[-1]]) if rest else -1)
    hidden = np.array([rng.random() < 0.3 for _ in range(offset[-1])], bool) if rng.random() < 0.5 else None
    return replace(
        spans,
        offset=np.array(offset),
        label=np.array([rng.randrange(LABELS) for _ in range(offset[-1])], np.int16),
        is_hidden=hidden,
        tails=Tails(np.array(tail, np.int64), np.array(at, np.int64), np.array([len(x) for x in owners], np.int64)),
    )


def random_case(rng: random.Random) -> tuple[Spans, list[int], Output]:
    """A block, its partitions, and its output; in one of three blocks matches have tails."""
    spans, bounds = random_block(rng)
    if rng.random() < 0.33 and len(spans.start):
        return with_random_tails(rng, spans, bounds), bounds, Output()
    return spans, bounds, random_output(rng)


def random_output(rng: random.Random) -> Output:
    return Output(is_all_rows=rng.random() < 0.8, shows_empty=rng.random() < 0.7, shows_unmatched=rng.random() < 0.5)


def random_labels(rng: random.Random) -> tuple[int, ...] | None:
    return None if rng.random() < 0.3 else tuple(rng.sample(range(LABELS), rng.randint(0, 2)))


def random_slice(rng: random.Random, shown: list, out: navigation.OutputRows):
    low = rng.randint(0, len(shown))
    high = rng.randint(low, len(shown))
    return [(shown, out), (shown[low:high], out.slice(low, high))][rng.random() < 0.3]


def or_none(values: np.ndarray, valid: np.ndarray | None = None) -> list:
    """A list with None for NULL; without `valid`, -1 is NULL."""
    valid = values >= 0 if valid is None else valid
    return [value if is_valid else None for value, is_valid in zip(values.tolist(), valid.tolist())]


@pytest.mark.random
@pytest.mark.parametrize("part", range(PARTS))
def test_random_blocks_show_the_rows_of_the_oracle(part):
    rng = seeded(part)
    for _ in range(BLOCKS):
        spans, _, output = random_case(rng)
        shown, out = oracle.shown_rows(spans, output), navigation.output_rows(spans, output)
        assert out.row.tolist() == [s.row for s in shown]
        assert or_none(out.match) == [s.match for s in shown]
        numbers = [None if s.match is None else int(spans.number[s.match]) for s in shown]
        assert or_none(*navigation.match_numbers(spans, out)) == numbers
        assert or_none(*navigation.sequence_numbers(spans, out)) == [s.length or None for s in shown]


@pytest.mark.random
@pytest.mark.parametrize("part", range(PARTS))
def test_random_navigations_read_the_rows_of_the_oracle(part):
    rng = seeded(part)
    for _ in range(BLOCKS):
        spans, bounds, output = random_case(rng)
        shown, out = random_slice(rng, oracle.shown_rows(spans, output), navigation.output_rows(spans, output))
        for _ in range(4):
            measure = Navigation(
                argument=CLASSIFIER,
                labels=random_labels(rng),
                from_first=rng.random() < 0.5,
                offset=rng.choice([0, 0, 1, 2, 10**30]),
                step=rng.choice([0, 0, -1, 1, -4, 3, 10**30, -(10**30)]),
                is_final=rng.random() < 0.4,
            )
            rows = navigation.navigate(measure, spans, out, np.array(bounds))
            assert or_none(rows) == [oracle.navigated(measure, s, spans, bounds) for s in shown], (measure, spans)
            labels = navigation.classify(measure, spans, out, np.array(bounds))
            assert or_none(labels) == [oracle.classified(measure, s, spans, bounds) for s in shown], (measure, spans)


@pytest.mark.random
@pytest.mark.parametrize("part", range(PARTS))
def test_random_members_are_those_of_the_oracle(part):
    rng = seeded(part)
    for _ in range(BLOCKS):
        spans, _, output = random_case(rng)
        shown, out = random_slice(rng, oracle.shown_rows(spans, output), navigation.output_rows(spans, output))
        measure = Aggregate(function="array_agg", argument=0, labels=random_labels(rng), is_final=rng.random() < 0.4)
        expected = [oracle.member_rows(measure, s, spans) for s in shown]
        row, list_bounds = navigation.members(measure, spans, out)
        labels = navigation.member_labels(measure, spans, out)
        pairs = list(zip(row.tolist(), labels.tolist()))
        assert [pairs[a:b] for a, b in pairwise(list_bounds)] == expected
        assert navigation.member_count(measure, spans, out).tolist() == [len(rows) for rows in expected]


@pytest.mark.random
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", NUMBERS)
def test_random_aggregates_are_those_of_the_oracle(kind, part):
    rng = seeded(part)
    for _ in range(BLOCKS):
        spans, bounds, output = random_case(rng)
        shown, out = random_slice(rng, oracle.shown_rows(spans, output), navigation.output_rows(spans, output))
        is_by_label = rng.random() < 0.2
        column = rng.choices(NUMBERS[kind], k=LABELS if is_by_label else bounds[-1])
        measure = Aggregate(
            function=rng.choice(sorted(navigation.FAST_AGGREGATES)),
            argument=CLASSIFIER if is_by_label else 0,
            labels=random_labels(rng),
            is_distinct=rng.random() < 0.4,
            is_final=rng.random() < 0.4,
        )
        actual = navigation.aggregate(measure, values_of(column, kind), spans, out)
        expected = [oracle.aggregated(measure, column, s, spans) for s in shown]
        # compared as text, because NaN must equal NaN; zeros have no sign, as in Spark's DISTINCT
        texts = [text_of(value) for value in or_none(actual.values, actual.valid)]
        assert texts == [text_of(value) for value in expected], (measure, spans)


def values_of(column: list, kind: str) -> Values:
    valid = np.array([value is not None for value in column])
    values: np.ndarray = np.array([0 if value is None else value for value in column], DTYPES[kind])
    return Values(values, None if valid.all() else valid)


def text_of(value) -> str:
    return repr(value + 0 if value is not None else None)
