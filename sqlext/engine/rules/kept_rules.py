"""What MATCH_RULES on a stream keeps for a key, for DESCRIBE STREAMING TABLE … FOR KEY."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from sqlext.engine.queries.queries import Queries
from sqlext.engine.reports.row_json import row_texts
from sqlext.engine.rules.run_rules import PlannedRules
from sqlext.engine.streams.kept_clause import ClauseInput, KeptClause, as_json, coming_rows
from sqlext.operators.rules.operator import RulesOperator
from sqlext.operators.stateful.fact import Fact, ShowTime
from sqlext.operators.stateful.key_state import Coming
from sqlext.operators.stateful.operator import State
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.rules.rule_text import read_rule
from sqlext.rewriter.text.names import quoted
from sqlext.rewriter.text.splice import join
from sqlext.spark.versions import spark_schema

if TYPE_CHECKING:
    from sqlext.operators.match.state_facts import Failed


def kept_rules(
    planned: PlannedRules, queries: Queries, spark: SparkSession, failed_of: Callable[[str], Failed]
) -> KeptClause:
    """The MATCH_RULES of a plan on a stream. `failed_of`: what is said of conjuncts of a clause that do not hold."""
    from sqlext.operators.rules.state_facts import rules_facts  # loads Numba, which other statements need not

    plan = planned.plan
    operator = RulesOperator(plan=plan)

    @cache
    def parsed(clause: str) -> MatchClause:
        return read_rule(clause)

    def facts(state: State, show: ShowTime) -> Iterable[Fact]:
        # columns that no rule reads are not kept, and are NULL
        names = {name: name for name in plan.schema.names}
        texts = partial(row_texts, spark, names, has_nulls=False)
        return rules_facts(operator, state, lambda clause: parsed(clause).pattern, failed_of, texts, show)

    def results(coming: Sequence[Coming]) -> Sequence[str | None]:
        rows = queries.name(coming_rows(spark, coming, (), spark_schema(plan.result_schema)))
        return as_json(queries, join("SELECT * FROM ", rows), len(coming))

    (clause,) = planned.stream_clauses
    keys = {name: name for name in plan.keys}
    inputs = [ClauseInput(plan.columns, list(map(quoted, plan.keys)))]
    return KeptClause(
        kind="MATCH_RULES",
        clause=clause,
        operator=operator,
        keys=keys,
        inputs=inputs,
        facts=facts,
        results=results,
    )
