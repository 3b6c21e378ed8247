"""Which variables may take the first row of a match, which come behind it, which end it."""

from __future__ import annotations

import pytest
from pattern_harness import lines, task_of

from sqlext.pattern.first_rows import first_rows


@pytest.mark.parametrize("case", lines("first_rows.txt"), ids=lambda case: case[0])
def test_a_program_says_who_takes_the_first_row_and_who_the_last(case):
    pattern, *expected = case
    program = task_of(pattern).program
    found = first_rows(program)

    def names(labels) -> str:
        return " ".join(sorted(program.labels[label] for label in labels))

    def by_label(sets) -> str:
        return " ".join(sorted(f"{program.labels[label]}:{names(found)}" for label, found in enumerate(sets)))

    assert [
        *map(names, (found.opening, found.following, found.ending)),
        by_label(found.before),
        by_label(found.since),
    ] == expected
