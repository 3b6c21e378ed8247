"""The matches that a rule would have found: its clause is run as an ordinary query over the last rows of the events."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from sqlext.catalog import pattern_rules
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.rules.check_rule import (
    ParsedRule,
    check_columns,
    check_rule,
    parse_rule,
    places_in_statement,
    time_column,
)
from sqlext.engine.rules.rule_commands import rules_of
from sqlext.engine.statements.run_statement import run_query
from sqlext.rewriter.rules.rule_statements import RuleDefinition, RuleStatement
from sqlext.rewriter.text.names import Parts, quote
from sqlext.rewriter.text.splice import Text, join


@dataclass(frozen=True, kw_only=True)
class Trial:
    """`partition` and `order` are the keys of MATCH_RULES; if `order` is None, the first timestamp column. `rows`: the
    number of rows to read."""

    partition: tuple[Parts, ...]
    order: Parts | None
    rows: int


def try_rule(call: SqlCall, statement: RuleStatement, trial: Trial) -> tuple[str, DataFrame]:
    """The name of the events, and the matches of CREATE PATTERN RULE in their last rows. Nothing is stored.

    Each match has `first_time` and `last_time`, the order key of its first and last row, and its measures. Raises
    SqlExtError as the statement would, with places in the statement.
    """
    definition = statement.definition
    assert definition is not None
    rule = parse_rule(call, definition)
    table = rules_of(call, statement)
    check_rule(call, definition, rule, table)
    trial = replace(trial, order=trial.order or (time_column(table),))
    check_columns(table, (*trial.partition, trial.order or ()))
    query = _query(table, definition, rule, trial)
    with places_in_statement(query, definition):
        return table.events, run_query(replace(call, text=str(query), args=None))


def _query(table: pattern_rules.RulesTable, definition: RuleDefinition, rule: ParsedRule, trial: Trial) -> Text:
    order = quote(trial.order or ())
    keys = f"PARTITION BY {', '.join(map(quote, trial.partition))} " if trial.partition else ""
    rows = f"SELECT * FROM {table.events} ORDER BY {order} DESC NULLS LAST LIMIT {trial.rows}"
    times = f"FIRST({order}) AS first_time, LAST({order}) AS last_time"
    body = definition.body
    head = f"SELECT * FROM ({rows}) AS events MATCH_RECOGNIZE ({keys}ORDER BY {order} "
    if rule.measures_start is None:
        return join(head, f"MEASURES {times} ", rule.source.of(body), ")")
    before, after = (
        rule.source.slice(*ends) for ends in ((body.start, rule.measures_start), (rule.measures_start, body.stop))
    )
    return join(head, before, f"{times}, ", after, ")")
