"""The cases of cases.txt, evaluated by the evaluator and by both matchers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path as File

import numpy as np
import pytest

from sqlext.errors import DataError
from sqlext.pattern.conditions.conditions import Path, evaluate
from sqlext.pattern.program.program import Done, Jump, MatchLabel, Program, Split
from sqlext.pattern.task.skip_mode import SKIP_PAST_LAST_ROW
from sqlext.pattern.task.task import MatchTask, Rows, Skip, Values
from sqlext.pattern.threads.thread_search import KernelLimits, find

from .compare import by_reference, by_threads
from .notation import call, literal, read

LABELS = ("A", "B", "C")
NAN, INF = float("nan"), float("inf")
START = 1


def lines() -> list[list[str]]:
    text = File(__file__).with_name("cases.txt").read_text()
    return [[part.strip() for part in line.split("|")] for line in text.splitlines() if line and line[0] != "#"]


def column(*values) -> Values:
    """A column in which None is NULL; the values stored under NULLs must never be read."""
    kind = next(type(v) for v in values if v is not None)
    return Values(np.array([kind(1) if v is None else v for v in values]), np.array([v is not None for v in values]))


ROWS = Rows(
    bounds=np.array([0, 8, 10]),
    mask=np.zeros((10, 1), np.uint8),
    columns=(
        column(5, 3, None, 7, 3, -2, 0, 9, 99, 99),
        column(0, 1, 2**63 - 2, 1, 0, 0, 0, -5, 99, 99),
        column(0.5, NAN, 2.0, -0.0, None, 0.0, INF, NAN, 99.0, 99.0),
        column(*map(float, range(10))),
    ),
    classifiers=np.array([10, 20, 30]),
)


@pytest.mark.parametrize("name, path, condition, expected", lines(), ids=lambda text: text)
def test_the_evaluator_gives_the_value(name, path, condition, expected):
    labels = tuple(ord(letter) - ord("A") for letter in path)
    at = Path(rows=ROWS, names=LABELS, partition=(0, 8), start=START, labels=labels, number=1)
    if expected.isupper():
        with pytest.raises(DataError, match=f"DEFINE gives for {path[-1]}") as error:
            evaluate(read(condition), at)
        assert error.value.error_class == f"SQLEXT_{expected}"
    else:
        value, wanted = evaluate(read(condition), at), literal(expected).value
        assert type(value) is type(wanted)
        assert value == wanted or (value != value and wanted != wanted)


@pytest.mark.parametrize("name, path, condition, expected", lines(), ids=lambda text: text)
def test_matchers_find_the_path_whose_condition_has_the_value(name, path, condition, expected):
    wanted = read(condition) if expected.isupper() else literal(expected)
    task = only_path(path, call("null_safe_equal", read(condition), wanted))
    result = by_threads(task, ROWS)
    assert result == by_reference(task, ROWS)
    if expected.isupper():
        assert result[0] == f"SQLEXT_{expected}"
    else:
        assert (START, 1) in [match[:2] for match in result if isinstance(match, tuple)]


def only_path(path: str, condition) -> MatchTask:
    """A task that maps `path` from row START on, or nothing; the condition decides on the last row only.

    Every label has the condition "the match begins at START, and this is not the last row or the condition holds".
    """
    labels = [ord(letter) - ord("A") for letter in path]
    earlier = call("less", read("(count * rows)"), literal(str(len(path))))
    begins = call("equal", read("(first * g)"), literal("1.0"))
    return MatchTask(
        program=Program((*map(MatchLabel, labels), Done()), LABELS),
        bits=(None, None, None),
        conditions=tuple(call("and", begins, call("or", earlier, condition)) for _ in LABELS),
    )


# --- the search -------------------------------------------------------------------------------------------------------


def ints(*values: int, **more) -> Rows:
    n = len(values)
    return Rows(
        bounds=np.array([0, n]), mask=np.ones((n, 1), np.uint8), columns=(Values(np.array(values, np.int64)),), **more
    )


A_PLUS_B = Program((MatchLabel(0), Split(0, 2), MatchLabel(1), Done()), ("A", "B"))
FOREVER = Program((Split(1, 3), MatchLabel(0), Split(4, 3), MatchLabel(1), Split(0, 5), MatchLabel(2), Done()), LABELS)


def task_of(program: Program, *conditions: str | None, **more) -> MatchTask:
    read_all = tuple(None if condition is None else read(condition) for condition in conditions)
    return MatchTask(program=program, bits=(None,) * len(conditions), conditions=read_all, **more)


def test_a_spent_budget_is_an_error_whose_hint_helps():
    # every assignment of A and B has its own set of values of A, so no state is met twice
    task = task_of(FOREVER, None, None, "(less (distinct-sum A i) 0)")
    with pytest.raises(DataError, match="row 1 of its partition") as error:
        list_all(task, ints(*range(40)), steps_per_row=100)
    assert error.value.error_class == "SQLEXT_STEP_BUDGET"
    assert "WITHIN" in error.value.hint


def test_the_memo_that_rested_in_vain_starts_helps_where_paths_branch():
    """No start of the first rows meets a state of another start; from the last rows B and C branch 2^60 times."""
    loop = (Split(2, 7), Split(3, 5), MatchLabel(1), Jump(1), MatchLabel(2), Jump(1))
    branching = Program((MatchLabel(0), *loop, MatchLabel(3), Done()), ("A", "B", "C", "D"))
    task = replace(task_of(branching, None, None, None, "(less (sum A i) 0)"), bits=(None, 0, 1, None))
    rows = replace(ints(*range(1_361)), mask=np.array([2] * 1_300 + [0] + [3] * 60, np.uint8)[:, None])
    assert list_all(task, rows, steps_per_row=5_000) == [[]]
    with pytest.raises(DataError):
        list_all(task, rows, steps_per_row=5_000, remember_after=10**9)


def test_a_large_partition_ends_early():
    task = task_of(A_PLUS_B, None, "(less (sum A i) 0)")
    with pytest.raises(DataError) as error:
        list_all(task, ints(*range(15_000)))
    assert error.value.error_class == "SQLEXT_STEP_BUDGET"


@pytest.mark.parametrize("n", [3000, 30_000])  # a memo of 4,096 keys, and one that has to grow
def test_the_memo_makes_a_hopeless_search_linear(n):
    task = task_of(A_PLUS_B, None, "(less (last B i) (last A i))")
    rows = ints(*range(n))  # n²/2 steps without the memo
    assert list_all(task, rows, steps_per_row=20) == [[]]
    with pytest.raises(DataError):
        list_all(task, rows, steps_per_row=20, remember_after=10**9)


def test_states_are_not_shared_between_matches_with_another_number():
    task = task_of(A_PLUS_B, "(less_equal (last A i 1 0 0) (last A i))", "(equal (last * number) 2)")
    assert by_threads(task, ints(1, 2, 3, 4), remember_after=0) == by_reference(task, ints(1, 2, 3, 4))


def test_states_are_not_shared_between_starts_with_other_numbers_of_rows():
    # B is the partition's last row, and LAST(i, 2) is before the match
    task = task_of(A_PLUS_B, None, "(and (is_null (last * i 0 1)) (is_null (last * i 2)))")
    assert by_threads(task, ints(1, 2, 3, 4, 5), remember_after=0)[0][:3] == (3, 1, [0, 1])


@pytest.mark.parametrize("limit, expected", [(3, [(0, 1, [0, 0, 1])]), (2, [(0, 1, [0, 1])]), (1, [])])
def test_within_bounds_the_rows_that_a_match_may_use(limit, expected):
    task = task_of(A_PLUS_B, None, "(less (first A i) (last B i))", is_within=True)
    rows = ints(1, 2, 3, 4, limit=np.array([limit, 1, 2, 3]))
    assert [match[:3] for match in by_threads(task, rows)[:-1]] == expected


def test_read_only_columns_are_read():
    rows = ints(1, 2, 3)
    for array in (rows.bounds, rows.mask, rows.columns[0].values):
        array.flags.writeable = False
    assert by_threads(task_of(A_PLUS_B, None, "(less (last A i) (last B i))"), rows)[0][:3] == (0, 1, [0, 0, 1])


def test_a_match_longer_than_a_block_is_in_one_block():
    task = task_of(A_PLUS_B, "(less_equal (count A rows) 9)", None, skip=Skip(SKIP_PAST_LAST_ROW))
    rows = ints(*range(25))
    assert by_threads(task, rows, block_rows=2) == by_reference(task, rows)


def list_all(task: MatchTask, rows: Rows, **limits) -> list:
    return [spans.start.tolist() for spans in find(task, rows, KernelLimits(**limits))] or [[]]
