"""What INTERVAL JOIN … AGGREGATE of two streams needs for a step. This module is light, since the driver imports it
too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from sqlext.expressions.scalar_tree import Scalar
from sqlext.operators.interval.aggregates_plan import AggregatesPlan

LEFT = "__left"  # prefix of the columns of the left relation


@dataclass(frozen=True, kw_only=True)
class StreamAggregatesPlan:
    """`schema`: the columns of the rows of both relations, which arrive together: SIDE, TIME, LOWER and UPPER of left
    rows, the keys, the columns of the left relation, and those of right rows that `ranges` reads. A left row without a
    range has no partner.

    `ranges`: the aggregates, with `of_left` over these columns; `reach`: how much earlier than its time the range of a
    left row may begin, in microseconds, or negative if it always begins later; `marks`: by the names of columns of
    right rows that may fail, the columns that are true where they have; `condition`: a condition on pairs of rows, over
    columns of both relations; `skips_failures`: an aggregate that cannot be computed is NULL and does not end the
    query.
    """

    schema: pa.Schema
    ranges: AggregatesPlan
    reach: int
    marks: Mapping[str, str]
    condition: Scalar | None = None
    skips_failures: bool = True

    @property
    def keys(self) -> tuple[str, ...]:
        return self.ranges.keys

    @cached_property
    def left(self) -> tuple[str, ...]:
        return tuple(name for name in self.schema.names if name.startswith(LEFT))
