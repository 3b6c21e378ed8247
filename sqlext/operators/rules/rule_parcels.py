"""The rows of a table of rules as parcels for the operator, which runs in buckets of keys."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from sqlext.operators.rows.arrow import stream_of
from sqlext.operators.rules.state import ARRIVING_VERSIONS, RULES
from sqlext.operators.stateful.parcels import PARCEL, bucket_numbers, mark, state_partitions


def pack_rules(batches: Iterator[pa.RecordBatch], buckets: int | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of the rules table, in one parcel for each bucket (see `parcels.pack`)."""
    partitions = state_partitions()
    numbers = pa.array(bucket_numbers(buckets or partitions, partitions))
    for batch in batches:
        if batch.num_rows:
            rows = pa.table(batch.columns, names=batch.schema.names).cast(ARRIVING_VERSIONS)
            whole = rows.replace_schema_metadata(mark(RULES)).combine_chunks().to_batches()[0]
            parcel = stream_of(whole).to_pybytes()
            yield pa.RecordBatch.from_arrays([numbers, pa.array([parcel] * len(numbers), pa.binary())], schema=PARCEL)
