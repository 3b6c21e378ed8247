"""Which part of many random or exhaustive cases a run takes: another part each day, so that all are run in turn.

`SQLEXT_SAMPLE=17 make test` repeats the run of sample 17, which is printed at the top of each run;
`SQLEXT_SAMPLE=all` runs every case. With `SQLEXT_RANDOM=few`, as `make check` sets it, one part of each function that
is marked `random` runs, or as many as the mark says.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Sequence
from datetime import date
from itertools import groupby
from typing import TypeVar

import pytest

T = TypeVar("T")
SAMPLE = os.environ.get("SQLEXT_SAMPLE") or str(date.today().toordinal() % 1000)
FEW = os.environ.get("SQLEXT_RANDOM") == "few"
_SEEDS: list[object] = []  # the last seed of `seeded`


def sample(cases: Sequence[T], share: int) -> list[T]:
    """One case of every `share` cases, or all of them.

    >>> len(sample(range(100), 5)) in (20, 100)
    True
    """
    return list(cases) if SAMPLE == "all" else list(cases)[int(SAMPLE) % share :: share]


def seeded(seed: int) -> random.Random:
    """A generator of random numbers, whose seed is printed if the test fails before the next one is made."""
    _SEEDS[:] = [seed]
    return random.Random(seed)


def forget_seed() -> None:
    _SEEDS.clear()


def how_to_repeat(node: str) -> str:
    """What to write to repeat a test that failed, with its last seed."""
    seeds = f", which failed at seed {_SEEDS[0]}" if _SEEDS else ""
    return f"SQLEXT_SAMPLE={SAMPLE} pytest '{node}'{seeds}"


def postponed(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """The parts of functions marked `random` that another day runs.

    The mark says which share of the parts runs in a day: `random(every=3)` is a third, `random` all of them. A part
    that is the only one chosen of its function runs always. With `few=10`, `make check` runs a tenth of them.
    """
    rest: list[pytest.Item] = []
    marked = [item for item in items if item.get_closest_marker("random")]
    for _, group in groupby(marked, key=lambda item: item.nodeid.partition("[")[0]):
        parts = list(group)
        shares = parts[0].get_closest_marker("random").kwargs  # type: ignore[union-attr]
        every = shares.get("few", len(parts)) if FEW else shares.get("every", 1)
        if SAMPLE != "all" or FEW:
            turn = int(SAMPLE) if SAMPLE.isdigit() else 0
            today = set(parts[turn % min(every, len(parts)) :: every])
            rest += [part for part in parts if part not in today]
    return rest
