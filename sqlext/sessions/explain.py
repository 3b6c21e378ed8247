"""Shows how extended text is run, without running it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlext.engine.queries.sql_call import SqlCall
from sqlext.errors import BindError
from sqlext.sessions.composed_frames import ComposedCall, call_of
from sqlext.sessions.hook import unhooked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# This is light by design: `import sqlext` loads it, in workers too, and must not wait for pyspark or numba.


def explain(
    text: str | DataFrame, args: Any = None, *, spark: SparkSession | None = None, analyze: bool = False, **frames: Any
) -> str:
    """Explain how `spark.sql(text, args, **frames)` would run: its clauses, their programs, strategies and reasons, and
    the SQL for Spark. With `analyze`, run the query and say where its rows are lost, as EXPLAIN MATCH ANALYZE does.

    `text` may also be a DataFrame that `match_recognize`, `asof_join`, `interval_join` or `windows` returned.

    `spark`: the session, by default the active one. Raises the SqlExtError that running the text would raise.

    >>> print(explain("SELECT * FROM ticks MATCH_RECOGNIZE (…)"))   # doctest: +SKIP
    == Clause 1, line 1 ==
    …
    """
    from sqlext.engine.statements.run_statement import explain_statement

    with call_on(spark, text, args, frames) as call:
        return analyzed(call) if analyze else explain_statement(call)


def why(
    query: str | DataFrame,
    condition: str,
    args: Any = None,
    *,
    rule: str | None = None,
    spark: SparkSession | None = None,
    **frames: Any,
) -> str:
    """Explain why the rows of the input that a condition chooses are, or are not, in a match of a query.

    `query`: a text, or a DataFrame as in `explain`; `rule`: the pattern rule to explain, if the query reads
    MATCH_RULES; `spark`: the session, by default the active one. Raises the SqlExtError that running the query would
    raise, and UnsupportedError for what WHY does not explain.

    >>> print(why("SELECT * FROM ticks MATCH_RECOGNIZE (…)", "symbol = 'ACME' AND ts = 4"))   # doctest: +SKIP
    Row 4 of 9 of its partition, symbol = 'ACME', ts = 4
    It is in no match. Closest: row 1 is A, rows 2 to 3 are DOWN; a match then needs 1 more row.
    …
    """
    from sqlext.engine.statements.explain_why import explain_why
    from sqlext.rewriter.statements.explain_statement import WhyStatement
    from sqlext.rewriter.statements.read_statement import read_statement
    from sqlext.rewriter.text.composed import Argument, Composed
    from sqlext.rewriter.text.names import quoted

    composed = call_of(query)
    if composed is not None:
        question = (*composed.composed.parts, "\nFOR ROW ", Argument.sql("condition", condition))
        asked: str | ComposedCall = composed.asking(Composed(("EXPLAIN MATCH WHY ", *question)))
    else:
        for_rule = "" if rule is None else f"FOR RULE {quoted(str(rule))} "
        # on a line of their own: the query may end with a comment
        asked = f"EXPLAIN MATCH WHY {check_text(query).strip().rstrip(';')}\n{for_rule}FOR ROW {condition}"
    with call_on(spark, asked, args, frames) as call:
        statement = read_statement(call.text)
        assert isinstance(statement, WhyStatement)
        return explain_why(call, statement)


def compile(text: str, args: Any = None, *, spark: SparkSession | None = None) -> str:
    """Write the text in plain Spark SQL, with a call of the table function `sqlext_match` for every clause.

    `spark`: the session, by default the active one; it must have the tables. The result runs in every session that
    `sqlext.extend` or `sqlext.engine.match.table_function.register` was called for.

    Raises the SqlExtError that running the text would raise.
    """
    from sqlext.engine.statements.run_statement import compile_statement

    with call_on(spark, text, args, {}) as call:
        return compile_statement(call)


def analyzed(call: SqlCall, *, is_json: bool = False) -> str:
    """The report of EXPLAIN MATCH ANALYZE about a query."""
    from sqlext.engine.statements.analyze_query import analyze_query
    from sqlext.rewriter.statements.explain_statement import AnalyzeStatement
    from sqlext.rewriter.text.fragments import Fragment

    query = Fragment(call.text, 0, len(call.text.rstrip().rstrip(";")))
    return analyze_query(call, AnalyzeStatement(query=query, is_json=is_json))


@contextmanager
def call_on(spark: SparkSession | None, query: object, args: Any, frames: dict[str, Any]) -> Iterator[SqlCall]:
    """`spark.sql(query, args, **frames)` on a session, by default the active one, with names in backticks; or the call
    that made a DataFrame."""
    from sqlext.engine.queries.quoted_names import names_in_backticks

    composed = call_of(query)
    if composed is not None:
        with composed.composed.places(), names_in_backticks(composed.call) as call:
            yield call
        return
    text, session = check_text(query), spark or active_session()
    with names_in_backticks(SqlCall(spark=session, sql=unhooked(session), text=text, args=args, frames=frames)) as call:
        yield call


def check_text(query: object) -> str:
    """The text of a query. Raises BindError (ARGUMENT_TYPE) for anything else.

    >>> check_text(None)
    Traceback (most recent call last):
    sqlext.errors.BindError: SQLEXT_ARGUMENT_TYPE: the query is a text (str), not NoneType
    """
    if not isinstance(query, str):
        hint = "a DataFrame is the one that match_recognize, asof_join, interval_join or windows returned."
        is_frame = hasattr(query, "sparkSession")
        message = f"the query is a text (str), not {type(query).__name__}"
        raise BindError("ARGUMENT_TYPE", message, hint=hint if is_frame else None)
    return query


def active_session() -> SparkSession:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        raise RuntimeError("no Spark session is active: pass spark=…, or start one with sqlext.session()")
    return session
