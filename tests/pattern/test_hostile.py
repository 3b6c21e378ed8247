"""Patterns that take exponential or cubic time, or all memory, in other matchers."""

from __future__ import annotations

import random

import numpy as np
import pytest

from sqlext.errors import UnsupportedError
from sqlext.pattern.batch import bounded
from sqlext.pattern.program.position_automaton import count_positions
from sqlext.pattern.task.skip_mode import SKIP_TO_NEXT_ROW
from sqlext.pattern.task.task import Rows, Skip

from .pattern_harness import fast_ways, joined, matches, packed, rows_of, task_of


def agreed_result(task, rows) -> dict[str, object]:
    """The result of the compiled strategies, which must be the same for all."""
    answers = {name: joined(result) for name, result in fast_ways(task, rows, random.Random(1))}
    first = next(iter(answers.values()))
    for name, answer in answers.items():
        assert answer == first, name
    return first


CASES = [
    ("A+ B+ C+ E", "A" * 700 + "B" * 700 + "C" * 700 + "D", ""),
    ("A+ B+ C+ D", "A" * 700 + "B" * 700 + "C" * 700 + "D", "1@0+2101"),
    ("(A+)+ B", "A" * 2000, ""),
    ("(A+)+ B", "A" * 2000 + "B", "1@0+2001"),
    ("((A*)*)* B", "A" * 2000, ""),
    ("((A?){30})+ B", "A" * 2000 + "B", "1@0+2001"),
    ("(A | A)* B", "A" * 2000, ""),
    ("(A{0,1}){40} A{40}", "A" * 60, "1@0+60"),
    ("(A{0,1}){300} A{300}", "A" * 400, "1@0+400"),
    ("(A{0,1}){300} A{300}", "A" * 299, ""),
    ("(A{0,1}?){300} A{300}", "A" * 400, "1@0+300"),
    ("(() | ()){40} B", "AB", "1@1+1"),
    ("PERMUTE(A, B, C, D, E, F)", "XFEDCBAX", "1@1+6"),
]


@pytest.mark.random
@pytest.mark.parametrize("pattern, word, expected", CASES)
def test_a_hostile_pattern_is_matched(pattern, word, expected):
    task = task_of(pattern)
    result = agreed_result(task, rows_of(task, [word]))
    assert " ".join(f"{n}@{start}+{len(letters)}" for n, start, letters in matches(result, task)) == expected


def test_twenty_loops_over_overlapping_conditions():
    """Eager determinisation would make up to 2^20 states. The reference would never end, so only labels are checked."""
    names = [f"V{k}" for k in range(20)]
    task = task_of(" ".join(f"{name}+" for name in names))
    truth = np.random.default_rng(0).random((3000, 20)) < 0.8
    rows = Rows(bounds=np.arange(0, 3001, 100), mask=packed(truth))
    result = agreed_result(task, rows)
    assert len(result["start"]) > 0
    assert_labels_hold(result, truth)


def assert_labels_hold(result, truth) -> None:
    """Assert that every mapped row satisfies its label, and that the labels are all twenty in order."""
    end = np.cumsum(result["length"])
    for start, length, stop in zip(result["start"], result["length"], end):
        labels = np.array(result["label"][stop - length : stop])
        assert truth[start + np.arange(length), labels].all()
        assert set(np.diff(labels)) <= {0, 1} and labels[0] == 0 and labels[-1] == 19


def test_random_rows_with_over_a_hundred_positions():
    task = task_of(" ".join(f"(V{k} | W{k % 7})+" for k in range(60)), skip=Skip(SKIP_TO_NEXT_ROW))
    assert count_positions(task.program) == 120
    truth = np.random.default_rng(1).random((600, len(task.program.labels))) < 0.6
    rows = Rows(bounds=np.array([0, 200, 600]), mask=packed(truth))
    assert len(agreed_result(task, rows)["start"]) > 0


def test_a_limit_halves_a_hostile_match():
    task = task_of("(A{0,1}){100} A{100}", is_within=True)
    rows = rows_of(task, ["A" * 400])
    limit = np.minimum(np.arange(400) + np.where(np.arange(400) % 2, 150, 99), 400)
    result = agreed_result(task, Rows(bounds=rows.bounds, mask=rows.mask, limit=limit))
    assert list(zip(result["start"], result["length"])) == [(1, 150), (151, 150)]


def test_within_takes_ten_thousand_positions_and_not_one_more():
    fits, over = task_of(f"A{{{bounded.MAX_POSITIONS}}}"), task_of(f"A{{{bounded.MAX_POSITIONS + 1}}}")
    assert joined(bounded.find(fits, rows_of(fits, ["AAA"])))["start"] == []
    with pytest.raises(UnsupportedError) as error:
        bounded.find(over, rows_of(over, ["AAA"]))
    assert error.value.error_class == "SQLEXT_PATTERN_TOO_LARGE"
