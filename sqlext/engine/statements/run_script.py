"""Runs EXECUTE IMMEDIATE, and a script, BEGIN … END, one statement after the other, so that each is bound when it runs.

Spark parses a script as a whole and analyses each statement when it is reached. Our clauses become DataFrames before
Spark sees the text, so a script that creates the tables that its clauses read cannot be passed to Spark as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from sqlext.catalog import views
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.statements.runners import RUNNERS, run, run_plain
from sqlext.errors import places_in
from sqlext.rewriter.heads.statement import OtherStatement, Script
from sqlext.rewriter.statements.execute_immediate import ExecuteImmediate, parse_execute_immediate
from sqlext.rewriter.statements.parameters import bind, markers
from sqlext.rewriter.statements.parse_statement import parse_statement
from sqlext.rewriter.statements.read_statement import is_ours
from sqlext.rewriter.statements.script import ScriptStatement, read_script
from sqlext.rewriter.text.splice import Source
from sqlext.rewriter.text.tokens import tokenize
from sqlext.spark.quiet_probes import quiet_probes


def run_script(call: SqlCall, script: Script) -> DataFrame:
    """The result of a script. Spark runs it as it is if it contains no extended statement.

    Raises SqlExtError with places in the script.
    """
    has_ours = is_ours(call.text) or bool(views.mentioned(call.spark, call.sql, call.text))
    if has_ours or "EXECUTE" in call.text.upper():
        result = _run_each(call)
        if result is not None:
            return result
    return RUNNERS[OtherStatement].run(call, script) if has_ours else run_plain(call, script)


def _run_each(call: SqlCall) -> DataFrame | None:
    """The result of the last query of a script; None if Spark must run the script as a whole.

    The syntax of all clauses is checked before the first statement runs. As in Spark, a query is run even if another
    query follows, and a script that fails has carried out the statements before the failure.
    """
    statements = read_script(call.text)
    if not statements:
        return None
    pattern_bodies = tuple(parse_statement(call.text).pattern_bodies)
    result: DataFrame | None = None
    for number, statement in enumerate(statements, 1):
        arguments = _arguments(call, statement, pattern_bodies)
        with places_in(call.text):
            frame = run(replace(call, text=statement.alone, args=arguments))
        if frame.columns and (statement.is_query or statement.is_block):
            is_last = number == len(statements)
            result = frame if is_last else call.spark.createDataFrame(frame.collect(), frame.schema)
    return result or call.spark.createDataFrame([], T.StructType([]))


def _arguments(call: SqlCall, statement: ScriptStatement, pattern_bodies: tuple[tuple[int, int], ...]) -> Any:
    """The arguments of one statement: the arguments for its own `?`, or all arguments by name."""
    if call.args is None or isinstance(call.args, Mapping):
        return call.args
    positions = [m.start for m in markers(tokenize(call.text), pattern_bodies) if m.name is None]
    mine = [arg for at, arg in zip(positions, call.args) if statement.start <= at < statement.stop]
    return mine or None


def run_immediate(call: SqlCall, statement: ExecuteImmediate) -> DataFrame:
    """The result of EXECUTE IMMEDIATE. Errors have their places in the statement that is executed."""
    bound = Source(call.text, bind(call.text, call.args)).slice(0, len(call.text))
    immediate = parse_execute_immediate(str(bound)) or statement
    try:
        with quiet_probes():
            text = call.sql(f"SELECT {immediate.query}").collect()[0][0]
    except PySparkException:
        text = None  # Spark reports the error in the whole statement
    if not isinstance(text, str) or not (is_ours(text) or views.mentioned(call.spark, call.sql, text)):
        return run_plain(call, statement)
    values = call.sql("SELECT " + ", ".join(immediate.values)).collect()[0] if immediate.values else ()
    args = dict(zip(immediate.names, values)) if any(immediate.names) else list(values)
    result = run(replace(call, text=text, args=args or None))
    if not immediate.into:
        return result
    return call.sql(f"SET VARIABLE ({immediate.into}) = (SELECT * FROM {{result}})", result=result)
