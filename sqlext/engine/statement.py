"""Runs a statement of the extended language: parse, bind and plan it (`plan_statement`), then run the plan."""

from __future__ import annotations

import re
import uuid
from dataclasses import replace

from pyspark.sql import DataFrame

from sqlext.catalog import views
from sqlext.engine.plan_statement import plan_portable, plan_statement
from sqlext.engine.portable import table_function
from sqlext.engine.queries import HELPER
from sqlext.engine.sql_call import SqlCall
from sqlext.engine.stream import streaming_tables
from sqlext.engine.warn import warn
from sqlext.errors import UnsupportedError
from sqlext.rewriter.heads import CREATE_VIEW, Head, parse_create_view, parse_head, parse_target
from sqlext.rewriter.text.splice import Edit, Source, sub


def run(call: SqlCall) -> DataFrame:
    """The result of a statement with clauses of ours or names of stored views."""
    head = parse_head(call.text)
    if head is not None and head.verb == CREATE_VIEW:
        return _create_view(call, head)
    plan = plan_statement(call)
    warn(plan.warnings)
    plan.build()
    target = parse_target(call.text)
    if target is None:
        return plan.execute()
    text = plan.source.slice(target.query_start, target.query_stop)
    query = plan.queries.run(text)
    if query.isStreaming:
        is_repeatable = not (call.args or call.frames)
        return streaming_tables.start(call.spark, target, query, plan.streams, text, is_repeatable)
    if target.is_insert:
        return plan.execute()
    raise UnsupportedError(
        "NOT_A_STREAM", "the query of a streaming table reads no stream", place=target.place,
        hint="write FROM STREAM t, or CREATE TABLE … AS for the rows that are there now.",
    )  # fmt: skip


def _create_view(call: SqlCall, head: Head) -> DataFrame:
    """CREATE VIEW over extended text: a temporary view reads DataFrames of this session, others are stored as text."""
    if head.is_temporary:
        return _create_temporary_view(call)
    view = parse_create_view(call.text)
    if view is None:
        return call.sql(call.text, call.args, **call.frames)
    if call.args or call.frames:
        raise UnsupportedError("VIEW_PARAMETERS", "a stored view cannot hold parameters", place=head.place)
    query = plan_statement(replace(call, text=view.query))
    warn(query.warnings)
    query.execute()  # raises the errors of the query; nothing is read
    return views.create(call.spark, call.sql, view)


def _create_temporary_view(call: SqlCall) -> DataFrame:
    """The view outlives the statement, so the DataFrames that it reads become views too, under names of their own."""
    plan = plan_statement(call)
    warn(plan.warnings)
    plan.build()
    source = plan.source
    for name in dict.fromkeys(HELPER.findall(str(plan.text))):
        view = f"__sqlext_{uuid.uuid4().hex}"
        plan.queries.helpers[name].createOrReplaceTempView(view)
        source = _renamed(source, name, view)
    return call.sql(str(source.slice(0, len(call.text))), **call.frames)


def _renamed(source: Source, helper: str, view: str) -> Source:
    """The statement with a view in the place of a DataFrame."""
    name = re.compile(rf"\b{helper}\b")
    return Source(source.text, tuple(Edit(e.start, e.stop, sub(name, view, e.replacement)) for e in source.edits))


def compile_statement(call: SqlCall) -> str:
    """The statement in plain Spark SQL, with calls of `sqlext_match` in the place of its clauses.

    Raises SqlExtError as running it would.
    """
    table_function.register(call.spark)  # an outer clause is bound to the columns of the calls inside it
    plan = plan_portable(call)
    warn(plan.warnings)
    return str(plan.text)
