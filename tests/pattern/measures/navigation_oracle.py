"""The meaning of navigations and aggregates, written slowly and obviously: the oracle of the random tests.

A match is a list of mapped rows `(row, label, is_hidden)`; None is NULL. The oracle computes without NumPy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cmp_to_key
from itertools import pairwise

from sqlext.pattern.task.task import CLASSIFIER, Aggregate, Navigation, Output, Spans


@dataclass(frozen=True)
class Shown:
    """An output row: its chunk row, its match (None: unmatched), and the number of mapped rows that RUNNING sees."""

    row: int
    match: int | None
    length: int


def matches_of(spans: Spans) -> list[list[tuple[int, int, bool]]]:
    matches = []
    for i, start in enumerate(spans.start.tolist()):
        positions = mapped(spans, i, int(spans.offset[i]))
        hidden = [False if spans.is_hidden is None else bool(spans.is_hidden[j]) for j in positions]
        matches.append([(start + n, int(spans.label[j]), hidden[n]) for n, j in enumerate(positions)])
    return matches


def mapped(spans: Spans, i: int, first: int) -> list[int]:
    """The indexes in the block of the mapped rows of match i: its own from `first` on, then those of its tail."""
    own = list(range(first, int(spans.offset[i + 1])))
    if spans.tails is None or spans.tails.match[i] < 0:
        return own
    return own + mapped(spans, int(spans.tails.match[i]), int(spans.tails.at[i]))


def shown_rows(spans: Spans, output: Output) -> list[Shown]:
    shown = []
    for i, mapped in enumerate(matches_of(spans)):
        if not output.is_all_rows:
            shown.append(Shown(int(spans.start[i]), i, len(mapped)))
        elif not mapped and output.shows_empty:
            shown.append(Shown(int(spans.start[i]), i, 0))
        else:
            shown += [Shown(row, i, n + 1) for n, (row, _, is_hidden) in enumerate(mapped) if not is_hidden]
    if output.is_all_rows and output.shows_unmatched:
        shown += [Shown(row, None, 0) for row in spans.unmatched.tolist()]
    return shown


def view(shown: Shown, spans: Spans, is_final: bool) -> list[tuple[int, int]]:
    """(row, label) of the mapped rows that an output row sees."""
    if shown.match is None:
        return []
    mapped = [(row, label) for row, label, _ in matches_of(spans)[shown.match]]
    return mapped if is_final else mapped[: shown.length]


def navigated(navigation: Navigation, shown: Shown, spans: Spans, bounds: list[int]) -> int | None:
    seen = view(shown, spans, navigation.is_final)
    rows = [row for row, label in seen if navigation.labels is None or label in navigation.labels]
    if navigation.offset >= len(rows):
        return None
    row = rows[navigation.offset] if navigation.from_first else rows[-1 - navigation.offset]
    first, stop = next((a, b) for a, b in pairwise(bounds) if a <= row < b)
    return row + navigation.step if first <= row + navigation.step < stop else None


def classified(navigation: Navigation, shown: Shown, spans: Spans, bounds: list[int]) -> int | None:
    reached = navigated(navigation, shown, spans, bounds)
    return dict(view(shown, spans, True)).get(reached)  # type: ignore[arg-type]


def member_rows(aggregate: Aggregate, shown: Shown, spans: Spans) -> list[tuple[int, int]]:
    seen = view(shown, spans, aggregate.is_final)
    return [(row, label) for row, label in seen if aggregate.labels is None or label in aggregate.labels]


def aggregated(aggregate: Aggregate, values: list | None, shown: Shown, spans: Spans):
    """`values` by row, or by label where the argument is CLASSIFIER; None for COUNT(*)."""
    if shown.match is None:
        return None
    listed = member_rows(aggregate, shown, spans)
    if values is None:
        return len(listed)
    read = [values[label if aggregate.argument == CLASSIFIER else row] for row, label in listed]
    kept: list = []
    for value in read:
        is_repeated = aggregate.is_distinct and any(compared(value, other) == 0 for other in kept)
        if value is not None and not is_repeated:
            kept.append(value)
    if aggregate.function == "count" or not kept:
        return len(kept) if aggregate.function == "count" else None
    ordered = sorted(kept, key=cmp_to_key(compared))
    if aggregate.function in ("min", "max"):
        return ordered[0] if aggregate.function == "min" else ordered[-1]
    total = 0.0 if aggregate.function == "avg" else type(kept[0])(0)
    for value in kept:  # not sum(), which compensates floats from Python 3.12 on
        total += value
    return total / len(kept) if aggregate.function == "avg" else total


def compared(a, b) -> int:
    """Spark's order of non-NULL numbers: NaN is the greatest."""
    if None in (a, b):
        return 1
    if math.isnan(a) or math.isnan(b):
        return int(math.isnan(a)) - int(math.isnan(b))
    return (a > b) - (a < b)
