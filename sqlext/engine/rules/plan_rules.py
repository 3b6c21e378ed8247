"""MATCH_RULES in a statement: bound to the columns of its events, and planned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from sqlext.catalog import pattern_rules
from sqlext.engine.planning.planner import NOT_PORTABLE, Planned, Section
from sqlext.engine.queries.python_functions import python_functions
from sqlext.engine.queries.queries import WATERMARK, Queries
from sqlext.engine.queries.session_settings import count, settings_of_rules
from sqlext.engine.rules.run_rules import PlannedRules
from sqlext.engine.shipped.data_types import lengths_of_chars
from sqlext.errors import BindError, Place, SqlExtError, UnsupportedError, placed_at, raise_all
from sqlext.expressions.spark_types import TIMESTAMPS, has_plain_equality, is_orderable, is_year_month
from sqlext.expressions.values import arrow_type
from sqlext.operators.rows.columns import SortKey
from sqlext.operators.rules.limits import MAX_LENGTH, MAX_VERSIONS
from sqlext.operators.rules.plan import RulesPlan
from sqlext.rewriter.rules.plan_rule import plan_rule
from sqlext.rewriter.rules.rules_clause import KeyColumn, RulesClause
from sqlext.rewriter.text.names import quoted
from sqlext.rewriter.text.splice import Edit, Source, Text, join
from sqlext.spark.versions import arrow_schema

MAX_VERSIONS_SETTING, MAX_LENGTH_SETTING = "sqlext.rules.max_versions", "sqlext.rules.max_length"


@dataclass(frozen=True, kw_only=True)
class RulesPlanner:
    """Plans the MATCH_RULES of one statement."""

    spark: SparkSession
    queries: Queries
    is_portable: bool = False

    def plan(self, clause: RulesClause, source: Source, prefix: Text) -> Planned:
        if self.is_portable:
            raise UnsupportedError(
                "PORTABLE_RULES",
                "sqlext_match does not know MATCH_RULES",
                place=clause.keyword.place,
                hint=NOT_PORTABLE,
            )
        relation = source.of(clause.relation)
        rows = self.queries.run(join(prefix, "SELECT * FROM ", relation))
        raise_all(list(_key_errors(clause, rows)))
        place = Place(clause.keyword.source, clause.rules.start, clause.rules.stop)
        with placed_at(place):  # errors about the table of rules
            pattern_rules.check_exists(self.spark, self.queries.sql, clause.rules.parts)
        fields = [field for field in rows.schema.fields if can_be_read(field.dataType.simpleString())]
        names = {field.name.lower(): field.name for field in fields}
        keys = tuple(names[key.name.lower()] for key in clause.partition_by)
        order = tuple(names[key.name.lower()] for key in clause.order_by)
        plan = RulesPlan(
            schema=arrow_schema(T.StructType(fields)),
            columns=tuple((field.name, field.dataType.simpleString()) for field in fields),
            keys=keys,
            order=order,
            sort=(*map(SortKey, order[1:]), *_other_columns(fields, {*keys, *order})),
            settings=settings_of_rules(self.spark),
            max_versions=count(self.spark, MAX_VERSIONS_SETTING, MAX_VERSIONS),
            max_length=count(self.spark, MAX_LENGTH_SETTING, MAX_LENGTH),
            functions=python_functions(self.spark),
            chars=lengths_of_chars(T.StructType(fields)),
            compile=plan_rule,
        )
        events = rows.select(*(quoted(field.name) for field in fields))
        preview = PlannedRules(clause=clause, plan=plan, rows=events, relation=relation, has_effect=False)
        with placed_at(place):
            name = self.queries.name(preview.frame(self.queries, self.spark))
        edit = Edit(clause.whole.start, clause.whole.stop, name)
        planned = replace(preview, has_effect=rows.isStreaming)
        return Planned(edits=[edit], relations={name: planned}, sections=[_section(planned)], needs_workers=True)


def _section(planned: PlannedRules) -> Section:
    """The section of EXPLAIN MATCH."""
    plan = planned.plan
    how = (
        "a stream: the rules table is a second stream, which reaches every bucket of keys"
        if planned.rows.isStreaming
        else "a table: each version of a rule acts on its own time, as the log of streams has it"
    )
    lines = [
        f"rules {'.'.join(planned.table)}",
        f"keys {', '.join(plan.keys) or 'none: one task has all rows'}; order {', '.join(plan.order)}",
        f"input {planned.clause.relation.text}, {how}",
    ]
    return Section(kind="Rules", text=lambda: "\n".join(lines))


def can_be_read(spark_type: str) -> bool:
    """Return True if workers can read a column of this type. Rules cannot see other columns."""
    try:
        arrow_type(spark_type)
    except UnsupportedError:
        return False
    return not is_year_month(spark_type)


def _other_columns(fields: list[T.StructField], sorted_by: set[str]) -> Iterator[SortKey]:
    """The order of rows with equal keys: by the remaining columns, from left to right."""
    for field in fields:
        if field.name not in sorted_by and is_orderable(field.dataType.simpleString()):
            yield SortKey(field.name)


def _key_errors(clause: RulesClause, rows: DataFrame) -> Iterator[SqlExtError]:
    types = {field.name.lower(): field for field in rows.schema.fields}
    for key in (*clause.partition_by, *clause.order_by):
        if key.name.lower() not in types:
            yield _unknown(key, rows)
            return
    for key in clause.partition_by:
        kind = types[key.name.lower()].dataType.simpleString()
        if not has_plain_equality(kind):
            yield UnsupportedError(
                "KEY_TYPE",
                f"MATCH_RULES cannot be partitioned by {kind}",
                place=key.fragment.place,
                hint="CAST it AS STRING in a subquery.",
            )
    time = clause.order_by[0]
    kind = types[time.name.lower()].dataType.simpleString()
    if kind not in TIMESTAMPS:
        yield BindError(
            "RULES_TIME",
            f"the first ORDER BY key of MATCH_RULES is the time of the events, not {kind}",
            place=time.fragment.place,
            hint="order by a timestamp.",
        )
    elif rows.isStreaming and WATERMARK not in types[time.name.lower()].metadata:
        yield BindError(
            "STREAM_ORDER",
            "the first ORDER BY key of a stream must be its watermark column",
            place=time.fragment.place,
            hint="write FROM STREAM t WATERMARK ts DELAY OF INTERVAL 10 SECONDS MATCH_RULES (… ORDER BY ts …).",
        )


def _unknown(key: KeyColumn, rows: DataFrame) -> BindError:
    return BindError(
        "UNKNOWN_COLUMN",
        f"the input has no column {key.fragment.text}",
        place=key.fragment.place,
        hint=f"its columns are {', '.join(rows.columns)}.",
    )
