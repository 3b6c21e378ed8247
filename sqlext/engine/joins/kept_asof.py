"""What an ASOF JOIN of streams keeps for a key, for DESCRIBE STREAMING TABLE … FOR KEY."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from sqlext.engine.planning.answers import ClauseInput, KeptClause
from sqlext.engine.planning.stream_clause import StreamClause
from sqlext.engine.reports.row_json import row_texts
from sqlext.operators.asof.operator import AsofOperator
from sqlext.operators.asof.state_facts import asof_facts
from sqlext.operators.stateful.fact import Fact, ShowTime
from sqlext.operators.stateful.key_state import Coming
from sqlext.operators.stateful.operator import State
from sqlext.rewriter.joins.asof_sql import AsofJoin
from sqlext.rewriter.text.names import column_name, unquoted


def kept_asof(
    asof: AsofJoin,
    operator: AsofOperator,
    clause: StreamClause,
    types: Sequence[Sequence[tuple[str, str]]],
    spark: SparkSession,
) -> KeptClause:
    """The join that an operator runs. `types`: the names and types of the columns of both relations."""
    plan = operator.plan
    assert asof.carried is not None
    lefts, rights = (
        partial(row_texts, spark, {column: unquoted(name) for column, name in zip(columns, names)})
        for columns, names in ((plan.left, asof.carried.columns), (plan.right, asof.right_columns))
    )

    def facts(state: State, show: ShowTime) -> Sequence[Fact]:
        return list(asof_facts(operator, state, lefts, rights, show))

    def results(coming: Sequence[Coming]) -> Sequence[str | None]:
        rows = pa.Table.from_batches([row.rows.slice(row.row, 1) for row in coming])
        partners = (column.is_valid() for column in rows.select(list(plan.right)).columns)
        return [
            f"{left} with {right}" if has_partner else f"{left} without a partner"
            for left, right, has_partner in zip(lefts(rows), rights(rows), reduce(pc.or_, partners).to_pylist())
        ]

    keys = {name: column_name(str(key.left)) for name, key in zip(plan.keys, asof.conditions.keys)}
    sides = ([str(key.left) for key in asof.conditions.keys], [str(key.right) for key in asof.conditions.keys])
    inputs = [ClauseInput(columns, side) for columns, side in zip(types, sides)]
    return KeptClause(
        kind="ASOF JOIN",
        clause=clause,
        operator=operator,
        keys=keys,
        inputs=inputs,
        facts=facts,
        results=results,
    )
