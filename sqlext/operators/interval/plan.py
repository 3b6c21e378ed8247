"""What INTERVAL JOIN needs to pair the rows of two relations. This module is light, since the driver imports it too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlext.expressions.scalar_tree import Scalar
from sqlext.operators.rows.columns import ROW_TIME
from sqlext.operators.rows.limits import Limits

TIME, LOWER, UPPER = ROW_TIME, "__lower", "__upper"  # of the relation with the times, and of the one with the ranges


@dataclass(frozen=True, kw_only=True)
class RangesPlan:
    """`join_type`: INNER, LEFT, RIGHT, FULL, LEFT SEMI or LEFT ANTI; `time_is_left`: the left relation has the times;
    `excludes_lower`, `excludes_upper`: the end is not in a range; `keys`: the columns of the keys, in both relations;
    `null_safe`: those of them that match NULL.

    Of the result's columns, `of_left` names the column that each takes from the left row, `of_right` from the right
    one. `condition`: a condition on pairs, over columns of both relations, that can be computed for all of them.
    """

    join_type: str
    time_is_left: bool
    excludes_lower: bool = False
    excludes_upper: bool = False
    keys: tuple[str, ...] = ()
    null_safe: tuple[str, ...] = ()
    of_left: Mapping[str, str]
    of_right: Mapping[str, str]
    condition: Scalar | None = None
    limits: Limits = Limits()

    @property
    def shows_pairs(self) -> bool:
        return self.join_type not in ("LEFT SEMI", "LEFT ANTI")
