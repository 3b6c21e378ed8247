"""The times with which an idle source moves the watermark on: none in a micro-batch in which the source has rows."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

_TIME = pa.schema([("at", pa.timestamp("us", "UTC"))])


def mark_if_any(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row without a time if there are rows, otherwise none.

    >>> [b.num_rows for b in mark_if_any(iter([pa.record_batch({"x": [1, 2]}), pa.record_batch({"x": [3]})]))]
    [1]
    """
    count = sum(batch.num_rows for batch in batches)
    if count:
        yield pa.RecordBatch.from_arrays([pa.nulls(1, _TIME.field(0).type)], schema=_TIME)


def beat_unless_marked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The last of the times; no row if one of them is NULL.

    >>> def beats(*times):
    ...     column = pa.array(times, pa.timestamp("us", "UTC"))
    ...     rows = beat_unless_marked(iter([pa.record_batch([column], ["at"])]))
    ...     return [t.value for batch in rows for t in batch.column(0)]
    >>> beats(7, 9, 8), beats(7, None), beats()
    ([9], [], [])
    """
    import pyarrow.compute as pc

    times = pa.chunked_array([batch.column(0) for batch in batches], _TIME.field(0).type)
    if len(times) and not times.null_count:
        yield pa.RecordBatch.from_arrays([pa.array([pc.max(times)], _TIME.field(0).type)], schema=_TIME)
