"""The strategy for tasks with run-dependent conditions: ordered depth-first search with a memo of failures.

One path is searched at a time, most preferred first (`thread_kernel`). Conditions are compiled to a small code
(`condition_code`) that the kernel interprets, so no query waits for a compiler. Two things keep most searches from
taking exponential time: rows from which the masks lead to no match are not entered, and a state that failed (the
position, the next row, and exactly what later conditions can see of the path) is not tried again. A budget of steps
bounds all others.

This module turns a task and its rows into the arrays of the kernel, and the kernel's outcomes into blocks and errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sqlext.errors import UnsupportedError
from sqlext.pattern.batch.blocks import BLOCK_ROWS, MATCHED_END, NUMBER, ROW, all_blocks
from sqlext.pattern.batch.two_pass import live_filter
from sqlext.pattern.conditions.condition_reads import walk
from sqlext.pattern.conditions.conditions import fault
from sqlext.pattern.program.closure import new_search, write_targets
from sqlext.pattern.program.jit import read_only, writable
from sqlext.pattern.program.position_automaton import Graph, PositionAutomaton, position_automaton, targets_from
from sqlext.pattern.task.skip_kernels import is_skip_target
from sqlext.pattern.task.task import (
    CLASSIFIER,
    Aggregate,
    Condition,
    Frame,
    MachineCall,
    MatchTask,
    Operand,
    Rows,
    Spans,
    Values,
)
from sqlext.pattern.threads import interpreted_search
from sqlext.pattern.threads.condition_code import Code, assemble
from sqlext.pattern.threads.condition_machine import OVERFLOW
from sqlext.pattern.threads.interpreted_search import budget_error
from sqlext.pattern.threads.memo import empty_memo
from sqlext.pattern.threads.path_keys import key_parts, seen_after
from sqlext.pattern.threads.thread_kernel import (
    BUDGET,
    FAULT_CODE,
    FAULT_LABEL,
    MEMO_FULL,
    STEPS,
    SearchInput,
    ThreadTables,
    Work,
    find_reach,
    search_all,
)

MAX_FOLLOWERS = 1 << 25  # number of entries of the follow lists, 4 bytes each
_SMALL = 256  # instructions: in programs up to this size Python lists targets faster than Numba loads a kernel


@dataclass(frozen=True, kw_only=True)
class KernelLimits:
    """Sizes that change how fast and in which portions matches are returned, but never which matches.

    - `block_rows`: a block ends at about this many matches or rows;
    - `memo_keys`, `memo_words`: the capacity of the memo, in keys and in words of 8 bytes;
    - `remember_after`: a failure that took fewer steps is not remembered, because the search would find it again as
      fast as it could look it up;
    - `steps_per_row`: a partition of n rows may take 10,000 + n · `steps_per_row` steps, but not more than about
      100,000,000 + n · 5,000 (otherwise DataError STEP_BUDGET);
    - `is_filtered`: the masks of later rows are evaluated first.
    """

    block_rows: int = BLOCK_ROWS
    memo_keys: int = 1 << 20
    memo_words: int = 1 << 23
    remember_after: int = 16
    steps_per_row: int = 50_000
    is_filtered: bool = True


def find(task: MatchTask, rows: Rows, limits: KernelLimits | None = None) -> Iterator[Spans]:
    """All matches of a task, in blocks.

    Equal to `reference.find`.

    Raises DataError: STEP_BUDGET, and the errors of conditions (ARITHMETIC_OVERFLOW, DIVIDE_BY_ZERO).
    Raises UnsupportedError: PATTERN_TOO_LARGE.

    >>> from sqlext.pattern.program.program import Done, MatchLabel, Program
    >>> from sqlext.pattern.task.task import MachineCall, Navigation, Operand
    >>> a_b = Program((MatchLabel(0), MatchLabel(1), Done()), ("A", "B"))
    >>> rises = MachineCall(function="less", arguments=(Operand(Navigation(argument=0, labels=(0,)), "int"),
    ...     Operand(Navigation(argument=0, labels=(1,)), "int")), kind="bool")
    >>> task = MatchTask(program=a_b, bits=(None, None), conditions=(None, rises))
    >>> rows = Rows(bounds=np.array([0, 3]), mask=np.zeros((3, 1), np.uint8), columns=(Values(np.array([5, 4, 6])),))
    >>> [spans.start.tolist() for spans in find(task, rows)]
    [[1]]
    """
    limits = limits or KernelLimits()
    if any(column.values.dtype == np.object_ for column in rows.columns):  # decimals that 64 bits do not hold
        yield from _interpreted(task, rows, limits, (0, 1, 0))
        return
    try:
        yield from _compiled(task, rows, limits)
    except _Overflow as overflow:
        yield from _interpreted(task, rows, limits, overflow.begin)


@dataclass
class _Overflow(Exception):
    """64 bits do not hold a decimal; `begin`: the beginning of the block whose matches are not found yet."""

    begin: tuple[int, int, int]


def _interpreted(task: MatchTask, rows: Rows, limits: KernelLimits, begin: tuple[int, int, int]) -> Iterator[Spans]:
    """The matches, searched in Python, whose integers have any number of digits."""
    sizes = interpreted_search.SearchLimits(block_rows=limits.block_rows)
    return interpreted_search.find(task, rows, sizes, begin)


def _compiled(task: MatchTask, rows: Rows, limits: KernelLimits) -> Iterator[Spans]:
    positions, code, tables = compile_task(task, is_limited=rows.limit is not None)
    inputs = _input(task, rows, code, tables, is_filtered=limits.is_filtered)
    work = _work(code, tables, longest=int(np.max(np.diff(rows.bounds), initial=0)))
    is_target = is_skip_target(task, positions)
    has_decimals = any(map(_has_decimals, task.conditions))
    progress = np.full(8, -1, np.int64)
    frame = task.frame or Frame()
    effort = np.array([limits.remember_after, limits.steps_per_row, frame.seeks, frame.is_seen])
    memo = empty_memo(limits.memo_keys, limits.memo_words)

    def fill(state, block, shared):
        nonlocal memo
        begin = int(state[ROW]), int(state[NUMBER]), int(state[MATCHED_END])
        outcome = search_all(tables, inputs, work, memo, is_target, effort, progress, state, block)
        while outcome == MEMO_FULL:
            memo = empty_memo(limits.memo_keys, limits.memo_words, before=memo)
            outcome = search_all(tables, inputs, work, memo, is_target, effort, progress, state, block)
        if outcome == BUDGET:
            raise budget_error(rows, int(state[ROW]), int(progress[STEPS]))
        if outcome:
            if progress[FAULT_CODE] == OVERFLOW and has_decimals:
                raise _Overflow(begin)
            error_class = "ARITHMETIC_OVERFLOW" if progress[FAULT_CODE] == OVERFLOW else "DIVIDE_BY_ZERO"
            raise fault(error_class, task.program.labels[progress[FAULT_LABEL]])

    return all_blocks(fill, task, positions, len(rows.mask), limits.block_rows)


def _has_decimals(condition: Condition | None) -> bool:
    """True if the condition has arithmetic or sums of decimals."""
    parts = walk(condition) if condition is not None else ()
    sources = (part.source if isinstance(part, Operand) else part for part in parts)
    return any(isinstance(source, (Aggregate, MachineCall)) and source.digits > 0 for source in sources)


# --- from the task to tables ------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def compile_task(task: MatchTask, *, is_limited: bool) -> tuple[PositionAutomaton, Code, ThreadTables]:
    """The tables that do not depend on the rows; `is_limited`: Rows.limit is set.

    Raises UnsupportedError: PATTERN_TOO_LARGE.
    """
    code = assemble(task.conditions)
    positions = position_automaton(task.program, task.bits)
    graph = positions.graph
    follow_start, follow = _follow(graph)
    seen = seen_after(task.program.instructions, code.seen)
    keys = [key_parts(seen[at + 1], is_limited=is_limited) for at in graph.instruction]
    tables = ThreadTables(
        follow_start=follow_start,
        follow=follow,
        is_final=graph.accepts_at_end,
        label=positions.label,
        bit=graph.bit,
        code=code.code,
        code_start=code.code_start,
        result=np.array([code.result]),
        push_start=code.push_start,
        push=code.push,
        accumulators=code.accumulators,
        feeds=code.feeds,
        key_start=np.cumsum([0, *map(len, keys)], dtype=np.int64),
        key=np.array([part for key in keys for part in key], np.int32).reshape(-1, 4),
    )
    return positions, code, tables


def _follow(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """`follow_start` and `follow` of Tables."""
    list_targets = _targets_in_small if len(graph.kind) <= _SMALL else _targets_in_large
    lists: list[np.ndarray] = []
    total = 0
    for begin, at_start in [*((int(at) + 1, False) for at in graph.instruction), (0, False), (0, True)]:
        lists.append(list_targets(graph, begin, at_start=at_start))
        total += len(lists[-1])
        if total > MAX_FOLLOWERS:
            raise UnsupportedError(
                "PATTERN_TOO_LARGE",
                "PATTERN has too many ways from one row to the next",
                hint="bound quantifiers lower, or write a loop instead of many optional elements.",
            )
    return np.cumsum([0, *map(len, lists)], dtype=np.int64), np.concatenate(lists)


def _targets_in_small(graph: Graph, begin: int, *, at_start: bool) -> np.ndarray:
    return np.array(targets_from(graph, begin, at_start=at_start), np.int32)


def _targets_in_large(graph: Graph, begin: int, *, at_start: bool) -> np.ndarray:
    targets = np.empty(len(graph.instruction) + 1, np.int32)
    return targets[: write_targets(graph, new_search(graph), begin, at_start, targets)].copy()


# --- from rows to arrays ----------------------------------------------------------------------------------------------


def _input(task: MatchTask, rows: Rows, code: Code, tables: ThreadTables, *, is_filtered: bool) -> SearchInput:
    n = len(rows.mask)
    columns = [rows.columns[c] for c in code.columns]
    values, valid = np.empty((len(columns), n), np.int64), np.empty((len(columns), n), np.bool_)
    for k, column in enumerate(columns):
        values[k], valid[k] = _words(column.values), column.is_valid
    earlier = np.full((len(code.distinct), n), -1, np.int64)
    for k, c in enumerate(code.distinct):
        if c != CLASSIFIER:
            earlier[k] = _earlier_equal(columns[c])
    live = live_filter(task, rows) if is_filtered else None
    return SearchInput(
        bounds=writable(rows.bounds),
        mask=read_only(rows.mask),
        limit=_NOTHING if rows.limit is None else writable(rows.limit),
        values=values,
        values_f=values.view(np.float64),
        is_float=np.array([column.values.dtype.kind == "f" for column in columns], np.bool_),
        valid=valid,
        earlier=earlier,
        classifiers=_NOTHING if rows.classifiers is None else writable(rows.classifiers),
        live=np.empty(0, np.uint64) if live is None else live.astype(np.uint64),
        reach=_NOTHING if live is None or rows.limit is None else _reach(rows, tables),
    )


_NOTHING = np.empty(0, np.int64)


def _reach(rows: Rows, tables: ThreadTables) -> np.ndarray:
    """Input.reach."""
    room, reach = np.empty((2, len(tables.label)), np.int64), np.empty(len(rows.mask), np.int64)
    find_reach(
        writable(rows.bounds),
        read_only(rows.mask),
        *(tables.follow_start, tables.follow, tables.is_final, tables.bit, room, reach),
    )
    return reach


def _words(values: np.ndarray) -> np.ndarray:
    """A column as int64; the bits of a float are kept."""
    if values.dtype.kind == "f":
        return np.ascontiguousarray(values, np.float64).view(np.int64)
    return values


def _earlier_equal(column: Values) -> np.ndarray:
    """For each row the last row before it with an equal value (NaN = NaN, -0.0 = 0.0), or -1; a NULL equals nothing.

    >>> _earlier_equal(Values(np.array([0.0, np.nan, -0.0, 7.0, np.nan]))).tolist()
    [-1, -1, 0, -1, 1]
    """
    values = column.values
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), np.nan, values + 0.0)
    words = _words(values)
    rows = np.flatnonzero(column.is_valid)
    order = rows[np.argsort(words[rows], kind="stable")]
    earlier = np.full(len(words), -1, np.int64)
    is_same = words[order[1:]] == words[order[:-1]]
    earlier[order[1:][is_same]] = order[:-1][is_same]
    return earlier


def _work(code: Code, tables: ThreadTables, longest: int) -> Work:
    """Room for a path of `longest` rows; the operating system supplies its pages as they are touched."""
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
