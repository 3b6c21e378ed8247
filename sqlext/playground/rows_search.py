"""The rows of a statement in their order, the truth of each condition on each row, and the search for matches."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from sqlext.engine.why.computed_columns import ComputedColumns
from sqlext.engine.why.why_clause import numbered, ranks_of, sort_keys
from sqlext.operators.match.plan import MatchOperatorPlan
from sqlext.operators.match.read_rows import read_rows
from sqlext.operators.rows.arrow import as_arrow
from sqlext.operators.rows.columns import PARTITION_START, SortKey
from sqlext.pattern.batch import reference
from sqlext.pattern.batch.recorder import Recorder
from sqlext.pattern.cep import path_search
from sqlext.pattern.cep.cep_task import CepTask, as_mask
from sqlext.pattern.conditions.conditions import Path, Satisfies, satisfier, verdict
from sqlext.pattern.task.task import Condition, MatchTask, Rows, Spans, Task
from sqlext.pattern.why.local_conditions import is_local, unlabelled
from sqlext.playground.budget import WorkBudget
from sqlext.playground.statement import Statement
from sqlext.rewriter.lowering.lower_conjuncts import Conjunct, all_of

FALSE, TRUE, NULL = 0, 1, 2  # values of a condition
_MOST_KEPT = 64  # truths of conditions


class KnownTruth(OrderedDict[tuple, np.ndarray]):
    """The truth of conditions over one table that a row and its neighbours decide, kept from one keystroke to the next.

    The key is (partitions and order, variable, text); the least recently used ones are forgotten.
    """

    def put(self, key: tuple, truth: np.ndarray) -> None:
        self[key] = truth
        while len(self) > _MOST_KEPT:
            self.popitem(last=False)


class BudgetedRecorder(Recorder):
    """A recorder that ends the search when the budget is spent."""

    budget: WorkBudget

    def _step(self, depth: int) -> None:
        super()._step(depth)
        self.budget.spend()


@dataclass(kw_only=True)
class RowsSearch:
    """The search of a statement. `known`: see KnownTruth.

    Rows are numbered by their places in partitions and order: row `order[i]` of the table is row i of the search.
    """

    statement: Statement
    budget: WorkBudget
    known: KnownTruth = field(default_factory=KnownTruth)

    def __post_init__(self) -> None:
        self.plan, table = self.statement.plan, self.statement.table
        self.computed = ComputedColumns(self.statement.binder, table.columns, table.rows)
        self.sort = sort_keys(self.plan)

    @cached_property
    def codes(self) -> np.ndarray:
        """`int64[n]`: the number of the partition of each row of the table."""
        ascending = SortKey("", is_descending=False, nulls_last=False)
        keys = [(str(key), ascending) for key in self.plan.partition_by]
        return numbered(ranks_of(self.computed, keys), self.statement.table.rows)

    @cached_property
    def order(self) -> np.ndarray:
        """`int64[n]`: the rows of the table, by partition and order."""
        return np.lexsort([*ranks_of(self.computed, self.sort)[::-1], self.codes])

    @cached_property
    def rows(self) -> Rows:
        """The rows with the columns that conditions read, and a mask without bits."""
        at = as_arrow(self.order)
        columns = {column.name: self.computed[str(column.computed)].take(at) for column in self.plan.columns}
        columns[PARTITION_START] = as_arrow(np.diff(self.codes[self.order], prepend=-1) != 0)
        self.read = columns
        plan = MatchOperatorPlan(task=self.plan.task, operands=self.plan.operands, bounds=self.plan.bounds)
        return read_rows(columns, plan)

    @cached_property
    def partition(self) -> np.ndarray:
        """`int64[n]`: the number of the partition of each row of the search."""
        return np.searchsorted(self.rows.bounds, np.arange(len(self.order)), side="right") - 1

    @cached_property
    def truths(self) -> list[np.ndarray]:
        """`int8[n]` for each label: FALSE, TRUE or NULL on each row, by the conjuncts that the row and its neighbours
        decide."""
        return [
            _all([self._truth(c, label, i) for c in conjuncts if is_local(c.condition, i)], len(self.order))
            for i, (label, conjuncts) in enumerate(zip(self.plan.task.program.labels, self.plan.conjuncts))
        ]

    def depends(self, label: int) -> bool:
        """Whether the condition of a label depends on the rows of the match."""
        return any(not is_local(c.condition, label) for c in self.plan.conjuncts[label])

    def conjuncts(self, label: int) -> list[tuple[str, np.ndarray | None]]:
        """The text of each conjunct of a label, and its truth on each row, None where it depends on the match."""
        name = self.plan.task.program.labels[label]
        return [
            (c.text, self._truth(c, name, label) if is_local(c.condition, label) else None)
            for c in self.plan.conjuncts[label]
        ]

    def _truth(self, conjunct: Conjunct, name: str, label: int) -> np.ndarray:
        key = (self._order_name, name, conjunct.text)
        if key in self.known:
            self.known.move_to_end(key)
            return self.known[key]
        free, bounds, rows = unlabelled(conjunct.condition), self.rows.bounds.tolist(), self.rows
        truth = np.empty(len(self.order), np.int8)
        for row, partition in enumerate(self.partition.tolist()):
            self.budget.spend()
            path = Path(
                rows=rows,
                names=(name,),
                partition=(bounds[partition], bounds[partition + 1]),
                start=row,
                labels=(0,),
                number=1,
            )
            holds = verdict(free, path)
            truth[row] = NULL if holds is None else TRUE if holds else FALSE
        self.known.put(key, truth)
        return truth

    @cached_property
    def _order_name(self) -> str:
        keys = [str(key) for key in self.plan.partition_by]
        return f"{keys} {[(str(text), way) for text, way in self.plan.order_by]}"

    @cached_property
    def task(self) -> Task:
        """The task whose bits are the truths and whose conditions are those that depend on the match."""
        rest = [
            all_of(tuple(c for c in conjuncts if not is_local(c.condition, i)))
            for i, conjuncts in enumerate(self.plan.conjuncts)
        ]
        return replace(self.plan.task, bits=tuple(range(len(rest))), conditions=tuple(rest))

    @cached_property
    def masked(self) -> Rows:
        mask = as_mask([truth == TRUE for truth in self.truths], len(self.order))
        return replace(self.rows, mask=mask)

    def run(self, recorder: BudgetedRecorder) -> list[Spans]:
        """The matches. Raises DataError: PLAYGROUND_BUDGET, and what conditions raise."""
        recorder.budget = self.budget
        if isinstance(self.task, CepTask):
            return list(path_search.find(self.task, self.masked, recorder))
        assert isinstance(self.task, MatchTask)
        return list(reference.find(self.task, self.masked, self._satisfies(self.task), recorder=recorder))

    def _satisfies(self, task: MatchTask) -> Satisfies:
        """As `satisfier`, with NULL where the row decides NULL."""
        truths = [truth.tolist() for truth in self.truths]
        conditions: Sequence[Condition | None] = task.conditions
        dependent = satisfier(replace(task, bits=(None,) * len(truths)), self.masked)

        def satisfies(start: int, number: int, labels: list[int], label: int) -> bool | None:
            known = truths[label][start + len(labels)]
            if known == FALSE or conditions[label] is None:
                return None if known == NULL else known == TRUE
            holds = dependent(start, number, labels, label)
            return None if holds and known == NULL else holds

        return satisfies


def _all(columns: Sequence[np.ndarray], n: int) -> np.ndarray:
    """The conjunction of truths with NULL; TRUE on all `n` rows if there are none."""
    is_false, is_null = np.zeros((2, n), np.bool_)
    for column in columns:
        is_false |= column == FALSE
        is_null |= column == NULL
    return np.where(is_false, FALSE, np.where(is_null, NULL, TRUE)).astype(np.int8)
