"""The results of a task by both matchers, as lists that can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from sqlext.errors import DataError
from sqlext.pattern.batch import reference
from sqlext.pattern.task.task import MatchTask, Rows, Spans
from sqlext.pattern.threads import interpreted_search, thread_search


def by_reference(task: MatchTask, rows: Rows) -> list:
    return outcome(reference.find(task, rows, max_steps=100_000))


def by_threads(task: MatchTask, rows: Rows, **limits) -> list:
    return outcome(thread_search.find(task, rows, thread_search.KernelLimits(**limits)))


def by_python(task: MatchTask, rows: Rows, **limits) -> list:
    return outcome(interpreted_search.find(task, rows, interpreted_search.SearchLimits(**limits)))


def outcome(blocks: Iterable[Spans]) -> list:
    """All matches, the unmatched rows and the failure, or otherwise the error."""
    try:
        return list(_facts(blocks))
    except DataError as error:
        return [error.error_class, error.message if "BUDGET" not in error.error_class else ""]


def _facts(blocks: Iterable[Spans]) -> Iterator:
    unmatched: list[int] = []
    for spans in blocks:
        hidden = np.zeros(len(spans.label), bool) if spans.is_hidden is None else spans.is_hidden
        for k, (start, number) in enumerate(zip(spans.start.tolist(), spans.number.tolist())):
            part = slice(spans.offset[k], spans.offset[k + 1])
            yield start, number, spans.label[part].tolist(), hidden[part].tolist()
        unmatched += spans.unmatched.tolist()
        if spans.failure:
            yield spans.failure
    yield unmatched
