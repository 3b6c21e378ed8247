"""Which strategy runs a task, and why.

| strategy | takes | time |
|---|---|---|
| two_pass | row-local DEFINE, no WITHIN, up to 64 positions | linear, a few ns a row |
| lazy_dfa | row-local DEFINE, no WITHIN | linear |
| bounded | row-local DEFINE, with or without WITHIN | linear |
| threads | everything, for run-dependent DEFINE | see there |
| nfa | rows that need not be neighbours, absences, NO SKIP (`task.nfa`), and only these | see `contiguity` |
| reference | everything | exponential, with a budget of steps |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sqlext.errors import UnsupportedError
from sqlext.pattern.automaton import count_positions
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.task import MatchTask, Rows, Spans, Task

MAX_TWO_PASS_POSITIONS = 64  # bits of one integer


def choose(task: Task) -> tuple[str, str]:
    """The name of the strategy that runs a task, and the reason as a sentence.

    `task.strategy` other than "auto" is taken as it is.

    Raises UnsupportedError: STRATEGY_NOT_APPLICABLE, if the strategy asked for does not exist or cannot run the task.

    >>> from sqlext.pattern.program import Done, MatchLabel, Program
    >>> choose(MatchTask(program=Program((MatchLabel(0), Done()), ("A",)), bits=(0,), conditions=(None,)))
    ('two_pass', 'DEFINE is row-local and PATTERN has 1 position, at most 64.')
    """
    if task.strategy == "auto":
        return _cheapest(task)
    objection = _objection(task)
    if objection:
        raise UnsupportedError(
            "STRATEGY_NOT_APPLICABLE",
            f'strategy "{task.strategy}" cannot run this clause: {objection}',
            hint=f'leave the strategy at "auto", which takes {_cheapest(task)[0]}.',
        )
    return task.strategy, f'strategy "{task.strategy}" was asked for.'


def _cheapest(task: Task) -> tuple[str, str]:
    if isinstance(task, CepTask):
        from sqlext.pattern.cep.cep_matcher import reason

        return "nfa", reason(task)
    dependent = _run_dependent(task)
    if dependent:
        return "threads", f"the condition of {', '.join(dependent)} depends on the rows matched so far."
    if task.is_within:
        return "bounded", "DEFINE is row-local and WITHIN bounds the matches."
    positions = count_positions(task.program)
    noun = "position" if positions == 1 else "positions"
    if positions <= MAX_TWO_PASS_POSITIONS:
        return "two_pass", f"DEFINE is row-local and PATTERN has {positions} {noun}, at most {MAX_TWO_PASS_POSITIONS}."
    return "lazy_dfa", f"DEFINE is row-local and PATTERN has {positions:,} positions, over {MAX_TWO_PASS_POSITIONS}."


def _run_dependent(task: Task) -> list[str]:
    """The names of the variables whose condition reads the match so far."""
    return [name for name, condition in zip(task.program.labels, task.conditions) if condition is not None]


def accepts(task: Task) -> bool:
    """Can the strategy that the task names run it?"""
    return _objection(task) is None


def _objection(task: Task) -> str | None:
    """Why the strategy that was asked for cannot run the task."""
    if task.strategy not in STRATEGIES:
        return f"there are only {', '.join(STRATEGIES)}."
    if task.strategy == "reference":
        return None
    if (isinstance(task, CepTask)) != (task.strategy == "nfa"):
        if not isinstance(task, CepTask):
            return "the rows of each match are neighbours."
        return "it knows only matches whose rows are neighbours."
    if task.strategy in ("threads", "nfa"):
        return None
    dependent = _run_dependent(task)
    if dependent:
        return f"the condition of {', '.join(dependent)} depends on the rows matched so far."
    if task.is_within and task.strategy != "bounded":
        return "it does not know WITHIN."
    positions = count_positions(task.program)
    if task.strategy == "two_pass" and positions > MAX_TWO_PASS_POSITIONS:
        return f"PATTERN has {positions:,} positions, over {MAX_TWO_PASS_POSITIONS}."
    return None


def match(task: Task, rows: Rows) -> Iterator[Spans]:
    """All matches, in blocks of bounded size, found by the strategy that `choose` names.

    Raises UnsupportedError: STRATEGY_NOT_APPLICABLE, and what the strategy raises.

    >>> import numpy as np
    >>> from sqlext.pattern.program import Done, MatchLabel, Program
    >>> a = Program((MatchLabel(0), Done()), ("A",))
    >>> task = MatchTask(program=a, bits=(0,), conditions=(None,), strategy="reference")
    >>> [spans.start.tolist() for spans in match(task, Rows(np.array([0, 3]), np.array([[1], [0], [1]], np.uint8)))]
    [[0, 2]]
    """
    strategy, _ = choose(task)
    return STRATEGIES[strategy](task, rows)


# Imported when they are needed: Numba takes half a second, and compiles.


def _two_pass(task: MatchTask, rows: Rows) -> Iterator[Spans]:
    from sqlext.pattern.batch import two_pass

    return two_pass.find(task, rows)


def _lazy_dfa(task: MatchTask, rows: Rows) -> Iterator[Spans]:
    from sqlext.pattern.batch import lazy_dfa

    return lazy_dfa.find(task, rows)


def _bounded(task: MatchTask, rows: Rows) -> Iterator[Spans]:
    from sqlext.pattern.batch import bounded

    return bounded.find(task, rows)


def _threads(task: MatchTask, rows: Rows) -> Iterator[Spans]:
    from sqlext.pattern.batch.threads import thread_search

    return thread_search.find(task, rows)


def _nfa(task: CepTask, rows: Rows) -> Iterator[Spans]:
    from sqlext.pattern.cep import cep_matcher

    return cep_matcher.find(task, rows)


def _reference(task: Task, rows: Rows) -> Iterator[Spans]:
    from sqlext.pattern import conditions
    from sqlext.pattern.batch import reference
    from sqlext.pattern.cep import cep_oracle

    if isinstance(task, CepTask):
        return cep_oracle.find(task, rows)
    assert isinstance(task, MatchTask)
    return reference.find(task, rows, conditions.satisfier(task, rows))


STRATEGIES: dict[str, Callable[[Any, Rows], Iterator[Spans]]] = {
    "two_pass": _two_pass,
    "lazy_dfa": _lazy_dfa,
    "bounded": _bounded,
    "threads": _threads,
    "nfa": _nfa,
    "reference": _reference,
}
