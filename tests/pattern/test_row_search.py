"""The partial match that comes closest to a match through a row, where rows may be skipped, against all paths."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from sqlext.pattern.task.task import Skip
from sqlext.pattern.why.row_search import Budget, closest
from tests.sampling import seeded
from tests.task_harness import tree_of

from .cep_harness import LETTERS, rows_of, task_of

NEXT, RELAXED, FAR, UNLESS = " ", " -> ", " ->> ", " !-> N -> "
Path = tuple[int, ...]  # the rows of the first variables


def steps_after(path: Path, gap: str, name: str, rows: list[str], end: int) -> Iterator[tuple[int, bool]]:
    """(row, whether it is taken) of each row that may follow a path across a gap, as docs/cep.md says."""
    for row in range(path[-1] + 1, end):
        yield row, name in rows[row]
        is_over = gap == NEXT or (gap in (RELAXED, UNLESS) and name in rows[row])
        if is_over or (gap == UNLESS and "N" in rows[row]):
            return


def all_paths(names: str, gaps: list[str], rows: list[str], end_of) -> Iterator[tuple[Path, list[int]]]:
    """Each partial match, with the rows at which it looks for the next variable but does not find it."""
    paths: list[Path] = [(row,) for row in range(len(rows)) if names[0] in rows[row]]
    while paths:
        path = paths.pop()
        if len(path) == len(names):
            yield path, []
            continue
        looked = list(steps_after(path, gaps[len(path) - 1], names[len(path)], rows, end_of(path[0])))
        paths += [(*path, row) for row, is_taken in looked if is_taken]
        yield path, [row for row, is_taken in looked if not is_taken]


@pytest.mark.parametrize("part", range(3))
@pytest.mark.random
def test_no_path_that_skips_rows_comes_closer_to_a_match_through_the_row(part):
    compared = 0
    for seed in range(part * 1000, part * 1000 + 150):
        chance = seeded(seed)
        names = "ABC"[: chance.randint(2, 3)]
        gaps = [chance.choice([NEXT, RELAXED, FAR, UNLESS]) for _ in names[1:]]
        gaps[chance.randrange(len(gaps))] = chance.choice([RELAXED, FAR, UNLESS])
        text = names[0] + "".join(gap + name for gap, name in zip(gaps, names[1:]))
        rows = ["".join(x for x in "ABCN" if chance.random() < 0.3) for _ in range(chance.randint(3, 7))]
        within = chance.choice([None, 2, 4])
        task = task_of(tree_of(text)[0], Skip(), "within" if within else "")
        held = np.array([[letter in row for letter in LETTERS] for row in rows], bool)
        searched = rows_of(held, np.array([0, len(rows)]), np.arange(len(rows)), within)

        def end_of(start: int, within=within, rows=rows) -> int:
            return len(rows) if within is None else min(len(rows), start + within)

        paths = list(all_paths(names, gaps, rows, end_of))
        for row in range(len(rows)):
            near = closest(task, searched, row, Budget(10**6, 10**6))
            path = tuple(at for at, _ in near.path)
            assert near.is_complete and (not path or path in {p for p, _ in paths}), (text, rows, row, near)
            assert near.missing == len(names) - len(path), (text, rows, row, near)
            concerned = (p for p, looked in paths if row in p or (row in looked and p[-1] < row))
            assert near.missing <= min((len(names) - len(p) for p in concerned), default=len(names)), (text, rows, row)
            compared += 1
    assert compared > 300
