"""Runs a statement of the extended language: parse, bind and plan it (`plan_statement`), then run or explain the
plan."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from sqlext.catalog import views
from sqlext.engine.match import table_function
from sqlext.engine.queries.queries import names_views
from sqlext.engine.queries.session_settings import settings_of
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.statements.plan_statement import OF_A_VIEW, plan_portable, plan_statement
from sqlext.engine.statements.statement_plan import StatementPlan
from sqlext.engine.streams import streaming_tables
from sqlext.engine.streams.streaming_tables import with_end_required
from sqlext.engine.streams.target_table import renamed
from sqlext.engine.streams.upsert import plan_upsert
from sqlext.engine.streams.watermarks import check_watermarks
from sqlext.engine.views import cached_views
from sqlext.engine.views.refreshed_views import note_view
from sqlext.engine.views.temporary_objects import check_permanent
from sqlext.errors import SetupError, UnsupportedError, places_after, places_in
from sqlext.rewriter.heads.heads import CreateView, Head, parse_view
from sqlext.rewriter.heads.statement import OtherStatement, Statement
from sqlext.rewriter.heads.stream_target import InsertInto, StreamTarget, target_of
from sqlext.rewriter.heads.view_statements import CachedQuery
from sqlext.rewriter.rules.rule_statements import RuleStatement
from sqlext.rewriter.statements.explain_statement import ExplainStatement
from sqlext.rewriter.statements.read_statement import read_statement
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import quote
from sqlext.spark import executors
from sqlext.spark.kind import is_connect
from sqlext.spark.user_warnings import warn


def run_query(call: SqlCall, _: Statement | None = None) -> DataFrame:
    """The result of a statement of Spark's that contains extended clauses or names of stored views."""
    return run_plan(call, plan_to_run(call))


def run_plan(call: SqlCall, plan: StatementPlan) -> DataFrame:
    """The result of a statement that has been planned by `plan_to_run`."""
    warn(plan.warnings)
    plan.build()
    return with_end_required(_analysed(call, _checked(plan, plan.execute())))


def write_stream(call: SqlCall, statement: StreamTarget | InsertInto) -> DataFrame:
    """CREATE STREAMING TABLE, or INSERT INTO, which starts a stream if its query is one."""
    target = target_of(statement)
    if target is None:
        return run_query(call)
    call = replace(
        call,
        is_first_run=cache(partial(streaming_tables.is_first_run, call.spark, target)),
        query_identifier=cache(partial(streaming_tables.identifier_of, call.spark, target)),
    )
    plan = plan_to_run(call)
    warn(plan.warnings)
    _check_target(plan, target)
    plan.build()
    text = plan.source.of(target.query)
    query = _checked(plan, plan.queries.run(text))
    if query.isStreaming:
        assert call.query_identifier is not None
        return streaming_tables.start(
            call.spark,
            target,
            query,
            plan.stream_clauses,
            text,
            sources=plan.all_sources,
            identifier=call.query_identifier(),
            is_repeatable=not (call.args or call.frames),
        )
    if target.is_insert:
        topic = streaming_tables.topic_of(call.spark, target)
        return plan.execute() if topic is None else topic.write(query)
    raise UnsupportedError(
        "NOT_A_STREAM",
        "the query of a streaming table reads no stream",
        place=target.place,
        hint="write FROM STREAM t, or CREATE TABLE … AS for the rows that are there now.",
    )


def _checked(plan: StatementPlan, frame: DataFrame) -> DataFrame:
    """The result of a statement. Raises UnsupportedError if it is a stream whose watermarks do not fit together."""
    check_watermarks(plan.queries, plan.call.spark, frame, plan.call.text)
    return frame


def _analysed(call: SqlCall, frame: DataFrame) -> DataFrame:
    """The result with an analysed plan below it.

    A text with keyword DataFrames names temporary views that Spark has dropped when the call returns. Actions such as
    `writeTo` analyse the plan of the text once more, but not the plan below it. Connect sends the DataFrames each time.
    """
    return frame.select("*") if names_views(frame) and not is_connect(call.spark) else frame


def plan_to_run(call: SqlCall, *, why_windows: str = "") -> StatementPlan:
    """The plan of a statement whose code the workers can run. `why_windows`: as for `plan_statement`.

    Raises SetupError if they cannot run it, and Spark alone cannot either.
    """
    call = replace(call, is_run=True)
    plan = plan_statement(call, why_windows=why_windows)
    libraries = executors.STREAM_LIBRARIES if plan.stream_clauses else executors.LIBRARIES
    if plan.stream_clauses:
        executors.check_driver_python(call.spark)
    if not plan.needs_workers:
        return plan
    try:
        is_sent = executors.prepare(call.spark, libraries)
    except SetupError:
        by_spark = plan_statement(call, why_windows="the workers cannot run sqlext")
        if by_spark.needs_workers:
            raise
        return by_spark
    # functions refer to the files that have been sent when they are created
    return plan_statement(call, why_windows=why_windows) if is_sent else plan


