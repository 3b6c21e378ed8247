"""Runs a statement: reads it once, and calls what RUNNERS has for its type.

Modules are loaded when they run something, so that plain SQL does not wait for the planner.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sqlext.catalog import streams, views, warehouse
from sqlext.engine.queries.quoted_names import names_in_backticks
from sqlext.engine.queries.spark_errors import about_call, about_other_system
from sqlext.engine.queries.sql_call import SqlCall, note_declaration
from sqlext.engine.views import cached_views
from sqlext.engine.views.refreshed_views import note_plain_view, refresh_views
from sqlext.errors import UnsupportedError
from sqlext.rewriter.heads.heads import CREATE_VIEW, DROP_TABLE, DROP_VIEW, RENAME_TABLE, Head
from sqlext.rewriter.heads.materialized_views import CreateMaterializedView, MaterializedViewCommand
from sqlext.rewriter.heads.source_table import SourceTable
from sqlext.rewriter.heads.statement import OtherStatement, Script, Statement
from sqlext.rewriter.heads.stream_heads import DescribeKey, StreamCommand
from sqlext.rewriter.heads.stream_target import InsertInto, StreamTarget
from sqlext.rewriter.heads.view_statements import ALTER_AS, UNCACHE, CachedQuery, Listing, ViewStatement
from sqlext.rewriter.rules.rule_statements import RuleStatement
from sqlext.rewriter.statements.execute_immediate import ExecuteImmediate, identifiers
from sqlext.rewriter.statements.explain_statement import AnalyzeStatement, ExplainStatement, WhyStatement
from sqlext.rewriter.statements.read_statement import read_statement
from sqlext.rewriter.statements.scan import is_extended
from sqlext.rewriter.text.names import Parts, quote, split_name, tokens_of
from sqlext.rewriter.text.tokens import GAP
from sqlext.rewriter.tree.sources import relations
from sqlext.spark.java_errors import Py4JError
from sqlext.spark.quiet_probes import quiet_probes

_EXPLAIN = re.compile(rf"{GAP}*EXPLAIN\b", re.IGNORECASE | re.DOTALL)
Run = Callable[[SqlCall, Any], DataFrame]


@dataclass(frozen=True)
class Runner:
    """`ours`: the module and the function `(call, statement)` that runs a statement.

    `plain`: the function that runs it if it has no part of ours and names no stored view, None if `ours` always runs.
    `is_text`: `ours` returns a text, which becomes a result.
    """

    ours: str
    plain: Run | None = None
    is_text: bool = False

    def run(self, call: SqlCall, statement: Statement) -> DataFrame:
        module, name = self.ours.split(":")
        result = getattr(import_module(f"sqlext.engine.{module}"), name)(call, statement)
        return as_result(call, result) if self.is_text else result


def _by_spark(call: SqlCall, statement: Any) -> DataFrame:
    """The result of Spark's own method. Files that a dropped table has left are removed if they are in its way."""
    if isinstance(statement, Script):  # it may have carried out half of its statements
        return call.by_spark()
    return warehouse.run(call.spark, call.by_spark)


def _create_or_drop(call: SqlCall, head: Head) -> DataFrame:
    """The result of what creates, drops or renames something of Spark's. Stored views, the files of registered tables
    and the streams that write into them follow."""
    if head.verb == DROP_TABLE:
        dropped = views.drop_table(call.spark, call.sql, head.name.parts)
        if dropped is not None:
            title = streams.table_title(call.spark, head.name.parts)
            streams.stop(call.spark, title)
            streams.forget(title)
            return dropped
        return warehouse.run_drop(call.spark, call.sql, call.by_spark, head.name.parts)
    if head.verb == RENAME_TABLE:
        warehouse.stop_renamed(call.spark, head.name.parts)
    if head.verb not in (CREATE_VIEW, DROP_VIEW):
        return call.by_spark()
    result = views.run_plain(call.spark, call.sql, head)
    if result is not None:
        cached_views.uncache(call.spark, head.name.parts)
        return result
    result = call.by_spark()
    if head.verb == CREATE_VIEW and head.is_temporary:
        name = ("global_temp", *head.name.parts[-1:]) if head.is_global else head.name.parts
        note_plain_view(call, name, call.text[head.name.stop :])
    return result


def _about_view(call: SqlCall, about: ViewStatement) -> DataFrame:
    """The result of a statement about a view of Spark's, or of UNCACHE for a stored view."""
    if about.verb == UNCACHE and cached_views.uncache(call.spark, about.name.parts):
        return call.spark.createDataFrame([], T.StructType([]))
    result = call.by_spark()
    if about.verb == ALTER_AS and about.query is not None:
        note_plain_view(call, about.name.parts, about.query.text)
    return result


