"""The hooked `spark.sql`: decides whether a statement is run by the extension or by Spark."""

from __future__ import annotations

import re
from dataclasses import replace

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sqlext.catalog import views, warehouse
from sqlext.engine.queries.spark_errors import about_call, about_other_system
from sqlext.engine.queries.sql_call import SqlCall, note_declaration
from sqlext.engine.views import cached_views
from sqlext.engine.views.refreshed_views import note_plain_view, refresh_views
from sqlext.errors import SetupError, places_after
from sqlext.rewriter.heads import stream_heads, view_statements
from sqlext.rewriter.heads.heads import CREATE_VIEW, parse_head
from sqlext.rewriter.heads.stream_heads import StreamCommand, parse_command
from sqlext.rewriter.heads.stream_target import parse_target
from sqlext.rewriter.heads.view_statements import ALTER_AS, UNCACHE, parse_listing, parse_view_statement
from sqlext.rewriter.rules.rule_statements import is_rule_statement, mentions_rules
from sqlext.rewriter.statements.analyze_statement import parse_analyze
from sqlext.rewriter.statements.execute_immediate import identifiers, parse_execute_immediate
from sqlext.rewriter.statements.parameters import bind
from sqlext.rewriter.statements.scan import explained, is_extended
from sqlext.rewriter.statements.why_statement import parse_why
from sqlext.rewriter.text.names import Parts, quote, split_name
from sqlext.rewriter.text.splice import Source
from sqlext.sessions.quoted_names import names_in_backticks
from sqlext.spark.java_errors import Py4JError
from sqlext.spark.quiet_probes import quiet_probes

_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*(\w+)", re.DOTALL)


def dispatch(call: SqlCall) -> DataFrame:
    """The result of a statement in an extended session.

    Raises SetupError SESSION_WITHOUT_DELTA for objects that are kept in Delta tables: views, streaming tables and
    rules.
    """
    try:
        with names_in_backticks(call) as call:
            return _dispatch(call)
    except Exception as error:  # a thin client has no Py4J, which defines the error of a classic session
        if warehouse.is_without_delta(error, call.text):
            hint = (
                "start the session with sqlext.session(), or with Delta's jar and its two settings. Without Delta: a "
                "TEMPORARY VIEW, and a stream by spark.sql(…).writeStream."
            )
            message = "views, streaming tables and rules are kept in Delta tables, and this session has no Delta"
            raise SetupError("SESSION_WITHOUT_DELTA", message, hint=hint) from None
        raise


def _dispatch(call: SqlCall) -> DataFrame:
    note_declaration(call)
    refresh_views(call, call.text)
    if "sqlext_match" in call.text.lower():
        from sqlext.engine.match.table_function import register  # plain SQL need not load it

        register(call.spark)
    if _first_word(call.text) == "BEGIN":
        return _run_script(call)
    if is_rule_statement(call.text):
        from sqlext.engine.rules.rule_commands import run_rule_statement  # plain SQL need not load the planner

        return run_rule_statement(call)
    call = _with_named_views(call)
    if _first_word(call.text) in view_statements.FIRST_WORDS:
        return _about_views(call)
    if _first_word(call.text) == "EXECUTE":
        return _execute_immediate(call)
    return _run(call) if is_extended(call.text) else _run_plain(call)


def _about_views(call: SqlCall) -> DataFrame:
    """The result of DESCRIBE, SHOW, CACHE or ALTER VIEW, where stored views look like Spark's own."""
    listing, about = parse_listing(call.text), parse_view_statement(call.text)
    if listing is not None:
        from sqlext.engine.statements import stored_views

        return stored_views.listed(call, _run_plain(call), listing)
    if about is not None and about.verb == UNCACHE and cached_views.uncache(call.spark, about.name.parts):
        return call.spark.createDataFrame([], T.StructType([]))
    if about is None or not (about.verb == ALTER_AS and is_extended(about.query)):
        result = _run(call) if is_extended(call.text) else _run_plain(call)
        if about is not None and about.verb == ALTER_AS:
            note_plain_view(call, about.name.parts, about.query)
        return result
    view = views.lookup(call.spark, call.sql, about.name.parts)
    if view is not None:
        from sqlext.engine.statements import stored_views

        return stored_views.answer(call, about, view)
    if not views.is_known(call.spark, about.name.parts):
        return call.sql(f"ALTER VIEW {quote(about.name.parts)} AS SELECT 1")  # raises Spark's own error
    is_temporary = call.spark.catalog.getTable(quote(about.name.parts)).isTemporary
    kind = "TEMPORARY VIEW" if is_temporary else "VIEW"
    return _run(replace(call, text=f"CREATE OR REPLACE {kind} {quote(about.name.parts)} AS {about.query}"))


def _with_named_views(call: SqlCall) -> SqlCall:
    """The statement with the names of stored views in place of IDENTIFIER(…), because Spark looks up the names in
    IDENTIFIER(…) itself."""
    text = call.text
    for place, value in reversed(list(identifiers(text, call.args)) if "IDENTIFIER" in text.upper() else []):
        name = split_name(value)
        if not views.is_known(call.spark, name) and views.lookup(call.spark, call.sql, name) is not None:
            text = text[: place.start] + quote(name) + text[place.stop :]
    return replace(call, text=text)


