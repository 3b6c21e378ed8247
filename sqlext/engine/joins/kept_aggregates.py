"""What an INTERVAL JOIN … AGGREGATE of streams keeps for a key, for DESCRIBE STREAMING TABLE … FOR KEY."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pyarrow as pa
from pyspark.sql import SparkSession

from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.planning.answers import ClauseInput, KeptClause
from sqlext.engine.planning.stream_clause import StreamClause
from sqlext.engine.reports.row_json import row_texts
from sqlext.operators.interval.operator import AggregatesOperator
from sqlext.operators.interval.state_facts import aggregates_facts
from sqlext.operators.stateful.fact import Fact, ShowTime
from sqlext.operators.stateful.key_state import Coming
from sqlext.operators.stateful.operator import State
from sqlext.rewriter.joins.asof_sql import Key
from sqlext.rewriter.joins.join_conditions import LEFT, RIGHT
from sqlext.rewriter.text.names import column_name


def kept_aggregates(
    sides: JoinSides,
    operator: AggregatesOperator,
    clause: StreamClause,
    keys: Sequence[Key],
    shown: tuple[Mapping[str, str], Mapping[str, str], Mapping[str, str]],
    spark: SparkSession,
) -> KeptClause:
    """The join that an operator runs. `shown`: the names of the columns of kept left rows, of kept right rows and of
    result rows, by their names there."""
    lefts, rights, results = (partial(row_texts, spark, names) for names in shown)

    def facts(state: State, show: ShowTime) -> Sequence[Fact]:
        return list(aggregates_facts(operator, state, lefts, rights, show))

    def result_texts(coming: Sequence[Coming]) -> Sequence[str | None]:
        return results(pa.Table.from_batches([row.rows.slice(row.row, 1) for row in coming]))

    written = {LEFT: [str(key.left) for key in keys], RIGHT: [str(key.right) for key in keys]}
    fields = {side: sides.whole(side).schema.fields for side in (LEFT, RIGHT)}
    return KeptClause(
        kind="INTERVAL JOIN",
        clause=clause,
        operator=operator,
        keys={name: column_name(text) for name, text in zip(operator.plan.keys, written[LEFT])},
        inputs=[ClauseInput([(f.name, f.dataType.simpleString()) for f in fields[s]], written[s]) for s in fields],
        facts=facts,
        results=result_texts,
    )