def _check_target(plan: StatementPlan, target: StreamTarget) -> None:
    """Raise the errors of a streaming table before anything is created, also beside the table."""
    if target.is_insert and not plan.stream_clauses:
        return
    streaming_tables.check(plan.call.spark, target, plan.stream_clauses)
    if target.upsert_key or target.definition.columns:
        query = renamed(plan.queries.run(plan.source.of(target.query)), target)
        if query.isStreaming and target.upsert_key:
            plan_upsert(query, target, plan.stream_clauses)


def run_head(call: SqlCall, head: Head) -> DataFrame:
    """CREATE VIEW over extended text: a temporary view reads DataFrames of this session, any other view is stored as
    text."""
    view = parse_view(head)
    if view is None:
        return run_query(call)
    if head.is_temporary:
        return _create_temporary_view(call, head, view)
    if call.args or call.frames:
        raise UnsupportedError("VIEW_PARAMETERS", "a stored view cannot hold parameters", place=head.place)
    columns = check_stored_query(call, view.query)
    cached_views.uncache(call.spark, head.name.parts)
    return views.create(call.spark, call.sql, view, columns, settings_of(call.spark, view.query.text))


def check_stored_query(call: SqlCall, query: Fragment) -> str:
    """The columns of the query of a stored view, as `views.View` keeps them. Nothing is read.

    Raises the errors of the query, and BindError if it reads an object that only this session has.
    """
    with places_in(call.text):
        plan = plan_statement(replace(call, text=query.in_place, args=None, frames={}), why_windows=OF_A_VIEW)
        warn(plan.warnings)
        columns = plan.execute().schema.json()
        check_permanent(call, query.in_place)
    return columns


def _create_temporary_view(call: SqlCall, head: Head, view: CreateView) -> DataFrame:
    """A temporary view is a DataFrame with a name. Its query is planned once, and is run each time it is read."""
    frame = _frame_of(call, view.query, why_windows=OF_A_VIEW)
    frame = frame.toDF(*view.columns) if view.columns else frame
    name = quote(head.name.parts)
    if head.is_global:
        frame.createOrReplaceGlobalTempView(name) if head.or_replace else frame.createGlobalTempView(name)
    elif not (head.if_exists and views.is_known(call.spark, head.name.parts)):
        frame.createOrReplaceTempView(name) if head.or_replace else frame.createTempView(name)
    if not frame.isStreaming:
        note_view(call, ("global_temp", *head.name.parts[-1:]) if head.is_global else head.name.parts)
    return call.spark.createDataFrame([], T.StructType([]))


def _frame_of(call: SqlCall, query: Fragment, *, why_windows: str = "") -> DataFrame:
    """The DataFrame of the query of a statement."""
    with places_in(call.text):
        plan = plan_to_run(replace(call, text=query.in_place), why_windows=why_windows)
        warn(plan.warnings)
        plan.build()
        return _checked(plan, plan.execute())


def cache_query(call: SqlCall, cached: CachedQuery) -> DataFrame:
    """CACHE TABLE name AS query: creates a temporary view, whose rows Spark keeps."""
    frame = _frame_of(call, cached.query)
    frame.createTempView(quote(cached.name.parts))
    try:
        return call.sql(cached.cache_view)
    except PySparkException:
        call.spark.catalog.dropTempView(cached.name.parts[-1])
        raise


def explain_match(call: SqlCall, statement: ExplainStatement) -> str:
    """The text of EXPLAIN MATCH. Raises the SqlExtError that running the statement would raise."""
    query = statement.query
    with places_after(call.text, query.text, query.start):
        return explain_statement(replace(call, text=query.text))


def explain_statement(call: SqlCall) -> str:
    """The text of EXPLAIN MATCH about a statement. Raises the SqlExtError that running it would raise."""
    statement = read_statement(call.text)
    if isinstance(statement, RuleStatement):
        return "A statement about pattern rules: DESCRIBE PATTERN RULE shows the program of a rule."
    plan = plan_statement(call)
    warn(plan.warnings)
    if plan.stream_clauses or "WATERMARK" in call.text.upper():
        target = target_of(statement)
        if target is not None:
            _checked(plan, plan.queries.run(plan.source.of(target.query)))
        elif isinstance(statement, OtherStatement) and statement.is_query:
            _checked(plan, plan.queries.run(plan.text))
    return plan.explanation


def compile_statement(call: SqlCall) -> str:
    """The statement in plain Spark SQL, with calls of `sqlext_match` in place of its clauses.

    Raises the SqlExtError that running it would raise.
    """
    table_function.register(call.spark)  # an outer clause is bound to the columns of the calls inside it
    plan = plan_portable(call)
    warn(plan.warnings)
    return str(plan.text)
