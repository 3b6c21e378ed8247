from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sqlext.errors import DataError
from sqlext.pattern.batch import reference
from sqlext.pattern.program.program import MatchLabel
from sqlext.pattern.task.skip_mode import MODES, SKIP_TO_NEXT_ROW
from sqlext.pattern.task.task import Rows, Skip, SkipFailure

from .pattern_harness import assert_all_agree, joined, lines, matches, rows_of, task_of


@pytest.mark.parametrize("pattern, word, expected", lines("matches.txt"))
def test_a_pattern_maps_these_labels_from_the_first_row_on(pattern, word, expected):
    task = task_of(pattern)
    result = matches(assert_all_agree(task, rows_of(task, [word])), task)
    assert [letters or "()" for _, start, letters in result if start == 0] == ([] if expected == "none" else [expected])


def skip_of(text: str, task) -> Skip:
    mode, else_next_row = text.removesuffix(" ELSE NEXT ROW"), text.endswith(" ELSE NEXT ROW")
    if mode in MODES:
        return Skip(MODES[mode])
    words = mode.split()
    return Skip(MODES[" ".join(words[:2])], tuple(task.program.labels.index(x) for x in words[2:]), else_next_row)


def failure_of(text: str) -> SkipFailure | None:
    if not text:
        return None
    reason, start, number = text.replace("#", "@").split("@")
    return SkipFailure(reason, int(start), int(number))


@pytest.mark.parametrize("pattern, words, skip, expected, unmatched, failure", lines("runs.txt"))
def test_a_run_over_partitions_finds_these_matches(pattern, words, skip, expected, unmatched, failure):
    task = task_of(pattern, skip=skip_of(skip, task_of(pattern)), shows_unmatched=True)
    result = assert_all_agree(task, rows_of(task, words.split()))
    assert " ".join(f"{number}@{start}={letters}" for number, start, letters in matches(result, task)) == expected
    assert result["unmatched"] == [int(row) for row in unmatched.split()]
    assert result["failure"] == failure_of(failure)


LIMITS = [
    ("A+", "AAAA", [2, 2, 4, 4], "1@0=AA 2@2=AA"),
    ("A+ B", "AAAB", [3, 4, 4, 4], "1@1=AAB"),
    ("A+ B | A", "AAAB", [3, 3, 3, 4], "1@0=A 2@1=A 3@2=A"),
    ("A+ B | A", "AAAB", [4, 4, 4, 4], "1@0=AAAB"),
    ("A*", "AAA", [0, 1, 3], "1@0= 2@1= 3@2=A"),
    ("A $", "AA", [1, 1], ""),
    ("A+ $", "AA", [1, 2], "1@1=A"),
    ("A{2,3}?", "AAAA", [2, 3, 4, 4], "1@0=AA 2@2=AA"),
]


# Overlapping matches that reach the same position on the same row; they continue as one only if their limits permit it.
OVERLAPPING_LIMITS = [
    ("A+ B", "AAAAB", [5, 5, 5, 5, 5], "1@0=AAAAB 2@1=AAAB 3@2=AAB 4@3=AB"),
    ("A+", "AAAAA", [3, 4, 5, 5, 5], "1@0=AAA 2@1=AAA 3@2=AAA 4@3=AA 5@4=A"),
    ("A+", "AAAAA", [5, 3, 5, 4, 5], "1@0=AAAAA 2@1=AA 3@2=AAA 4@3=A 5@4=A"),
    ("A B* C?", "ABBBBC", [4, 6, 6, 6, 6, 6], "1@0=ABBB"),
    ("(A A)+ A? B*", "AAAAABBBB", [7, 7, 9, 9, 9, 9, 9, 9, 9], "1@0=AAAAABB 2@1=AAAABB 3@2=AAABBBB 4@3=AABBBB"),
]


@pytest.mark.parametrize("pattern, word, limit, expected", OVERLAPPING_LIMITS)
def test_within_bounds_each_of_the_matches_that_overlap(pattern, word, limit, expected):
    task = task_of(pattern, skip=Skip(SKIP_TO_NEXT_ROW), is_within=True)
    rows = rows_of(task, [word])
    result = assert_all_agree(task, Rows(bounds=rows.bounds, mask=rows.mask, limit=np.array(limit)))
    assert " ".join(f"{number}@{start}={letters}" for number, start, letters in matches(result, task)) == expected


