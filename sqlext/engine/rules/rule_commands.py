"""Runs CREATE, ALTER and DROP PATTERN RULE; SHOW and DESCRIBE are run by `shown_rules`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import get_close_matches

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from sqlext.catalog import pattern_rules, views
from sqlext.catalog.pattern_rules import RulesTable, RuleVersion
from sqlext.engine.queries.queries import Queries
from sqlext.engine.queries.spark_errors import user_error
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.rules.check_rule import check_rule, parse_rule
from sqlext.engine.rules.shown_rules import describe, show
from sqlext.engine.views.temporary_objects import is_temporary_view
from sqlext.errors import BindError, UnsupportedError, placed_at
from sqlext.rewriter.rules.rule_statements import (
    COMMENT,
    CREATE,
    DESCRIBE,
    DISABLE,
    DROP,
    EFFECTIVE,
    ENABLE,
    RENAME,
    ROLLBACK,
    SHOW,
    RuleStatement,
)
from sqlext.rewriter.statements.parameters import bind
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import Parts, quote
from sqlext.rewriter.text.splice import Source, join
from sqlext.spark.quiet_probes import quiet_probes
from sqlext.spark.user_warnings import warn

NextVersion = Callable[[Sequence[RuleVersion]], RuleVersion | None]


def run_rule_statement(call: SqlCall, statement: RuleStatement) -> DataFrame:
    """The result of a statement about pattern rules. Raises SqlExtError with a place in the statement."""
    if call.frames:
        raise UnsupportedError(
            "RULE_PARAMETERS",
            "a statement about pattern rules cannot read DataFrames",
            place=statement.place,
            hint="name tables and views.",
        )
    with placed_at(statement.table_place):
        return _run(call, statement)


def _run(call: SqlCall, statement: RuleStatement) -> DataFrame:
    table = pattern_rules.rules_table(call.spark, call.sql, statement.table.parts)
    if statement.verb == CREATE:
        _create(call, statement, table)
    elif table is None and not statement.if_exists:
        raise pattern_rules.no_rules_table(statement.table.parts)
    elif table is None:
        pass  # DROP IF EXISTS
    elif statement.verb == SHOW:
        return show(call, table, statement.pattern)
    elif statement.verb == DESCRIBE:
        return describe(call, table, _versions(call, statement))
    elif statement.verb == COMMENT:
        _comment(call, statement, table)
    else:
        if statement.verb == RENAME:
            _copy_to_new_name(call, statement, table)
        pattern_rules.change(call.spark, call.sql, table.name, statement.rule, _NEXT[statement.verb](call, statement))
    return call.spark.createDataFrame([], T.StructType([]))


def rules_of(call: SqlCall, statement: RuleStatement) -> RulesTable:
    """The table of rules that CREATE PATTERN RULE names, or the table that it would create. Raises BindError."""
    with placed_at(statement.table_place):
        return _target(call, statement, pattern_rules.rules_table(call.spark, call.sql, statement.table.parts))


# CREATE


def _create(call: SqlCall, statement: RuleStatement, table: RulesTable | None) -> None:
    definition = statement.definition
    assert definition is not None
    rule = parse_rule(call, definition)
    target = _target(call, statement, table)
    check_rule(call, definition, rule, target)
    effective_from, comment = _options(call, definition.effective_from, definition.comment, rule.source)
    clause = str(rule.source.of(definition.clause))
    version = RuleVersion(
        name=statement.rule, version=None, clause=clause, effective_from=effective_from, comment=comment
    )
    if table is None and pattern_rules.create_table(call.spark, call.sql, target).events != target.events:
        raise _other_events(statement, pattern_rules.rules_table(call.spark, call.sql, target.name) or target)

    def next_version(rows: Sequence[RuleVersion]) -> RuleVersion | None:
        if not rows or rows[-1].is_dropped or definition.or_replace:
            return version
        if definition.if_not_exists:
            if (rows[-1].clause or "").split() != clause.split():
                warn([_other_rule(statement.rule)])
            return None
        raise BindError(
            "RULE_EXISTS",
            f"there is already a rule {statement.rule}",
            place=statement.place,
            hint="CREATE OR REPLACE PATTERN RULE gives it another version.",
        )

    pattern_rules.change(call.spark, call.sql, target.name, statement.rule, next_version)


def _other_rule(rule: str) -> str:
    """The warning that IF NOT EXISTS has left a rule with another clause as it was."""
    return (
        f"there is a rule {rule} with another clause already, so CREATE PATTERN RULE IF NOT EXISTS did nothing: CREATE "
        "OR REPLACE PATTERN RULE gives it another version."
    )


def _target(call: SqlCall, statement: RuleStatement, table: RulesTable | None) -> RulesTable:
    """The table of rules: the existing one, or the one to create."""
    events = statement.definition.events if statement.definition else None
    if table is not None:
        if events is not None and table.events.lower() != _qualified(call, events.parts).lower():
            raise _other_events(statement, table)
        return table
    if events is None:
        raise BindError(
            "NO_RULES_TABLE",
            f"there is no table {'.'.join(statement.table.parts)} of pattern rules yet",
            hint="name the table of the events as well: ON rules FOR TABLE events.",
        )
    schema = _events_schema(call, Fragment(statement.text, events.start, events.stop), events.parts)
    return RulesTable(statement.table.parts, _qualified(call, events.parts), json.dumps(schema.jsonValue()))


def _other_events(statement: RuleStatement, table: RulesTable) -> BindError:
    assert statement.definition is not None
    name = statement.definition.events or statement.table
    return BindError(
        "OTHER_EVENTS",
        f"the rules of {'.'.join(table.name)} are about {table.events}",
        place=Fragment(statement.text, name.start, name.stop).place,
        hint="leave FOR TABLE out, or put the rule into another table.",
    )


def _qualified(call: SqlCall, name: Parts) -> str:
    """The name of a table with its schema, in backticks; a temporary view has no schema."""
    if len(name) == 1 and not is_temporary_view(call.spark, name):
        return quote((call.spark.catalog.currentDatabase(), *name))
    return quote(name)


def _events_schema(call: SqlCall, written: Fragment, name: Parts) -> T.StructType:
    """The columns of the table or view of events. Raises BindError if there is none."""
    if not views.is_known(call.spark, name) and views.lookup(call.spark, call.sql, name) is not None:
        return call.spark.table(quote(name)).schema
    queries = Queries(call.sql, {}, call.text)
    return queries.run(join("SELECT * FROM ", Source(call.text).of(written))).schema


def _options(
    call: SqlCall, effective_from: Fragment | None, comment: Fragment | None, source: Source
) -> tuple[int | None, str | None]:
    """The values of EFFECTIVE FROM, in microseconds since 1970, and of COMMENT."""
    written = (effective_from, comment)
    if written == (None, None):
        return None, None
    time, words = (source.of(f) if f else "NULL" for f in written)
    text = join("SELECT unix_micros(CAST((", time, ") AS TIMESTAMP_LTZ)), CAST(", words, " AS STRING)")
    queries = Queries(call.sql, {}, call.text)
    frame = queries.run(text)
    try:
        with quiet_probes():
            values = frame.collect()[0]
    except PySparkException as error:
        raise user_error(error, text, call.text) from None
    if effective_from is not None and values[0] is None:
        raise BindError(
            "EFFECTIVE_FROM",
            "EFFECTIVE FROM is NULL",
            place=effective_from.place,
            hint="leave it out: the rule then acts at once.",
        )
    return values[0], values[1]


# ALTER and DROP


def _versions(call: SqlCall, statement: RuleStatement) -> list[RuleVersion]:
    """The versions of the rule that a statement names. Raises BindError if there is none."""
    rows = pattern_rules.versions(call.sql, statement.table.parts, statement.rule)
    if not rows:
        raise _unknown(call, statement)
    return rows


def _unknown(call: SqlCall, statement: RuleStatement) -> BindError:
    rules = pattern_rules.current(pattern_rules.versions(call.sql, statement.table.parts)).values()
    names = [rule.name or "" for rule in rules if not rule.is_dropped]
    close = get_close_matches(statement.rule, names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"SHOW PATTERN RULES ON {'.'.join(statement.table.parts)}."
    return BindError("UNKNOWN_RULE", f"there is no rule {statement.rule}", place=statement.place, hint=hint)


def _switched(call: SqlCall, statement: RuleStatement) -> NextVersion:
    """The next version for ENABLE or DISABLE, which has the same clause. A rule that is enabled acts again from the
    time from which it acted before."""

    def next_version(rows: Sequence[RuleVersion]) -> RuleVersion | None:
        last, is_enabled = _last(call, statement, rows), statement.verb == ENABLE
        if last.enabled is is_enabled:
            return None
        times = [row.effective_from for row in rows if row.enabled and not row.is_dropped]
        effective_from = times[-1] if is_enabled and times else None
        return replace(last, enabled=is_enabled, effective_from=effective_from)

    return next_version


def _last(call: SqlCall, statement: RuleStatement, rows: Sequence[RuleVersion]) -> RuleVersion:
    """The last version of the rule. Raises BindError if there is none, or if it is dropped."""
    if not rows or rows[-1].is_dropped:
        raise _unknown(call, statement)
    return rows[-1]


def _copy_to_new_name(call: SqlCall, statement: RuleStatement, table: RulesTable) -> None:
    """The first step of RENAME. The rule acts under both names for a moment, and never under none."""
    assert statement.new_name is not None
    name, new_name = statement.rule, statement.new_name.parts[0]
    place = Fragment(statement.text, statement.new_name.start, statement.new_name.stop).place
    last = _last(call, statement, pattern_rules.versions(call.sql, table.name, name))

    def next_version(rows: Sequence[RuleVersion]) -> RuleVersion | None:
        if rows and not rows[-1].is_dropped:
            raise BindError(
                "RULE_EXISTS", f"there is already a rule {new_name}", place=place, hint="take another name."
            )
        return last

    pattern_rules.change(call.spark, call.sql, table.name, new_name, next_version)


def _comment(call: SqlCall, statement: RuleStatement, table: RulesTable) -> None:
    """COMMENT adds no version, so that the partial matches of the rule go on."""
    _, comment = _options(call, None, statement.comment, Source(call.text, bind(call.text, call.args)))

    def same_version(rows: Sequence[RuleVersion]) -> RuleVersion | None:
        return replace(_last(call, statement, rows), comment=comment)

    pattern_rules.change(call.spark, call.sql, table.name, statement.rule, same_version, is_new=False)


def _rescheduled(call: SqlCall, statement: RuleStatement) -> NextVersion:
    time, _ = _options(call, statement.effective_from, None, Source(call.text, bind(call.text, call.args)))
    return lambda rows: replace(_last(call, statement, rows), effective_from=time)


def _rolled_back(call: SqlCall, statement: RuleStatement) -> NextVersion:
    """The next version for ROLLBACK: a copy of an earlier one, which acts at once."""

    def next_version(rows: Sequence[RuleVersion]) -> RuleVersion | None:
        old = next((row for row in reversed(rows) if row.version == statement.version), None)
        if not rows:
            raise _unknown(call, statement)
        if old is None or old.is_dropped:
            numbers = dict.fromkeys(str(row.version) for row in rows if not row.is_dropped)
            raise BindError(
                "UNKNOWN_VERSION",
                f"{statement.rule} has no version {statement.version} with a text",
                place=statement.version_place,
                hint=f"its versions are {', '.join(numbers)}.",
            )
        return replace(old, enabled=True, effective_from=None)

    return next_version


def _dropped(call: SqlCall, statement: RuleStatement) -> NextVersion:
    def next_version(rows: Sequence[RuleVersion]) -> RuleVersion | None:
        if rows and not rows[-1].is_dropped:
            return RuleVersion(name=rows[-1].name, version=None, clause=None, enabled=False)
        if statement.if_exists:
            return None
        raise _unknown(call, statement)

    return next_version


_NEXT = {
    ENABLE: _switched, DISABLE: _switched, DROP: _dropped, RENAME: _dropped, EFFECTIVE: _rescheduled,
    ROLLBACK: _rolled_back,
}  # fmt: skip
