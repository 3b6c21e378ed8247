"""The task of a pattern that skips rows or speaks of absence, and of AFTER MATCH NO SKIP."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.pattern.cep.nfa import Nfa
from sqlext.pattern.task import Task


@dataclass(frozen=True, kw_only=True)
class CepTask(Task):
    """A task that `nfa` describes: the rows of a match need not be neighbours, or every match is required.

    `program` says only which variables a match maps, in which order. `is_between`: the limit of a row bounds the next
    mapped row of a match (WITHIN ... BETWEEN ROWS), not all rows of a match that starts there.
    """

    nfa: Nfa
    is_between: bool = False


def cep_task(task: Task, nfa: Nfa, is_between: bool = False) -> CepTask:
    """Return the CEP task with the labels, conditions and output of a task."""
    return CepTask(**vars(task), nfa=nfa, is_between=is_between)
