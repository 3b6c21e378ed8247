"""Navigation over matches with Spans.row, compared with the definitions in its docstrings."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from sqlext.pattern.measures import navigation
from sqlext.pattern.task.task import Aggregate, Navigation, Output, Spans, Values

NAMES, ROWS = 3, 20


def random_spans(chance: random.Random) -> tuple[Spans, list[list[tuple[int, int]]]]:
    """Matches, and (row, label) of each; every row of the chunk is in one of two partitions."""
    matches = []
    for first in sorted(chance.choices(range(ROWS), k=chance.randint(1, 6))):
        end = ROWS // 2 if first < ROWS // 2 else ROWS
        rest = sorted(chance.sample(range(first + 1, end), chance.randint(0, min(4, end - first - 1))))
        matches.append([(row, chance.randrange(NAMES)) for row in [first, *rest]] if chance.random() < 0.85 else [])
    starts = [match[0][0] if match else chance.randrange(ROWS) for match in matches]
    mapped = [pair for match in matches for pair in match]
    spans = Spans(
        start=np.array(starts),
        number=np.arange(1, len(matches) + 1),
        offset=np.cumsum([0, *map(len, matches)]),
        label=np.array([label for _, label in mapped], np.int16),
        is_hidden=np.array([chance.random() < 0.2 for _ in mapped], bool),
        unmatched=np.array([3]),
        row=np.array([row for row, _ in mapped], np.int64),
    )
    return spans, matches


def views(spans: Spans, matches, output: Output):
    """(Shown row, mapped rows that RUNNING sees, all mapped rows, match or -1) of each output row."""
    if not output.is_all_rows:
        return [(int(s), match, match, i) for i, (s, match) in enumerate(zip(spans.start, matches))]
    rows = []
    for i, match in enumerate(matches):
        if not match and output.shows_empty:
            rows.append((int(spans.start[i]), [], [], i))
        for j, (row, _) in enumerate(match):
            if not spans.is_hidden[spans.offset[i] + j]:
                rows.append((row, match[: j + 1], match, i))
    return rows + [(3, [], [], -1)] * output.shows_unmatched


def reached(measure: Navigation, seen, whole) -> int:
    members = [
        row for row, label in (whole if measure.is_final else seen) if measure.labels is None or label in measure.labels
    ]
    if measure.offset >= len(members):
        return -1
    row = members[measure.offset] if measure.from_first else members[-1 - measure.offset]
    low = 0 if row < ROWS // 2 else ROWS // 2
    return row + measure.step if low <= row + measure.step < low + ROWS // 2 else -1


@pytest.mark.random(few=10)
@pytest.mark.parametrize("seed", range(200))
def test_rows_labels_and_aggregates(seed):
    chance = random.Random(seed)
    spans, matches = random_spans(chance)
    output = Output(
        is_all_rows=chance.random() < 0.7, shows_empty=chance.random() < 0.5, shows_unmatched=chance.random() < 0.5
    )
    out, expected = navigation.output_rows(spans, output), views(spans, matches, output)
    assert out.row.tolist() == [row for row, *_ in expected]
    bounds = np.array([0, ROWS // 2, ROWS])
    labels = chance.choice([None, (0,), (1, 2)])
    is_final = chance.random() < 0.5
    measure = Navigation(
        argument=0,
        labels=labels,
        from_first=chance.random() < 0.5,
        offset=chance.choice([0, 0, 1, 2]),
        step=chance.choice([0, 0, -1, 1, 2]),
        is_final=is_final,
    )
    rows = [reached(measure, seen, whole) for _, seen, whole, _ in expected]
    assert navigation.navigate(measure, spans, out, bounds).tolist() == rows
    names = [dict(whole).get(row, -1) for row, (_, _, whole, _) in zip(rows, expected)]
    assert navigation.classify(measure, spans, out, bounds).tolist() == names
    kept = [
        [(r, x) for r, x in (whole if is_final else seen) if labels is None or x in labels]
        for _, seen, whole, _ in expected
    ]
    aggregate = Aggregate(function="array_agg", argument=0, labels=labels, is_final=is_final)
    listed, offset = navigation.members(aggregate, spans, out)
    assert [listed[lo:hi].tolist() for lo, hi in pairwise(offset)] == [[r for r, _ in k] for k in kept]
    assert navigation.member_labels(aggregate, spans, out).tolist() == [x for k in kept for _, x in k]
    values = Values(
        np.array([chance.randint(-5, 5) for _ in range(ROWS)]), np.array([chance.random() < 0.8 for _ in range(ROWS)])
    )
    for function, is_distinct in [
        ("count", False),
        ("sum", False),
        ("sum", True),
        ("min", False),
        ("max", False),
        ("avg", False),
    ]:
        measured = Aggregate(function=function, argument=0, labels=labels, is_distinct=is_distinct, is_final=is_final)
        expected_values = [aggregated(function, is_distinct, k, values, i) for k, (_, _, _, i) in zip(kept, expected)]
        assert as_list(navigation.aggregate(measured, values, spans, out)) == expected_values
        if function == "count":  # its values are not read, only which of them are NULL
            only_valid = Values(np.empty(0), values.valid)
            assert as_list(navigation.aggregate(measured, only_valid, spans, out)) == expected_values


def as_list(values: Values) -> list:
    valid = np.ones(len(values.values), bool) if values.valid is None else values.valid
    return [value if is_valid else None for value, is_valid in zip(values.values.tolist(), valid)]


def aggregated(function: str, is_distinct: bool, members, values: Values, match: int):
    read = [int(values.values[row]) for row, _ in members if values.valid[row]]
    read = list(dict.fromkeys(read)) if is_distinct else read
    if match < 0 or (not read and function != "count"):
        return None
    return {"count": len, "sum": sum, "min": min, "max": max, "avg": lambda x: sum(x) / len(x)}[function](read)
