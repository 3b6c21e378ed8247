"""The rows of one step, sorted once for all rules, and the columns of each rule over some of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sqlext.errors import DataError
from sqlext.expressions.column_values import ColumnValues
from sqlext.expressions.scalar_tree import Scalar
from sqlext.operators.rows.arrow import as_arrow
from sqlext.operators.rows.columns import NOT_COMPUTED
from sqlext.operators.rules.openings import Opening
from sqlext.operators.rules.plan import CODE, RulePlan
from sqlext.operators.rules.row_index import RowIndex
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
    `values`: evaluates expressions over the rows, each shared expression only once; `keys`: the columns of the key;
    `after`: rows up to this time are new for no version.

    Partition p is rows `bounds[p]` to `bounds[p + 1]` (exclusive).
    """

    partition: np.ndarray
    bounds: np.ndarray
    time: np.ndarray
    id: np.ndarray
    values: ColumnValues
    keys: tuple[str, ...]
    after: int

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

    @property
    def partitions(self) -> int:
        return len(self.bounds) - 1

    @cached_property
    def key_values(self) -> Mapping[str, pa.Array]:
        """The values of the keys of each partition."""
        at = as_arrow(self.bounds[:-1])
        return {name: self.values.columns[name].take(at) for name in self.keys}

    @cached_property
    def index(self) -> RowIndex:
        return RowIndex(values=self.values, rows=np.flatnonzero(self.time > self.after))

    def beginnings(self, plan: RulePlan, new: NewRows) -> np.ndarray:
        """`int64[k]`: the new rows, in ascending order, on which a match of the rule can begin."""
        if plan.openings is None:
            return np.flatnonzero(new.is_new)
        begins = list(map(self._opened, plan.openings))
        rows = begins[0] if len(begins) == 1 else np.unique(np.concatenate([self.index.rows[:0], *begins]))
        return rows[new.is_new[rows]]

    def _opened(self, opening: Opening) -> np.ndarray:
        """The indexed rows on which the condition is true."""
        rows = self.index.candidates(opening)
        if rows is None:
            rows = self.index.rows
        return rows[self.values.truth_at(opening.condition, rows)]

    def concern(self, plan: RulePlan, fallible: AbstractSet[Scalar]) -> bool:
        """False if the rows cannot change anything for a rule whose search has not begun in their keys: no match can
        begin, and none of its expressions fails. `fallible`: the expressions of all rules that may fail.

        An expression that is evaluated for one rule also counts where it fails for each other rule that has it.
        """
        return (
            plan.openings is None
            or not all(map(self.index.is_out, plan.openings))
            or any(map(self.values.has_failed, plan.fallible))
            or not plan.fallible_parts.isdisjoint(fallible)
        )

    def table(self, plan: RulePlan, rows: np.ndarray) -> pa.Table:
        """The columns that workers read, for `rows: int64[k]`."""
        return self.joint_table([(plan, rows)], self.partition[rows], rows)

    def joint_table(self, plans: Sequence[tuple[RulePlan, np.ndarray]], code: np.ndarray, rows: np.ndarray) -> pa.Table:
        """The columns that workers read for plans of one shape, each over rows of its own; `rows`: all of these, with
        the numbers `code` of their keys."""
        trees = plans[0][0].trees
        arrays = {CODE: as_arrow(code)}
        arrays |= {name: self.values.array(tree, rows) for name, tree in trees.items()}
        failed = {name: self.values.vector(tree).failed for name, tree in trees.items() if self.values.has_failed(tree)}
        arrays |= {NOT_COMPUTED + name: as_arrow(mask[rows]) for name, mask in failed.items() if mask is not None}
        for name, masks in plans[0][0].masks.items():
            each = (
                [self.values.truth_at(plan.masks[name][bit], own) for plan, own in plans] for bit in range(len(masks))
            )
            arrays[name] = as_arrow(_bits(list(map(np.concatenate, each)), len(rows)))
        return pa.table(arrays)

    def failures(self, plan: RulePlan) -> Iterator[tuple[DataError, np.ndarray]]:
        """For each expression of the rule that was evaluated and failed: an error, and the rows on which it failed as
        `bool[n]`."""
        for tree in plan.fallible:
            if not self.values.has_failed(tree):
                continue
            error, failed = self.values.failure(tree), self.values.vector(tree).failed
            if error is not None and failed is not None:
                yield error, failed


def _bits(truths: Sequence[np.ndarray], rows: int) -> np.ndarray:
    """A column of bits, of the narrowest type that holds them."""
    kind = next(t for t in (np.uint8, np.uint16, np.uint32, np.uint64) if len(truths) <= 8 * np.dtype(t).itemsize)
    bits: np.ndarray = np.zeros(rows, kind)
    for bit, truth in enumerate(truths):
        ones: np.ndarray = truth.astype(kind)
        bits = bits | (ones << kind(bit))
    return bits.view(f"i{bits.itemsize}")
