"""Runs a script, BEGIN … END, one statement after the other, so that each is bound when it runs.

Spark parses a script as a whole and analyses each statement when it is reached. Our clauses become DataFrames before
Spark sees the text, so a script that creates the tables that its clauses read cannot be passed to Spark as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from sqlext.engine.queries.sql_call import SqlCall
from sqlext.errors import places_in
from sqlext.rewriter.statements.parameters import markers
from sqlext.rewriter.statements.parse_statement import parse_statement
from sqlext.rewriter.statements.script import ScriptStatement, read_script
from sqlext.rewriter.text.tokens import tokenize

RunStatement = Callable[[SqlCall], DataFrame]


def run_script(call: SqlCall, run_statement: RunStatement) -> DataFrame | None:
    """The result of the last query of a script; None if Spark must run the script as a whole.

    The syntax of all clauses is checked before the first statement runs. As in Spark, a query is run even if another
    query follows, and a script that fails has carried out the statements before the failure.

    Raises SqlExtError with places in the script.
    """
    statements = read_script(call.text)
    if not statements:
        return None
    pattern_bodies = tuple(parse_statement(call.text).pattern_bodies)
    result: DataFrame | None = None
    for number, statement in enumerate(statements, 1):
        arguments = _arguments(call, statement, pattern_bodies)
        with places_in(call.text):
            frame = run_statement(replace(call, text=statement.alone, args=arguments))
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
