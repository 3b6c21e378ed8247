"""What an ASOF JOIN of streams keeps for a key, for DESCRIBE STREAMING TABLE … FOR KEY."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from sqlext.engine.joins.run_asof import StreamAsof
from sqlext.engine.queries.queries import Queries
from sqlext.engine.streams.kept_clause import ClauseInput, KeptClause
from sqlext.operators.stateful.fact import Fact, ShowTime, row_text
from sqlext.operators.stateful.key_state import Coming
from sqlext.operators.stateful.operator import State
from sqlext.rewriter.text.names import column_name, unquoted


def kept_asof(planned: StreamAsof, queries: Queries) -> KeptClause:
    """The join of a plan."""
    from sqlext.operators.asof.state_facts import asof_facts  # loads the matchers, which other statements need not

    operator = planned.operator(queries)
    plan, asof = operator.plan, planned.asof
    assert asof.carried is not None
    halves = [
        {column: unquoted(name) for column, name in zip(columns, names)}
        for columns, names in ((plan.left, asof.carried.columns), (plan.right, asof.right_columns))
    ]

    def facts(state: State, show: ShowTime) -> Iterator[Fact]:
        return asof_facts(operator, state, halves[0] | halves[1], show)

    def results(coming: Sequence[Coming]) -> Sequence[str | None]:
        return [_shown(row, *halves) for row in coming]

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


def _shown(row: Coming, lefts: Mapping[str, str], rights: Mapping[str, str]) -> str:
    """A left row and its partner."""
    table = pa.Table.from_batches([row.rows])
    left = row_text(table, row.row, lefts)
    has_partner = any(table.column(column)[row.row].is_valid for column in rights)
    return f"{left} with {row_text(table, row.row, rights)}" if has_partner else f"{left} without a partner"
