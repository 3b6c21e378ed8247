"""The rows as a stream: when each match is emitted, and which rows are kept at a watermark."""

from __future__ import annotations

from typing import Any

import numpy as np

from sqlext.operators.rows.arrow import as_arrow, to_values
from sqlext.operators.rows.columns import WITHIN_END
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.conditions.condition_reads import rows_ahead, rows_back
from sqlext.pattern.strategy import decide, stream_refusal
from sqlext.pattern.stream.rowtime import first_rows
from sqlext.pattern.task.event_time import NEVER, Decisions, EventTimes, StreamFacts, first_position
from sqlext.pattern.task.within import in_order
from sqlext.playground.rows_search import TRUE, RowsSearch
from sqlext.playground.table import is_time, per_millisecond


def refusal(search: RowsSearch) -> str | None:
    """The reason why the rows cannot be shown as a stream; None if they can."""
    if not search.sort:
        return "A stream needs ORDER BY with the time of the rows."
    text, key = search.sort[0]
    column = search.computed[text]
    if not is_time(column.type):
        return f"A stream is ordered by the time of its rows, and {text.strip('`')} is not a time."
    if key.is_descending:
        return "A stream is ordered by ascending times."
    if column.null_count:
        return "A row has no time."
    refused = stream_refusal(search.task, reads_ahead=any(_ahead(search)))
    return None if refused is None else f"Streams do not have {refused}."


def _ahead(search: RowsSearch) -> list[int]:
    """For each label, how many rows after the tested one its condition reads."""
    return [max([0, *(rows_ahead(c.condition) for c in conjuncts)]) for conjuncts in search.plan.conjuncts]


def _back(search: RowsSearch) -> int:
    return max([0, *(rows_back(c.condition) for conjuncts in search.plan.conjuncts for c in conjuncts)])


def at_watermark(search: RowsSearch, watermark: float | None) -> dict[str, Any]:
    """What a stream has done when the watermark is at a time, in milliseconds (None: before all rows).

    `times`: when each match is emitted, by its first row and its number; a match that only the end of the input decides
    is missing. `kept`: the places of the rows that a stream keeps, including rows that the watermark has not
    passed. `waiting`: the places of these. A row that comes now with a time up to the watermark is late.
    """
    column = search.computed[search.sort[0][0]]
    key, unit = in_order(to_values(column.take(as_arrow(search.order))).values), per_millisecond(column.type)
    every = _decided(search, key, NEVER - 1)
    names = zip(every.spans.start.tolist(), every.spans.number.tolist(), every.time.tolist())
    times = {f"{start} {number}": time / unit for start, number, time in names if time != NEVER}
    at = int(min(max((watermark or 0) * unit, -(2**62)), 2**62)) if watermark is not None else int(key.min()) - 1
    has_passed = key <= at
    kept = ~has_passed
    back, bounds = _back(search), search.rows.bounds
    if has_passed.any():
        first = _first_needed(search, _decided(search, key, at), has_passed)
        for p, row in first.items():
            lo = max(int(bounds[p]), row - back)
            kept[lo : int(bounds[p + 1])] = True
    return {
        "times": times,
        "kept": np.flatnonzero(kept).tolist(),
        "waiting": np.flatnonzero(~has_passed).tolist(),
        "watermark": at / unit,
    }


def _decided(search: RowsSearch, key: np.ndarray, watermark: int) -> Decisions:
    """The decisions at a watermark, in the numbers of the rows that have passed."""
    rows, end = search.masked, None
    if WITHIN_END in search.read:
        end = in_order(to_values(search.read[WITHIN_END]).values)
    need, ahead = None, _ahead(search)
    if any(ahead):
        need = np.tile(np.arange(len(key)), (len(ahead), 1))
        for label, distance in enumerate(ahead):
            need[label] += distance * (search.truths[label] == TRUE)
    times = EventTimes(key=key, watermark=watermark, end=end, need=need)
    kept = np.flatnonzero(key <= watermark)
    if len(kept) < len(key):
        partitions = np.unique(search.partition[kept])
        rows, times = first_rows(kept, partitions, rows, times)
    facts = StreamFacts(reads_ahead=need is not None)
    return decide(search.task, rows, times, first_position(rows), facts, _matcher(search))


def _matcher(search: RowsSearch) -> str:
    """The matcher of streams that is written for its meaning, not for speed."""
    if not isinstance(search.task, CepTask):
        return "reference"
    return "path_search" if search.task.skip.mode.lists_all else "path_verdicts"


def _first_needed(search: RowsSearch, now: Decisions, has_passed: np.ndarray) -> dict[int, int]:
    """For each partition with rows that have passed, the first row that the search still needs."""
    kept = np.flatnonzero(has_passed)
    partitions, first = np.unique(search.partition[kept], return_index=True)
    needed = {}
    for i, p in enumerate(partitions.tolist()):
        offset = int(now.position.row[i]) - int(first[i])
        needed[p] = int(search.rows.bounds[p]) + offset
    return needed
