"""The results of SHOW PATTERN RULES and DESCRIBE PATTERN RULE."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame

from sqlext.catalog import pattern_rules
from sqlext.catalog.pattern_rules import LogEntry, RuleError, RulesTable, RuleVersion, current
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.rules.check_rule import compiled_rule
from sqlext.engine.streams import reports
from sqlext.errors import SqlExtError
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.rewriter.heads.view_statements import fits

ACTIVE, WAITING, FAILED, DISABLED, DROPPED = "active", "waiting", "failed", "disabled", "dropped"
_SHOWN = "name STRING, version BIGINT, enabled BOOLEAN, from_us BIGINT, author STRING, comment STRING, time_us BIGINT"
Property = tuple[str, str | None, int | None]  # name, value, and the microseconds of a time that follows the value


def show(call: SqlCall, table: RulesTable, pattern: str = "*") -> DataFrame:
    """One row for each rule that is not dropped and whose name fits the pattern, ordered by name: its last version, and
    the state of that version."""
    reports.settle(call.spark, call.spark.streams.active)
    errors = pattern_rules.errors(call.spark, call.sql, table.name)
    log = pattern_rules.log(call.spark, call.sql, table.name)
    rules = current(pattern_rules.versions(call.sql, table.name)).values()
    rows = [
        (r.name, r.version, r.enabled, r.effective_from, r.author, r.comment, r.time, state(r, log, errors))
        for r in sorted(rules, key=lambda r: r.name or "")
        if not r.is_dropped and fits(r.name or "", pattern)
    ]
    return call.spark.createDataFrame(rows, f"{_SHOWN}, state STRING").selectExpr(
        "name",
        "version",
        "enabled",
        "timestamp_micros(from_us) AS effective_from",
        "author",
        "comment",
        "timestamp_micros(time_us) AS `time`",
        "state",
    )


def state(version: RuleVersion, log: Sequence[LogEntry], errors: Sequence[RuleError]) -> str:
    """The state of a version: dropped, disabled, failed, active (a stream has taken it up) or waiting for a stream.

    >>> version = RuleVersion(name="r", version=1, clause="MATCH_RECOGNIZE (…)")
    >>> entry = LogEntry(name="r", version=1, taken_up=0, stream="alerts")
    >>> state(version, [], []), state(version, [entry], [])
    ('waiting', 'active')
    """
    key = (version.name, version.version)
    if version.is_dropped:
        return DROPPED
    if not version.enabled:
        return DISABLED
    if key in {(error.name, error.version) for error in errors}:
        return FAILED
    return ACTIVE if key in {(entry.name, entry.version) for entry in log} else WAITING


def describe(call: SqlCall, table: RulesTable, rule: Sequence[RuleVersion]) -> DataFrame:
    """Properties of a rule: its last version, the program of its pattern, all its versions, where they were taken up,
    and their errors."""
    reports.settle(call.spark, call.spark.streams.active)
    rows = list(_description(call, table, rule))
    frame = call.spark.createDataFrame(rows, "property STRING, text STRING, us BIGINT")
    # Spark formats the times, in the time zone of the session.
    return frame.selectExpr(
        "property",
        "CASE WHEN us IS NULL THEN text ELSE concat_ws(' ', text, CAST(timestamp_micros(us) AS STRING)) END AS value",
    )


def _description(call: SqlCall, table: RulesTable, rule: Sequence[RuleVersion]) -> Iterator[Property]:
    last = current(rule).get(rule[-1].name or "", rule[-1])
    names = {version.name for version in rule}
    errors = [e for e in pattern_rules.errors(call.spark, call.sql, table.name) if e.name in names]
    log = [entry for entry in pattern_rules.log(call.spark, call.sql, table.name) if entry.name in names]
    yield "name", last.name, None
    yield "state", state(last, log, errors), None
    yield "events", table.events, None
    yield "version", str(last.version), None
    yield "effective_from", None, last.effective_from
    yield "author", last.author, None
    yield "comment", last.comment, None
    yield "time", None, last.time
    yield "clause", last.clause, None
    yield "program", _program(call, table, last), None
    before = None
    for version in rule:
        if version.version == before:
            yield f"comment {before}", f"{version.comment} by {version.author} at", version.time
            continue
        before = version.version
        what = "dropped" if version.is_dropped else "enabled" if version.enabled else "disabled"
        yield f"version {version.version}", f"{what} by {version.author} at", version.time
        if version.clause not in (None, last.clause):
            yield f"clause {version.version}", version.clause, None
    for entry in log:
        yield f"taken up {entry.version}", f"by {entry.stream} at watermark", entry.taken_up
    for error in errors:
        yield f"error {error.version}", f"{error.error_class}: {error.message}", None


def _program(call: SqlCall, table: RulesTable, version: RuleVersion) -> str | None:
    """The program of the rule's pattern, or the reason why it has none."""
    if version.clause is None:
        return None
    try:
        plan = compiled_rule(call, version.clause, table).plan
    except SqlExtError as error:
        return str(error)
    return str(plan.task.nfa if isinstance(plan.task, CepTask) else plan.task.program)
