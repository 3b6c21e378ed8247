"""Which conjuncts keep a partial match on a stream from going on, with the values that the state of the stream keeps.

The state keeps the columns that conditions over several rows and measures read. Of a condition that the row alone
decides it keeps whether it holds, so of such a conjunct only the text is known, unless its columns are kept as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from sqlext.engine.match.forms import PhysicalPlan
from sqlext.engine.match.why_rows import input_of, place_in_text
from sqlext.engine.queries.queries import Queries
from sqlext.engine.why.computed_columns import ComputedColumns
from sqlext.engine.why.failed_conjuncts import failed_texts
from sqlext.engine.why.why_clause import WhyClause
from sqlext.errors import SqlExtError
from sqlext.expressions.function import ExecutionSettings
from sqlext.operators.match.open_matches import KeptKey
from sqlext.operators.match.plan import MatchOperatorPlan, OperandColumn
from sqlext.operators.match.read_rows import read_rows
from sqlext.operators.match.state_facts import Failed, by_text
from sqlext.operators.rows.arrow import as_arrow
from sqlext.operators.rows.columns import PARTITION_START
from sqlext.pattern.batch.recorder import Mapped, Stop
from sqlext.pattern.conditions.condition_reads import columns_of
from sqlext.pattern.conditions.conditions import Path
from sqlext.rewriter.lowering.lower_conjuncts import Conjunct, SearchPlan
from sqlext.rewriter.lowering.match_plan import MatchPlan
from sqlext.rewriter.lowering.operator_plan import column_of
from sqlext.rewriter.scalars.static_binder import StaticBinder


def failed_in_state(physical: PhysicalPlan, queries: Queries, spark: SparkSession) -> Failed:
    """A sentence for each conjunct of a clause on a stream that does not hold after a path."""
    text, index = place_in_text(physical)
    relation = input_of(physical, queries, spark)
    try:
        plan = WhyClause(text=text, index=index, relation=relation).plan()
    except SqlExtError:  # a clause that only Spark can compute
        return by_text(physical.plan.clause.conditions)
    return failed_of(plan, physical.plan, dict(relation.columns), relation.settings)


def failed_of(plan: SearchPlan, stored: MatchPlan, types: Mapping[str, str], settings: ExecutionSettings) -> Failed:
    """The same, without Spark. `stored`: the plan whose columns the state has; `types`: of the columns of the input."""
    names = {column_of(column.text): column.name for column in stored.columns}
    kept = {column: name for column, name in names.items() if column in types}
    binder = StaticBinder(columns={column: types[column] for column in kept}, settings=settings)
    return _FailedInState(plan=plan, columns=kept, binder=binder, settings=settings)


@dataclass(frozen=True, kw_only=True)
class _FailedInState:
    """`columns`: the columns of the state with the values of columns of the input; `binder` binds expressions over
    them."""

    plan: SearchPlan
    columns: Mapping[str, str]
    binder: StaticBinder
    settings: ExecutionSettings

    def __call__(self, kept: KeptKey, path: Mapped, stop: Stop) -> Iterator[str]:
        if stop.label is None:  # an anchor
            return iter(())
        known = self._known(kept)
        conjuncts = self.plan.conjuncts[stop.label]
        computed = [c for c in conjuncts if self._reads(c) <= known.keys()]
        found = list(failed_texts(computed, self._tested(kept, known, path, stop), self.settings))
        others = " AND ".join(c.text for c in conjuncts if c not in computed)
        return iter(found or [f"{others or 'its condition'} is not true"])

    def _reads(self, conjunct: Conjunct) -> set[str]:
        """The operands that a conjunct reads, and those that are shown with it."""
        parts = [conjunct.condition, *(operand.value for operand in conjunct.operands)]
        return {self.plan.operands[i].name for part in parts for i in columns_of(part)}

    def _known(self, kept: KeptKey) -> dict[str, pa.Array]:
        """The values of the operands that can be computed from the columns of the state."""
        columns = {name: kept.table.column(stored).combine_chunks() for name, stored in self.columns.items()}
        texts = {column.name: str(column.text) for column in self.plan.columns}
        computed = ComputedColumns(self.binder, columns, kept.table.num_rows)
        known = {operand.name: computed.get(texts[operand.name]) for operand in self.plan.operands}
        return {name: values for name, values in known.items() if values is not None}

    def _tested(self, kept: KeptKey, known: Mapping[str, pa.Array], path: Mapped, stop: Stop) -> Path:
        assert stop.label is not None
        n = kept.table.num_rows
        nothing = pa.nulls(n, pa.int32())  # in place of values that are not known, which no conjunct reads
        operands = [o if o.name in known else OperandColumn(o.name, "int", "int") for o in self.plan.operands]
        columns = {operand.name: known.get(operand.name, nothing) for operand in operands}
        columns[PARTITION_START] = as_arrow(np.arange(n) == 0)
        worker = MatchOperatorPlan(task=self.plan.task, operands=tuple(operands))
        taken = (*(row for row, _ in path), stop.row)
        return Path(
            rows=replace(read_rows(columns, worker), errors={}),
            names=kept.labels,
            partition=(0, n),
            start=taken[0],
            labels=(*(label for _, label in path), stop.label),
            number=kept.number,
            taken=taken,
        )
