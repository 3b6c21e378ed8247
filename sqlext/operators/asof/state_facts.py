"""The state of ASOF JOIN of streams for one key, in words. Loads Numba."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sqlext.operators.asof.operator import AsofOperator
from sqlext.operators.asof.plan import NEAREST, OF_LEFT, OF_RIGHT, SIDE
from sqlext.operators.rows.arrow import as_arrow, as_numpy, one_chunk
from sqlext.operators.stateful.fact import MAX_ROWS, ROW, Fact, RowTexts, ShowTime, further_rows
from sqlext.operators.stateful.operator import State
from sqlext.pattern.task.event_time import NEVER


def asof_facts(
    operator: AsofOperator, state: State, lefts: RowTexts, rights: RowTexts, show: ShowTime
) -> Iterator[Fact]:
    """The facts: the kept rows of both relations, in the order of their times."""
    times = as_numpy(one_chunk(state.rows.column(operator.time)).view(pa.int64()))
    sides = as_numpy(one_chunk(state.rows.column(SIDE)))
    order = np.lexsort((sides, times))[:MAX_ROWS]
    rows = state.rows.take(as_arrow(order))
    for i, left, right in zip(order.tolist(), lefts(rows), rights(rows)):
        shown, about = (right, _right) if sides[i] == OF_RIGHT else (left, _left)
        facts = about(operator, int(times[i]), int(sides[i]), state.watermark, show)
        yield Fact(ROW, int(times[i]), f"{shown}; {facts}")
    yield from further_rows(len(times))


def _left(operator: AsofOperator, time: int, side: int, watermark: int, show: ShowTime) -> str:
    plan = operator.plan
    if side != OF_LEFT:
        return f"left row without a partner, because of a NULL or a condition on it: decided at {show(time)}"
    if plan.operator in (">=", ">"):
        return f"left row, decided when the watermark reaches {show(time)}: a nearer right row may come before"
    end = NEVER if plan.within is None else min(time + plan.within, NEVER)
    if plan.operator == NEAREST:
        return f"left row, decided when the watermark reaches {show(end)}: a nearer right row may come before"
    waits = "the watermark has not passed it" if time > watermark else "no right row that it may take has passed"
    return f"left row, {waits}: decided by the first one, or without a partner at {show(end)}"


def _right(operator: AsofOperator, time: int, side: int, watermark: int, show: ShowTime) -> str:
    if time > watermark:
        return "right row, the watermark has not passed it"
    within = operator.plan.within
    until = "" if within is None else f" up to {show(min(time + within, NEVER))}"
    return f"right row, kept because a left row{until} may take it"
