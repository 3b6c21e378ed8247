"""What an ASOF JOIN of streams keeps for a key, for DESCRIBE STREAMING TABLE … FOR KEY."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial, reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from sqlext.engine.joins.run_asof import StreamAsof
from sqlext.engine.queries.queries import Queries
from sqlext.engine.reports.row_json import row_texts
from sqlext.engine.streams.kept_clause import ClauseInput, KeptClause
from sqlext.operators.stateful.fact import Fact, ShowTime
from sqlext.operators.stateful.key_state import Coming
from sqlext.operators.stateful.operator import State
from sqlext.rewriter.text.names import column_name, unquoted


def kept_asof(planned: StreamAsof, queries: Queries, spark: SparkSession) -> KeptClause:
    """The join of a plan."""
    from sqlext.operators.asof.state_facts import asof_facts  # loads the matchers, which other statements need not

    operator = planned.operator(queries)
    plan, asof = operator.plan, planned.asof
    assert asof.carried is not None
    lefts, rights = (
        partial(row_texts, spark, {column: unquoted(name) for column, name in zip(columns, names)})
        for columns, names in ((plan.left, asof.carried.columns), (plan.right, asof.right_columns))
    )

    def facts(state: State, show: ShowTime) -> Iterator[Fact]:
        return asof_facts(operator, state, lefts, rights, show)

    def results(coming: Sequence[Coming]) -> Sequence[str | None]:
        rows = pa.Table.from_batches([row.rows.slice(row.row, 1) for row in coming])
        partners = (column.is_valid() for column in rows.select(list(plan.right)).columns)
        return [
            f"{left} with {right}" if has_partner else f"{left} without a partner"
            for left, right, has_partner in zip(lefts(rows), rights(rows), reduce(pc.or_, partners).to_pylist())
        ]

    (clause,) = planned.stream_clauses
    keys = {name: column_name(str(key.left)) for name, key in zip(plan.keys, asof.conditions.keys)}
    sides = ([str(key.left) for key in asof.conditions.keys], [str(key.right) for key in asof.conditions.keys])
    inputs = [ClauseInput(types, side) for types, side in zip(planned.types, sides)]
    return KeptClause(
        kind="ASOF JOIN",
        clause=clause,
        operator=operator,
        keys=keys,
        inputs=inputs,
        facts=facts,
        results=results,
    )
