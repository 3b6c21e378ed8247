"""MATCH_RULES as the stateful operator of a stream: the state has a third table, the rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from sqlext.operators.rows.arrow import one_chunk, strings
from sqlext.operators.rows.columns import LATE_ROW
from sqlext.operators.rules.plan import CompiledRules, RulesPlan
from sqlext.operators.rules.row_texts import row_texts
from sqlext.operators.rules.state import ARRIVING_VERSIONS, RULES, table_schemas
from sqlext.operators.stateful.operator import ROWS, Clock, State, Step, TimesBy


@dataclass(frozen=True, kw_only=True)
class RulesOperator:
    """Each bucket holds its own copy of the rules, so each decides alone.

    `shows_late_rows`: the late rows of a step have the column LATE_ROW.
    """

    plan: RulesPlan
    shows_late_rows: bool = False
    times_by: TimesBy = TimesBy.EVENTS

    @property
    def inputs(self) -> Mapping[str, pa.Schema]:
        return {ROWS: self.plan.schema, RULES: ARRIVING_VERSIONS}

    @property
    def tables(self) -> Mapping[str, pa.Schema]:
        return table_schemas(self.plan)

    @property
    def time(self) -> str:
        return self.plan.time

    def advance(self, state: State, arrived: Mapping[str, pa.Table], clock: Clock) -> Step:
        from sqlext.operators.rules.step import advance  # loads Numba, which the driver does not need

        step = advance(state, arrived, clock.watermark, self.plan, _compiled(self.plan))
        if not self.shows_late_rows:
            return step
        late = {name: one_chunk(column) for name, column in zip(step.late.column_names, step.late.columns)}
        texts = strings(row_texts(late, self.plan.columns))
        return replace(step, late=step.late.append_column(LATE_ROW, texts))


def _compiled(plan: RulesPlan) -> CompiledRules:
    """The compiled rules of a plan. They are cached, because an operator lives for one micro-batch, but a worker lives
    longer."""
    named = (*plan.functions.items(), *plan.chars.items())
    inputs = plan.columns, plan.keys, plan.order, plan.settings, plan.max_length, named
    if inputs not in _COMPILED and len(_COMPILED) >= _MOST_PLANS:
        _COMPILED.clear()
    return _COMPILED.setdefault(inputs, CompiledRules(plan))


_MOST_PLANS = 16  # more than a worker has at a time
_COMPILED: dict[tuple, CompiledRules] = {}
