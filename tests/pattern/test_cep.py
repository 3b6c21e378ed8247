"""Skipped rows, absence, UNTIL, possessive loops, NO SKIP and time-outs: both engines on the cases of cep.txt,
and the fast one against the slow one at random."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sqlext.errors import DataError
from sqlext.pattern.cep import every_match, path_search
from sqlext.pattern.strategy import match

from .cep_harness import case_of, everything, random_case, shown
from .pattern_harness import lines

CASES = lines("cep.txt")


@pytest.mark.parametrize("title, pattern, rows, mode, expected", CASES, ids=lambda field: field[:40])
def test_these_are_the_matches(title, pattern, rows, mode, expected):
    task, given = case_of(pattern, rows, mode)
    assert shown(path_search.find(task, given)).strip() == expected, "reference"
    assert shown(match(task, given)).strip() == expected, "cep"


@pytest.mark.random(every=2)
@pytest.mark.parametrize("block", range(30))
def test_at_random_both_find_the_same(block, monkeypatch):
    monkeypatch.setattr(every_match, "HITS", [1, 2, 1 << 14][block % 3])
    cases = (random_case(seed) for seed in range(block * 100, block * 100 + 100))
    assert sum(agree(*case) for case in cases) >= 90


@pytest.mark.random(every=2)
@pytest.mark.parametrize("block", range(6))
def test_longer_partitions_too(block):
    cases = (random_case(seed, rows=14) for seed in range(3000 + block * 10, 3010 + block * 10))
    row_local = ((replace(task, conditions=(None,) * len(task.bits)), rows) for task, rows in cases)
    assert sum(agree(*case) for case in row_local) >= 5


def agree(task, rows) -> bool:
    """Check that both engines find the same. False if that is unknown because the reference gave up."""
    try:
        expected = everything(path_search.find(task, rows))
    except DataError as e:
        assert e.error_class == "SQLEXT_STEP_BUDGET"
        return False
    assert everything(match(task, rows)) == expected, task.nfa
    return True


def test_a_loop_over_very_many_rows_is_a_search_of_too_many_steps_for_the_reference():
    task, rows = case_of("A (-> B)+ -> C", f"A {'B ' * 3000}C", "PAST LAST ROW")
    with pytest.raises(DataError, match="maps too many rows in its loops") as error:
        list(path_search.find(task, rows))
    assert error.value.error_class == "SQLEXT_STEP_BUDGET"
    assert shown(match(task, rows)).endswith("C3001")


def test_every_row_of_the_checklist_has_a_case():
    named = {title.split()[0] for title, *_ in CASES}
    assert {f"N{i}" for i in (1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14, 19, 20, 21, 23)} <= named


def test_a_hostile_query_ends_with_the_name_of_its_variable():
    task, rows = case_of("A (->> B)* -> C", "A " + "B " * 60 + "C", "NO SKIP")
    with pytest.raises(DataError, match="C takes") as error:
        list(match(task, rows))
    assert error.value.error_class == "SQLEXT_MATCH_BUDGET"


def test_without_a_match_nothing_explodes():
    task, rows = case_of("A (->> B)* -> C", "A " + "B " * 5000, "NO SKIP")
    assert shown(match(task, rows)) == ""
