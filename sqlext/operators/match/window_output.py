"""The result of a window with a row pattern: one row for each row of the input. Loads Numba."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from sqlext.operators.match.output import MatchBlock, block_batches, check_skip
from sqlext.operators.match.plan import MatchOperatorPlan
from sqlext.pattern.measures.window_rows import window_rows
from sqlext.pattern.task.task import Rows, Spans


def window_batches(
    columns: dict[str, pa.Array], rows: Rows, blocks: Iterable[Spans], plan: MatchOperatorPlan
) -> Iterator[pa.RecordBatch]:
    """The rows in their order, each with the values of its match. Raises DataError where AFTER MATCH SKIP failed.

    A block of matches yields the rows up to the last row that has a match; the rows after all matches have none.
    """
    low, n = 0, int(rows.bounds[-1])
    for spans in blocks:
        check_skip(columns, spans, plan)
        current = spans.start if spans.current is None else spans.current
        if len(current):
            high = int(current[-1]) + 1
            out = window_rows(spans, low, high)
            yield from block_batches(MatchBlock(plan=plan, columns=columns, rows=rows, spans=spans, out=out))
            low = high
    if low < n:
        out = window_rows(NO_MATCHES, low, n)
        yield from block_batches(MatchBlock(plan=plan, columns=columns, rows=rows, spans=NO_MATCHES, out=out))


_NOTHING = np.zeros(0, np.int64)
NO_MATCHES = Spans(
    start=_NOTHING,
    number=_NOTHING,
    offset=np.zeros(1, np.int64),
    label=np.zeros(0, np.int16),
    is_hidden=None,
    unmatched=_NOTHING,
)