@pytest.mark.parametrize("pattern, word, limit, expected", LIMITS)
def test_within_takes_the_preferred_match_of_those_that_end_in_time(pattern, word, limit, expected):
    task = task_of(pattern, is_within=True)
    rows = rows_of(task, [word])
    result = assert_all_agree(task, Rows(bounds=rows.bounds, mask=rows.mask, limit=np.array(limit)))
    assert " ".join(f"{number}@{start}={letters}" for number, start, letters in matches(result, task)) == expected


def test_unmatched_rows_are_recorded_only_where_they_are_shown():
    task = task_of("A")
    assert assert_all_agree(task, rows_of(task, ["B"]))["unmatched"] == []


@pytest.mark.parametrize("pattern", ["A", "A*", "()", "^ $"])
def test_no_rows_give_no_blocks(pattern):
    task = task_of(pattern, "A")
    rows = Rows(bounds=np.zeros(1, np.int64), mask=np.zeros((0, 1), np.uint8))
    assert assert_all_agree(task, rows)["start"] == []


def test_blocks_stay_small_however_many_rows_the_matches_map():
    task = task_of("A+", skip=Skip(SKIP_TO_NEXT_ROW))
    rows = rows_of(task, ["A" * 100])
    sizes = [len(block.label) for block in reference.find(task, rows, block_rows=200)]
    assert sum(sizes) == 5050 and max(sizes) < 300


def test_the_reference_evaluates_conditions_on_the_path():
    """A match may map as many rows as its number; the callable receives start, number, labels and label."""
    task, seen = task_of("A+"), []

    def satisfies(start, number, labels, label):
        seen.append((start, number, tuple(labels), label))
        return len(labels) < number

    rows = rows_of(task, ["AAA"])
    assert joined(reference.find(task, rows, satisfies))["length"] == [1, 2]
    assert seen == [(0, 1, (), 0), (0, 1, (0,), 0), (1, 2, (), 0), (1, 2, (0,), 0)]


def test_the_reference_gives_up_when_its_steps_are_spent():
    task = task_of("(A+)+ B")
    with pytest.raises(DataError) as error:
        joined(reference.find(task, rows_of(task, ["A" * 40]), max_steps=10_000))
    assert error.value.error_class == "SQLEXT_STEP_BUDGET"


def test_the_reference_takes_partitions_of_thousands_of_rows():
    task = task_of("A+ B")
    result = joined(reference.find(task, rows_of(task, ["A" * 5000 + "B"])))
    assert result["length"] == [5001]


def test_a_variable_without_condition_holds_on_every_row():
    task = task_of("A B")
    task = replace(task, bits=(None, 0))
    rows = Rows(bounds=np.array([0, 3]), mask=np.array([[0], [1], [0]], np.uint8))
    assert assert_all_agree(task, rows)["start"] == [0]


def test_labels_may_use_any_bit_of_any_mask_byte():
    task = task_of("A B")
    task = replace(task, bits=(17, 9))
    rows = Rows(bounds=np.array([0, 3]), mask=np.array([[255, 255, 0], [0, 0, 2], [0, 2, 0]], np.uint8))
    assert assert_all_agree(task, rows)["start"] == [1]


@pytest.mark.parametrize("positions", [1, 8, 9, 16, 17, 32, 33, 64, 65])
def test_sets_of_positions_may_have_any_width(positions):
    task = task_of(f"A{{{positions - 1}}} B" if positions > 1 else "B", "AB", skip=Skip(SKIP_TO_NEXT_ROW))
    assert sum(isinstance(x, MatchLabel) for x in task.program.instructions) == positions
    result = assert_all_agree(task, rows_of(task, ["A" * 70 + "B" + "A" * positions + "BAB"]))
    assert len(result["start"]) == {1: 3, 2: 3}.get(positions, 2)