RUNNERS: Mapping[type[Statement], Runner] = {
    Script: Runner("statements.run_script:run_script"),
    ExecuteImmediate: Runner("statements.run_script:run_immediate"),
    RuleStatement: Runner("rules.rule_commands:run_rule_statement"),
    StreamTarget: Runner("statements.run_statement:write_stream"),
    InsertInto: Runner("statements.run_statement:write_stream", _by_spark),
    SourceTable: Runner("sources.tables:create_table"),
    StreamCommand: Runner("streams.stream_commands:run_command"),
    CreateMaterializedView: Runner("materialized.commands:create_view"),
    MaterializedViewCommand: Runner("materialized.commands:run_command"),
    DescribeKey: Runner("statements.describe_key:describe_key"),
    ExplainStatement: Runner("statements.run_statement:explain_match", is_text=True),
    WhyStatement: Runner("statements.explain_why:explain_why", is_text=True),
    AnalyzeStatement: Runner("statements.analyze_query:analyze_query", is_text=True),
    Head: Runner("statements.run_statement:run_head", _create_or_drop),
    CachedQuery: Runner("statements.run_statement:cache_query", _by_spark),
    ViewStatement: Runner("statements.stored_views:run", _about_view),
    Listing: Runner("statements.stored_views:listed"),
    OtherStatement: Runner("statements.run_statement:run_query", _by_spark),
}


def run(call: SqlCall) -> DataFrame:
    """The result of a statement in an extended session."""
    with names_in_backticks(call) as call:
        note_declaration(call)
        refresh_views(call, call.text)
        if "sqlext_match" in call.text.lower():
            from sqlext.engine.match.table_function import register  # plain SQL need not load it

            register(call.spark)
        call = _with_named_views(call)
        statement = read_statement(call.text)
        runner = RUNNERS[type(statement)]
        if runner.plain is None or is_extended(call.text) or _explains_stored(call, statement):
            return runner.run(call, statement)
        return run_plain(call, statement, runner)


def _explains_stored(call: SqlCall, statement: Statement) -> bool:
    """Return True for an EXPLAIN of a query that reads what we store: Spark explains one with an unknown name by its
    error, and raises none."""
    is_explained = isinstance(statement, OtherStatement) and _EXPLAIN.match(call.text) is not None
    return is_explained and bool(views.mentioned(call.spark, call.sql, call.text))


def run_plain(call: SqlCall, statement: Statement, runner: Runner = RUNNERS[OtherStatement]) -> DataFrame:
    """Spark's own result, except for a text that fails only because it names a stored extended view.

    Calling Spark first costs plain statements nothing, and gives precedence to a table of that name. Both kinds of
    session analyze names during this call.
    """
    try:
        with quiet_probes() as records:
            return (runner.plain or _by_spark)(call, statement)
    except AnalysisException as error:
        # A script may have carried out half of its statements, so it is not run again.
        found = {} if isinstance(statement, Script) else _missing_view(call, error)
        if not found:
            records.release()
            foreign = about_other_system(error, call.text)
            if foreign is not None:
                raise foreign from None
            raise
    except Py4JError:
        about_arguments = about_call(call.text)
        if about_arguments is not None:
            raise about_arguments from None
        raise
    _check_read(call, statement, found)
    return runner.run(replace(call, views=found), statement)


def _check_read(call: SqlCall, statement: Statement, found: Mapping[Parts, views.View]) -> None:
    """Raise UnsupportedError for a statement of Spark's that does not read a table of Kafka but would change it."""
    for name, view in found.items():
        before = [tokens_of(call.text[: r.start]) for r in relations(call.text) if r.parts == name]
        is_read = any([token.word for token in tokens] != ["DELETE", "FROM"] for tokens in before)
        if view.is_table and not is_read and isinstance(statement, (OtherStatement, Head)):
            raise UnsupportedError(
                "KAFKA_TABLE",
                f"{view.name} is a table of Kafka, which this statement cannot change",
                hint="CREATE OR REPLACE TABLE … USING kafka gives it other columns and options, and DROP TABLE removes "
                "it; its records are in the topic.",
            )


def _missing_view(call: SqlCall, error: AnalysisException) -> dict[Parts, views.View]:
    """The stored view that Spark did not find, by its name as written; empty if there is none."""
    name = (error.getMessageParameters() or {}).get("relationName")
    if error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND" or not name:
        return {}
    view = views.lookup(call.spark, call.sql, name)
    return {split_name(name): view} if view is not None else {}


def _with_named_views(call: SqlCall) -> SqlCall:
    """The statement with the names of stored views in place of IDENTIFIER(…), because Spark looks up the names in
    IDENTIFIER(…) itself."""
    text = call.text
    for place, value in reversed(list(identifiers(text, call.args)) if "IDENTIFIER" in text.upper() else []):
        name = split_name(value)
        if not views.is_known(call.spark, name) and views.lookup(call.spark, call.sql, name) is not None:
            text = text[: place.start] + quote(name) + text[place.stop :]
    return replace(call, text=text)


def as_result(call: SqlCall, text: str) -> DataFrame:
    """A text as a result. Spark reads the rows of `createDataFrame` in a job, and literals without one.

    It is no parameter of the SQL, because with the parser of Delta Spark 4.2 drops these, unless a setting is made as
    in `sqlext.session()`.
    """
    return call.sql("VALUES (1) AS result(one)").select(F.lit(text).alias("plan"))