def _execute_immediate(call: SqlCall) -> DataFrame:
    """The result of EXECUTE IMMEDIATE. If its statement is an extended one, it is run here; otherwise Spark runs all of
    it.

    Errors have their places in the statement that is executed.
    """
    if parse_execute_immediate(call.text) is None:
        return _run_plain(call)
    bound = Source(call.text, bind(call.text, call.args)).slice(0, len(call.text))
    immediate = parse_execute_immediate(str(bound))
    try:
        with quiet_probes():
            text = call.sql(f"SELECT {immediate.query}").collect()[0][0] if immediate else None
    except PySparkException:
        text = None  # Spark reports the error in the whole statement
    if immediate is None or not isinstance(text, str):
        return _run_plain(call)
    is_ours = is_rule_statement(text) or is_extended(text) or views.mentioned(call.spark, call.sql, text)
    if not is_ours:
        return _run_plain(call)
    values = call.sql("SELECT " + ", ".join(immediate.values)).collect()[0] if immediate.values else ()
    args = dict(zip(immediate.names, values)) if any(immediate.names) else list(values)
    result = dispatch(replace(call, text=text, args=args or None))
    if not immediate.into:
        return result
    return call.sql(f"SET VARIABLE ({immediate.into}) = (SELECT * FROM {{result}})", result=result)


def _run_script(call: SqlCall) -> DataFrame:
    """The result of BEGIN … END. Spark runs it as it is if it contains no extended statement."""
    is_ours = (
        is_extended(call.text) or mentions_rules(call.text) or bool(views.mentioned(call.spark, call.sql, call.text))
    )
    if not is_ours and "EXECUTE" not in call.text.upper():
        return _run_plain(call)
    from sqlext.engine.statements.run_script import run_script  # plain SQL need not load the planner

    result = run_script(call, dispatch)
    if result is not None:
        return result
    return _run(call) if is_ours else _run_plain(call)


def _run(call: SqlCall) -> DataFrame:
    from sqlext.engine.statements import run_statement  # plain SQL need not load the planner

    why = parse_why(call.text)
    if why is not None:
        from sqlext.engine.statements import explain_why

        return _text_result(call, explain_why.explain_why(call, why))
    if (analyze := parse_analyze(call.text)) is not None:
        from sqlext.engine.statements import analyze_query  # loads Numba, which other statements do not need

        return _text_result(call, analyze_query.analyze_query(call, analyze))
    query = explained(call.text)
    if query is None:
        return run_statement.run(call)
    with places_after(call.text, query.text, query.start):
        return _text_result(call, run_statement.explain_statement(replace(call, text=query.text)))


def _text_result(call: SqlCall, text: str) -> DataFrame:
    """A text as a result. Spark reads the rows of `createDataFrame` in a job, and literals without one.

    It is no parameter of the SQL, because with the parser of Delta Spark 4.2 drops these, unless a setting is made as
    in `sqlext.session()`.
    """
    return call.sql("VALUES (1) AS result(one)").select(F.lit(text).alias("plan"))


def _run_plain(call: SqlCall) -> DataFrame:
    """Spark's own result, except for a text that fails only because it names a stored extended view.

    Calling Spark first costs plain statements nothing, and gives precedence to a table of that name. Both kinds of
    session analyze names during this call.
    """
    try:
        with quiet_probes() as records:
            word = _first_word(call.text)
            if word in stream_heads.FIRST_WORDS and (command := parse_command(call.text)) is not None:
                return _command(call, command)
            if word == "ALTER":
                warehouse.stop_renamed(call.spark, call.text)
            return _create_or_drop(call) if word in ("CREATE", "DROP") else call.by_spark()
    except AnalysisException as error:
        # A script may have carried out half of its statements, so it is not run again.
        found = {} if _first_word(call.text) == "BEGIN" else _missing_view(call, error)
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
    about = parse_view_statement(call.text)
    if about is None:
        return _run(replace(call, views=found))
    from sqlext.engine.statements import stored_views  # plain SQL need not load the planner

    return stored_views.answer(call, about, *found.values())


def _command(call: SqlCall, command: StreamCommand) -> DataFrame:
    if command.key is not None:
        from sqlext.engine.statements.describe_key import describe_key  # plain SQL need not load the planner

        return describe_key(call, command)
    from sqlext.engine.streams.stream_commands import run_command  # plain SQL need not load the planner

    return run_command(call.spark, command)


def _first_word(text: str) -> str:
    """The first word after blanks and comments, in upper case; "" if there is none."""
    match = _FIRST_WORD.match(text)
    return match[1].upper() if match else ""


def _missing_view(call: SqlCall, error: AnalysisException) -> dict[Parts, views.View]:
    """The stored view that Spark did not find, by its name as written; empty if there is none."""
    name = (error.getMessageParameters() or {}).get("relationName")
    if error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND" or not name:
        return {}
    view = views.lookup(call.spark, call.sql, name)
    return {split_name(name): view} if view is not None else {}


def stored_view(call: SqlCall, name: Parts) -> DataFrame:
    """The rows of a stored view."""
    from sqlext.engine.statements import stored_views

    return stored_views.frame(call, name)


def _create_or_drop(call: SqlCall) -> DataFrame:
    """The result of CREATE or DROP of a table or a plain view; stored views and registered tables are updated."""
    target = parse_target(call.text)
    if target is not None and not target.is_insert:
        return _run(call)
    result = views.run_plain(call.spark, call.sql, call.text)
    head = parse_head(call.text)
    if result is not None:
        if head is not None:
            cached_views.uncache(call.spark, head.name.parts)
        return result
    result = warehouse.run_drop(call.spark, call.sql, call.text, call.args, call.frames)
    if head is not None and head.verb == CREATE_VIEW and head.is_temporary:
        name = ("global_temp", *head.name.parts[-1:]) if head.is_global else head.name.parts
        note_plain_view(call, name, call.text[head.name.stop :])
    return result
