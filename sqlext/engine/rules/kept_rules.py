"""What MATCH_RULES on a stream keeps for a key, for DESCRIBE STREAMING TABLE … FOR KEY."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

from pyspark.sql import SparkSession

from sqlext.engine.match.failed_in_state import failed_of
from sqlext.engine.planning.answers import ClauseInput, KeptClause
from sqlext.engine.planning.stream_clause import StreamClause
from sqlext.engine.queries.queries import Queries
from sqlext.engine.reports.row_json import row_texts
from sqlext.engine.streams.kept_rows import as_json, coming_rows
from sqlext.engine.why.why_clause import WhyClause
from sqlext.errors import SqlExtError
from sqlext.operators.match.state_facts import Failed, by_text
from sqlext.operators.rules.operator import RulesOperator
from sqlext.operators.rules.plan import RulesPlan
from sqlext.operators.rules.state_facts import rules_facts
from sqlext.operators.stateful.fact import Fact, ShowTime
from sqlext.operators.stateful.key_state import Coming
from sqlext.operators.stateful.operator import State
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.rules.compile_rule import RuleEvents, compile_rule
from sqlext.rewriter.rules.rule_text import EVENTS, read_rule, rule_over
from sqlext.rewriter.text.names import quoted
from sqlext.rewriter.text.splice import join
from sqlext.spark.versions import spark_schema


def kept_rules(plan: RulesPlan, clause: StreamClause, queries: Queries, spark: SparkSession) -> KeptClause:
    """The MATCH_RULES of a plan on a stream."""
    operator, failed = RulesOperator(plan=plan), failed_in_rules(plan)

    @cache
    def parsed(clause: str) -> MatchClause:
        return read_rule(clause)

    def facts(state: State, show: ShowTime) -> Sequence[Fact]:
        # columns that no rule reads are not kept, and are NULL
        names = {name: name for name in plan.schema.names}
        texts = partial(row_texts, spark, names, has_nulls=False)
        return list(rules_facts(operator, state, lambda clause: parsed(clause).pattern, failed, texts, show))

    def results(coming: Sequence[Coming]) -> Sequence[str | None]:
        rows = queries.name(coming_rows(spark, coming, (), spark_schema(plan.result_schema)))
        return as_json(queries, join("SELECT * FROM ", rows), len(coming))

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


def failed_in_rules(rules: RulesPlan) -> Callable[[str], Failed]:
    """For the clause of a rule, a sentence for each conjunct that does not hold after a path."""
    events = RuleEvents.of(rules)

    @cache
    def of_clause(clause: str) -> Failed:
        text = rule_over(EVENTS, clause, rules.keys, rules.order)
        try:
            plan = WhyClause(text=text, index=0, relation=events.relation(text)).plan()
            return failed_of(plan, compile_rule(clause, events).plan, dict(rules.columns), rules.settings)
        except SqlExtError:
            return by_text(read_rule(clause).conditions)

    return of_clause
