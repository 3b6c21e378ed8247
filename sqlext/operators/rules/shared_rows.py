"""The rows of one step, sorted once for all rules, and the columns of each rule over some of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sqlext.errors import DataError
from sqlext.expressions.column_values import ColumnValues
from sqlext.expressions.scalar_tree import Scalar
from sqlext.operators.rows.arrow import as_arrow
from sqlext.operators.rows.columns import NOT_COMPUTED
from sqlext.operators.rules.plan import CODE, RulePlan
from sqlext.pattern.task.event_time import NEVER


class NewRows(NamedTuple):
    """`is_new: bool[n]`: which rows are new; by partition: `has_new`, and `stop`, the end of the rows up to the later
    time."""

    is_new: np.ndarray
    has_new: np.ndarray
    stop: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class SharedRows:
    """Rows sorted by key and time. `partition: int64[n]`: the number of each row's key, from 0; `time`, `id: int64[n]`;
    `values`: evaluates expressions over the rows, each shared expression only once.

    Partition p is rows `bounds[p]` to `bounds[p + 1]` (exclusive).
    """

    partition: np.ndarray
    bounds: np.ndarray
    time: np.ndarray
    id: np.ndarray
    values: ColumnValues

    def places(self, ids: np.ndarray) -> np.ndarray:
        """The places of the rows with these ids; NEVER for an id that no row has."""
        if not len(self.id):
            return np.full(len(ids), NEVER)
        order = np.argsort(self.id)
        at = order[np.minimum(np.searchsorted(self.id[order], ids), len(order) - 1)]
        return np.where(self.id[at] == ids, at, NEVER)

    @lru_cache(maxsize=8)  # noqa: B019  (most versions of a step ask for the same times)
    def between(self, after: int, until: int) -> NewRows:
        """The rows with `after < time <= until`."""
        stop = np.empty(len(self.bounds) - 1, np.int64)
        is_passed = self.time <= until
        passed = np.concatenate([[0], np.cumsum(is_passed)])
        stop[:] = self.bounds[:-1] + passed[self.bounds[1:]] - passed[self.bounds[:-1]]
        is_new = is_passed & (self.time > after)
        has_new = np.zeros(len(stop), np.bool_)
        has_new[self.partition[is_new]] = True
        return NewRows(is_new=is_new, has_new=has_new, stop=stop)

    def may_begin(self, plan: RulePlan) -> np.ndarray:
        """`bool[n]`: the rows on which a match of the rule can begin."""
        if plan.opening is None:
            return np.ones(len(self.time), np.bool_)
        truth = map(self.values.truth, plan.opening)
        return np.logical_or.reduce(list(truth))

    def table(self, plan: RulePlan, rows: np.ndarray) -> pa.Table:
        """The columns that workers read, for `rows: int64[k]`."""
        arrays = {CODE: as_arrow(self.partition[rows])}
        arrays |= {name: self.values.array(tree, rows) for name, tree in plan.trees.items()}
        failed = ((name, self.values.vector(tree).failed) for name, tree in plan.trees.items())
        arrays |= {NOT_COMPUTED + name: as_arrow(mask[rows]) for name, mask in failed if mask is not None}
        arrays |= {name: as_arrow(self._mask(masks, rows)) for name, masks in plan.masks.items()}
        return pa.table(arrays)

    def _mask(self, masks: tuple[Scalar, ...], rows: np.ndarray) -> np.ndarray:
        """A column of bits, of the narrowest type that holds them."""
        kind = next(t for t in (np.uint8, np.uint16, np.uint32, np.uint64) if len(masks) <= 8 * np.dtype(t).itemsize)
        bits: np.ndarray = np.zeros(len(rows), kind)
        for bit, tree in enumerate(masks):
            bits = bits | (self.values.truth(tree)[rows].astype(kind) << kind(bit))
        return bits.view(f"i{bits.itemsize}")

    def failures(self, plan: RulePlan) -> Iterator[tuple[DataError, np.ndarray]]:
        """For each expression of the rule that was evaluated and failed: an error, and the rows on which it failed as
        `bool[n]`."""
        for tree in (*plan.trees.values(), *(tree for masks in plan.masks.values() for tree in masks)):
            if not self.values.is_evaluated(tree):
                continue
            error, failed = self.values.failure(tree), self.values.vector(tree).failed
            if error is not None and failed is not None:
                yield error, failed
