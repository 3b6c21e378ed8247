"""What workers need for ASOF JOIN: `AsofPlan` for a step on streams, `PairsPlan` in batch.

This module is light, since the driver imports it too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from sqlext.operators.rows.columns import ROW_TIME, SortKey
from sqlext.operators.rows.limits import Limits

SIDE, TIME = "__side", ROW_TIME
KEY, LEFT, RIGHT = "__key", "__left", "__right"  # prefixes of the columns of the keys and of both relations
VALUE = "__value"  # prefix of the columns that rows of both relations use
# The values of SIDE. A left row that fails a condition on it, or has a NULL in a key, has no partner.
OF_RIGHT, OF_LEFT, WITHOUT_PARTNER = 0, 1, 2
NEAREST = "NEAREST"


@dataclass(frozen=True, kw_only=True)
class AsofPlan:
    """`schema`: the columns of the rows of both relations, which arrive together: SIDE, TIME, the keys, and the columns
    of both relations, of which a row has one half; `operator`: `>=`, `>`, `<=`, `<` or NEAREST in `left time operator
    right time`; `within`: the greatest distance in microseconds, None if any is allowed; `is_left`: left rows without a
    partner are emitted, too; `takes_last`: of right rows with one time the largest is the partner, not the smallest."""

    schema: pa.Schema
    operator: str
    within: int | None
    is_left: bool
    takes_last: bool = False

    @cached_property
    def keys(self) -> tuple[str, ...]:
        return self._names(KEY)

    @cached_property
    def left(self) -> tuple[str, ...]:
        return self._names(LEFT)

    @cached_property
    def right(self) -> tuple[str, ...]:
        return self._names(RIGHT)

    @property
    def ties(self) -> tuple[SortKey, ...]:
        """The order of right rows with one time: the first one is the partner."""
        return _order(self.right, takes_last=self.takes_last)

    @property
    def result_schema(self) -> pa.Schema:
        """The columns of a result row, from both relations."""
        return pa.schema([self.schema.field(name) for name in (*self.left, *self.right)])

    def _names(self, prefix: str) -> tuple[str, ...]:
        return tuple(name for name in self.schema.names if name.startswith(prefix))


@dataclass(frozen=True, kw_only=True)
class PairsPlan:
    """What workers need to pair all rows of a batch query.

    The rows of both relations arrive together, in no order, with the columns SIDE, TIME, the keys, and columns of
    values, which rows of both relations may use. Of the result's columns, `of_left` names the column that each takes
    from the left row, `of_right` the one from its partner. `ties`: the columns that order right rows with one time, of
    which the smallest is the partner, or the largest if `takes_last`.
    `is_left`: left rows without a partner are emitted, too; `is_once`: only one left row of each key and time is.
    `null_safe`: the keys that match NULL, if the two relations are read by one worker; otherwise it gets no rows with
    NULL in other keys.
    """

    operator: str
    keys: tuple[str, ...]
    ties: tuple[str, ...]
    of_left: Mapping[str, str]
    of_right: Mapping[str, str]
    is_left: bool
    is_once: bool = False
    null_safe: tuple[str, ...] = ()
    takes_last: bool = False
    limits: Limits = Limits()

    @property
    def order_of_ties(self) -> tuple[SortKey, ...]:
        """The order of right rows with one time: the first one is the partner."""
        return _order(self.ties, takes_last=self.takes_last)


def _order(columns: tuple[str, ...], *, takes_last: bool) -> tuple[SortKey, ...]:
    return tuple(SortKey(name, is_descending=takes_last, nulls_last=takes_last) for name in columns)
