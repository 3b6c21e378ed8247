"""The matcher for tasks with run-dependent conditions: ordered depth-first search with a memo of failures.

One path is searched at a time, most preferred first (`threads.kernel`); conditions are compiled to a small code
(`threads.code`) that the kernel interprets, so no query waits for a compiler. What keeps it from being exponential:
rows whose masks lead nowhere are not entered, and a state that failed (position, next row, and exactly what
later conditions can see of the path) is not tried again. What remains is bounded by a budget of steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sqlext.errors import DataError
from sqlext.pattern.batch.blocks import BLOCK_ROWS, ROW, all_blocks
from sqlext.pattern.batch.threads.condition_code import Code
from sqlext.pattern.batch.threads.condition_machine import OVERFLOW
from sqlext.pattern.batch.threads.memo import empty_memo
from sqlext.pattern.batch.threads.thread_kernel import (
    BUDGET,
    FAULT_CODE,
    FAULT_LABEL,
    MEMO_FULL,
    STEPS,
    Input,
    Tables,
    Work,
    search_all,
)
from sqlext.pattern.batch.threads.thread_tables import compile_task, find_reach
from sqlext.pattern.batch.two_pass import live_positions
from sqlext.pattern.conditions import fault
from sqlext.pattern.skip_kernels import is_skip_target
from sqlext.pattern.task import CLASSIFIER, MatchTask, Rows, Spans, Values

_MOST_LIVE = 64  # positions, one bit each


@dataclass(frozen=True)
class Limits:
    """Sizes that change how fast and in what portions matches are found, never which.

    A block ends at about `block_rows` matches or rows; the memo holds `memo_keys` keys or `memo_words` words (8 bytes
    each); a failure that took fewer than `remember_after` steps is not put there, it is found again as fast as it is
    looked up; a partition of n rows may take 10,000 + n · `steps_per_row` steps (then DataError STEP_BUDGET);
    `is_filtered`: look at the masks ahead.
    """

    block_rows: int = BLOCK_ROWS
    memo_keys: int = 1 << 20
    memo_words: int = 1 << 23
    remember_after: int = 16
    steps_per_row: int = 50_000
    is_filtered: bool = True


def find(task: MatchTask, rows: Rows, limits: Limits | None = None) -> Iterator[Spans]:
    """Find all matches, in blocks.

    Raises DataError: STEP_BUDGET, and what conditions raise (ARITHMETIC_OVERFLOW, DIVIDE_BY_ZERO).

    >>> from sqlext.pattern.program import Done, MatchLabel, Program
    >>> from sqlext.pattern.task import Call, Navigation, Operand
    >>> a_b = Program((MatchLabel(0), MatchLabel(1), Done()), ("A", "B"))
    >>> rises = Call("less", (Operand(Navigation(0, (0,)), "int"), Operand(Navigation(0, (1,)), "int")), "bool")
    >>> task = MatchTask(program=a_b, bits=(None, None), conditions=(None, rises))
    >>> rows = Rows(np.array([0, 3]), np.zeros((3, 1), np.uint8), columns=(Values(np.array([5, 4, 6])),))
    >>> [spans.start.tolist() for spans in find(task, rows)]
    [[1]]
    """
    limits = limits or Limits()
    positions, code, tables = compile_task(task, rows.limit is not None)
    source = _input(task, rows, code, tables, limits.is_filtered)
    work = _work(code, tables, longest=int(np.max(np.diff(rows.bounds), initial=0)))
    is_target = is_skip_target(task, positions)
    progress = np.full(4, -1, np.int64)
    effort = np.array([limits.remember_after, limits.steps_per_row])
    memo = empty_memo(limits.memo_keys, limits.memo_words)

    def fill(state, block, shared):
        nonlocal memo
        outcome = search_all(tables, source, work, memo, is_target, effort, progress, state, block)
        while outcome == MEMO_FULL:
            memo = empty_memo(limits.memo_keys, limits.memo_words, before=memo)
            outcome = search_all(tables, source, work, memo, is_target, effort, progress, state, block)
        if outcome == BUDGET:
            raise _spent(rows, int(state[ROW]), int(progress[STEPS]))
        if outcome:
            error_class = "ARITHMETIC_OVERFLOW" if progress[FAULT_CODE] == OVERFLOW else "DIVIDE_BY_ZERO"
            raise fault(error_class, task.program.labels[progress[FAULT_LABEL]])

    return all_blocks(fill, task, positions, len(rows.mask), limits.block_rows)


def _spent(rows: Rows, row: int, steps: int) -> DataError:
    first = rows.bounds[np.searchsorted(rows.bounds, row, side="right") - 1]
    return DataError(
        "STEP_BUDGET",
        f"the search for a match from row {row - first + 1} of its partition was given up after {steps:,} steps in "
        "this partition: the rows can be mapped in too many ways",
        hint="add WITHIN, let the variables exclude each other, or replace conditions on the match so far "
        "(aggregates, FIRST) by conditions on the row or on PREV.",
    )


# --- from rows to arrays ----------------------------------------------------------------------------------------------


def _input(task: MatchTask, rows: Rows, code: Code, tables: Tables, is_filtered: bool) -> Input:
    n = len(rows.mask)
    columns = [rows.columns[c] for c in code.columns]
    values, valid = np.empty((len(columns), n), np.int64), np.ones((len(columns), n), np.bool_)
    for k, column in enumerate(columns):
        values[k] = _words(column.values)
        if column.valid is not None:
            valid[k] = column.valid
    earlier = np.full((len(code.distinct), n), -1, np.int64)
    for k, c in enumerate(code.distinct):
        if c != CLASSIFIER:
            earlier[k] = _earlier_equal(columns[c])
    is_filtered = is_filtered and len(tables.label) <= _MOST_LIVE and bool((tables.bit >= 0).any())
    return Input(
        bounds=_owned(rows.bounds, np.int64),
        mask=_read_only(rows.mask),
        limit=_NOTHING if rows.limit is None else _owned(rows.limit, np.int64),
        values=values,
        values_f=values.view(np.float64),
        is_float=np.array([column.values.dtype.kind == "f" for column in columns], np.bool_),
        valid=valid,
        earlier=earlier,
        classifiers=_NOTHING if rows.classifiers is None else _owned(rows.classifiers, np.int64),
        live=live_positions(task, rows).astype(np.uint64) if is_filtered else np.empty(0, np.uint64),
        reach=_reach(rows, tables) if is_filtered and rows.limit is not None else _NOTHING,
    )


_NOTHING = np.empty(0, np.int64)


def _owned(array: np.ndarray, dtype: type) -> np.ndarray:
    """The array as the kernel was compiled for; a read-only one (Arrow's) would be another type and compile again."""
    return np.require(array, dtype, ["C", "A", "W"])


def _read_only(array: np.ndarray) -> np.ndarray:
    """The same the other way round, without a copy."""
    view = array.view()
    view.flags.writeable = False
    return view


def _reach(rows: Rows, tables: Tables) -> np.ndarray:
    """Input.reach."""
    room, reach = np.empty((2, len(tables.label)), np.int64), np.empty(len(rows.mask), np.int64)
    find_reach(
        _owned(rows.bounds, np.int64),
        _read_only(rows.mask),
        *(tables.follow_start, tables.follow, tables.is_final, tables.bit, room, reach),
    )
    return reach


def _words(values: np.ndarray) -> np.ndarray:
    """A column as int64, floats bit by bit."""
    if values.dtype.kind == "f":
        return np.ascontiguousarray(values, np.float64).view(np.int64)
    return values


def _earlier_equal(column: Values) -> np.ndarray:
    """For each row the last row before with an equal value (NaN = NaN, -0.0 = 0.0), or -1; NULLs equal nothing.

    >>> _earlier_equal(Values(np.array([0.0, np.nan, -0.0, 7.0, np.nan]))).tolist()
    [-1, -1, 0, -1, 1]
    """
    values = column.values
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), np.nan, values + 0.0)
    words = _words(values)
    rows = np.arange(len(words)) if column.valid is None else np.flatnonzero(column.valid)
    order = rows[np.argsort(words[rows], kind="stable")]
    earlier = np.full(len(words), -1, np.int64)
    is_same = words[order[1:]] == words[order[:-1]]
    earlier[order[1:][is_same]] = order[:-1][is_same]
    return earlier


def _work(code: Code, tables: Tables, longest: int) -> Work:
    """Room for a path of `longest` rows; the system hands out the pages as they are touched."""
    registers = code.registers.copy()
    accumulators = len(code.accumulators)
    depths = longest + 1 if accumulators else 1
    sums, counts = (np.empty((depths, accumulators), np.int64) for _ in range(2))
    sums[0] = counts[0] = 0
    return Work(
        path=np.empty(longest + 1, np.int32),
        cursor=np.empty(longest + 1, np.int64),
        spent=np.empty(longest + 1, np.int64),
        stacks=np.empty((code.sets, longest + 1), np.int64),
        tops=np.zeros(code.sets, np.int64),
        sums=sums,
        sums_f=sums.view(np.float64),
        counts=counts,
        registers=registers,
        floats=registers.view(np.float64),
        is_null=code.is_null.copy(),
        key=np.empty(2 + int(np.max(np.diff(tables.key_start), initial=0)), np.int64),
    )
