"""The state of INTERVAL JOIN … AGGREGATE of streams for one key, in words. Loads Numba."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sqlext.operators.interval.aggregates_plan import OF_LEFT, SIDE
from sqlext.operators.interval.operator import AggregatesOperator
from sqlext.operators.interval.plan import LOWER, UPPER
from sqlext.operators.interval.step import decision_times
from sqlext.operators.rows.arrow import are_valid, as_arrow, as_numpy, one_chunk
from sqlext.operators.stateful.arrivals import times
from sqlext.operators.stateful.fact import MAX_ROWS, ROW, Fact, RowTexts, ShowTime, further_rows
from sqlext.operators.stateful.operator import State


def aggregates_facts(
    operator: AggregatesOperator, state: State, lefts: RowTexts, rights: RowTexts, show: ShowTime
) -> Iterator[Fact]:
    """The facts: the kept rows of both relations, in the order of their times."""
    time = times(state.rows, operator.time)
    is_left = as_numpy(one_chunk(state.rows.column(SIDE))) == OF_LEFT
    order = np.lexsort((is_left, time))[:MAX_ROWS]
    rows = state.rows.take(as_arrow(order))
    left = _lefts(operator, rows, show)
    for i, text, of_left, of_right in zip(order.tolist(), left, lefts(rows), rights(rows)):
        is_waiting = time[i] > state.watermark
        right = "the watermark has not passed it" if is_waiting else "kept because a left row may need it"
        fact = f"{of_left}; {text}" if is_left[i] else f"{of_right}; right row, {right}"
        yield Fact(ROW, int(time[i]), fact)
    yield from further_rows(len(time))


def _lefts(operator: AggregatesOperator, rows: pa.Table, show: ShowTime) -> Iterator[str]:
    """What is said of each row if it is one of the left relation."""
    decided = decision_times(rows, operator.plan).tolist()
    ends = [times(rows, name).tolist() for name in (LOWER, UPPER)]
    has_range = np.logical_and(*(are_valid(one_chunk(rows.column(name))) for name in (LOWER, UPPER)))
    for at, lower, upper, has in zip(decided, *ends, has_range.tolist()):
        if has:
            ends_at = f"its range is {show(lower)} to {show(upper)}"
            yield f"left row, decided when the watermark reaches {show(at)}: {ends_at}"
        else:
            yield f"left row without a range, because of a NULL or a condition on it: decided at {show(at)}"
