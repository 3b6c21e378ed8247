"""Which statements are ours and which are Spark's: what the hooked `spark.sql` does with a text."""

from __future__ import annotations

import re
from dataclasses import replace

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from sqlext.catalog import views, warehouse
from sqlext.engine.sql_call import SqlCall
from sqlext.quiet import quiet_probes
from sqlext.rewriter.heads import parse_target
from sqlext.rewriter.scan import explained, is_extended
from sqlext.rewriter.stream_heads import FIRST_WORDS, StreamCommand, parse_command

_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*(\w+)", re.DOTALL)


def dispatch(call: SqlCall) -> DataFrame:
    """The result of a statement in an extended session."""
    if "sqlext_match" in call.text.lower():
        _register_table_function(call)
    if _first_word(call.text) == "BEGIN":
        return _run_script(call)
    return _run(call) if is_extended(call.text) else _run_plain(call)


def _run_script(call: SqlCall) -> DataFrame:
    """The result of BEGIN … END. Spark runs it as it is if there is nothing of ours in it."""
    if not is_extended(call.text) and not views.mentioned(call.spark, call.sql, call.text):
        return _run_plain(call)
    from sqlext.engine.run_script import run_script  # plain SQL does not wait for the planner

    result = run_script(call, dispatch)
    return _run(call) if result is None else result


def _register_table_function(call: SqlCall) -> None:
    from sqlext.engine.portable.table_function import register  # plain SQL does not wait for it

    register(call.spark)


def _run(call: SqlCall) -> DataFrame:
    from sqlext.engine import explanation, statement  # plain SQL does not wait for the planner

    query = explained(call.text)
    if query is None:
        return statement.run(call)
    text = explanation.explain_statement(replace(call, text=query.text))
    return call.spark.createDataFrame([(text,)], "plan STRING")


def _run_plain(call: SqlCall) -> DataFrame:
    """Spark's own result, except for a text that fails only because it names a stored extended view.

    Asking Spark first costs plain statements nothing, and lets a table of that name win. Both kinds of session analyze
    names in this very call.
    """
    try:
        with quiet_probes() as records:
            word = _first_word(call.text)
            if word in FIRST_WORDS and (command := parse_command(call.text)) is not None:
                return _command(call, command)
            return _create_or_drop(call) if word in ("CREATE", "DROP") else call.by_spark()
    except AnalysisException as error:
        # A script may have carried out half of its statements: it is not run again.
        if _first_word(call.text) == "BEGIN" or _missing_view(call, error) is None:
            records.release()
            raise
    return _run(call)


def _command(call: SqlCall, command: StreamCommand) -> DataFrame:
    from sqlext.engine.stream.stream_commands import run_command  # plain SQL does not wait for the planner

    return run_command(call.spark, command)


def _first_word(text: str) -> str:
    """The first word behind blanks and comments, in upper case; "" if there is none."""
    match = _FIRST_WORD.match(text)
    return match[1].upper() if match else ""


def _missing_view(call: SqlCall, error: AnalysisException) -> views.View | None:
    """The stored view that Spark did not find."""
    if error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
        return None
    name = (error.getMessageParameters() or {}).get("relationName")
    return views.lookup(call.spark, call.sql, name) if name else None


def _create_or_drop(call: SqlCall) -> DataFrame:
    """CREATE and DROP of tables and plain views, where stored views and registered tables must follow."""
    target = parse_target(call.text)
    if target is not None and not target.is_insert:
        return _run(call)
    result = views.run_plain(call.spark, call.sql, call.text)
    if result is not None:
        return result
    return warehouse.run_drop(call.spark, call.sql, call.text, call.args, call.frames)
