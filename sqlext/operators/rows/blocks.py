"""Rows that a worker reads in blocks. This module is light, since the driver imports it too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa


class Block(NamedTuple):
    """Rows with all rows of their keys. `are_ordered`: they come in the order of the first key."""

    batches: Iterator[pa.RecordBatch]
    are_ordered: bool = False
