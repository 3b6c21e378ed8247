"""What `sqlext run`, `explain`, `compile` and `rules` do on a session."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.errors import ParseException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from sqlext.catalog import streams
from sqlext.cli import rule_actions
from sqlext.engine.queries.quoted_names import names_in_backticks
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.streams import reports
from sqlext.engine.streams.last_progress import recent_progress
from sqlext.errors import UnsupportedError, file_fault, with_pages
from sqlext.formatting.check_syntax import check_syntax
from sqlext.rewriter.heads.heads import CREATE_VIEW, Head
from sqlext.rewriter.heads.statement import Script
from sqlext.rewriter.statements.parameters import how_to_pass, passed_by
from sqlext.rewriter.statements.read_statement import is_ours, read_statement
from sqlext.rewriter.statements.sql_file import file_statements
from sqlext.sessions import results
from sqlext.sessions.explain import compile, explain, why
from sqlext.sessions.failures import STATEMENT_ERRORS, reason
from sqlext.sessions.hook import unhooked
from sqlext.sessions.session import session
from sqlext.sessions.shown_progress import display_for
from sqlext.sessions.watched import Display, Watch, watched
from sqlext.spark.progress import kept_state, written_rows
from sqlext.spark.quiet_probes import quiet_probes

_PARAMETER = "--param {}=value"
FAILED, MISUSED, INTERRUPTED = 1, 2, 130  # exit statuses

Action = Callable[[SparkSession, list[str], argparse.Namespace], None]  # the statements, and the options of the command

# Set by Ctrl-C. An error that comes after it is no failure of a statement: the JVM, which receives the signal too, has
# closed the connection during a request, and Py4J, PySpark or what uses them reports that in one way or another.
_interrupted = threading.Event()


def run_action(action: str, options: argparse.Namespace) -> int:
    """Run an action of ACTIONS, and return the exit status."""
    try:
        return _run_on_session(ACTIONS[action], options)
    except (KeyboardInterrupt, Exception) as error:
        if isinstance(error, Exception) and not _interrupted.is_set():
            raise
        _stop()
        return INTERRUPTED


def _run_on_session(action: Action, options: argparse.Namespace) -> int:
    try:
        texts = options.sql if options.sql is not None else [_read(options.file)]
    except (OSError, UnicodeDecodeError) as error:
        print(f"sqlext: cannot read {options.file}: {file_fault(error)}", file=sys.stderr)
        return MISUSED
    try:
        with quiet_probes():
            # Every failure is raised as an exception. Spark's log would repeat it, with the stack of the JVM.
            settings = {"spark.log.level": "OFF"} | dict(options.conf)
            spark = session(master=options.master, warehouse=options.warehouse, **settings)
            _interrupt_quietly()
            statements = [statement for text in texts for statement in split_statements(text)]
            with passed_by(_PARAMETER):
                action(spark, statements, options)
    except (*STATEMENT_ERRORS, OSError) as error:
        if _interrupted.is_set():
            raise KeyboardInterrupt from error
        if isinstance(error, OSError) and error.filename is None:  # not of the file for the result: a closed pipe
            raise
        sys.stdout.flush()
        print(with_pages(reason(error)) + _about_parameter(error), file=sys.stderr)
        return FAILED
    return 0


def _about_parameter(error: Exception) -> str:
    """The hint to Spark's error about a parameter without a value, whose words are about Python; "" to all others."""
    if not isinstance(error, PySparkException) or error.getCondition() != "UNBOUND_SQL_PARAMETER":
        return ""
    with passed_by(_PARAMETER):
        return f"\nHint: {how_to_pass((error.getMessageParameters() or {}).get('name', 'name'))}"


def _read(file: str) -> str:
    return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8-sig")


def split_statements(text: str) -> Iterator[str]:
    """The statements of a file, without the semicolons between them. Blank lines keep each statement on its lines of
    the file.

    A script, BEGIN … END, is one statement. Empty statements are left out.

    >>> list(split_statements("SELECT ';' -- a; b\\n; ;SELECT 2"))
    ["SELECT ';'", '\\nSELECT 2']
    """
    return ("\n" * text.count("\n", 0, statement.start) + statement.text for statement in file_statements(text))


def _interrupt_quietly() -> None:
    """Make Ctrl-C raise KeyboardInterrupt.

    PySpark's own handler would send a request to the JVM during another request, and Py4J would log that the
    interrupted one received no answer.
    """

    def interrupt(*_: object) -> None:
        _interrupted.set()
        logging.disable()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)


def _stop() -> None:
    """End Spark, and with it the running query. A second Ctrl-C does not interrupt this."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    running = SparkSession.getActiveSession()
    if running is not None:
        with suppress(Exception), quiet_probes():
            running.stop()
    sys.stdout.flush()


@contextmanager
def numbered(number: int, count: int) -> Iterator[None]:
    """Report the number of the statement that fails, if there are several."""
    try:
        yield
    except STATEMENT_ERRORS:
        if count > 1 and not _interrupted.is_set():
            sys.stdout.flush()
            print(f"statement {number} of {count}:", file=sys.stderr)
        raise


def _check_syntax(spark: SparkSession, statements: list[str]) -> None:
    """Raise the syntax error of a statement before the first statement runs.

    Spark parses its own statements in EXPLAIN, which is written into the blank lines before the statement. A syntax
    error in the first statement is found when it runs.
    """
    for number, statement in enumerate(statements, 1):
        call = SqlCall(spark=spark, sql=unhooked(spark), text=statement)
        with numbered(number, len(statements)), names_in_backticks(call) as call:
            check_syntax(call.text)
            is_sparks = not isinstance(read_statement(call.text), Script) and not is_ours(call.text)
            if is_sparks and statement.startswith("\n"):
                _parse_by_spark(spark, statement)


def _parse_by_spark(spark: SparkSession, statement: str) -> None:
    """Raise Spark's syntax errors. An error that earlier statements may prevent, such as an unknown table, is
    ignored."""
    try:
        spark.sql(f"EXPLAIN{statement}")
    except ParseException:
        raise
    except PySparkException:
        return


def _run(spark: SparkSession, statements: list[str], options: argparse.Namespace) -> None:
    before = streams.started()
    streams.forget_effects()
    is_first = True
    if options.available_now:
        spark.conf.set("sqlext.stream.trigger", "available-now")
    _check_syntax(spark, statements)
    for number, statement in enumerate(statements, 1):
        shown = partial(_display, options, number, len(statements))
        with numbered(number, len(statements)):
            with watched(spark, shown()):
                result = spark.sql(statement, dict(options.param) or None)
            if result.columns:
                _separate(options, is_first=is_first)
                with watched(spark, display := shown()):
                    how = options.limit, options.form, options.output, options.null
                    results.write_result(result, *how, before_rows=display.erase)
                is_first = False
    # The queries of CREATE STREAMING TABLE and INSERT, which would end with this process.
    begun = [query for query in streams.started().values() if query not in before.values()]
    _follow(spark, begun, show=(lambda line: None) if options.quiet else partial(print, file=sys.stderr))
    for name, effect in streams.effects().items():
        if effect == streams.SKIPPED:
            print(f"{name}, {effect}, nothing done", file=sys.stderr)


def _display(options: argparse.Namespace, number: int, count: int) -> Display:
    """What shows the progress of a statement."""
    return Display() if options.quiet else display_for(sys.stderr, f"statement {number} of {count}: " * (count > 1))


def _separate(options: argparse.Namespace, *, is_first: bool) -> None:
    """Print an empty line before a result that is not the first one. Raises UnsupportedError if a file already has a
    result."""
    if not is_first and options.output is not None:
        raise UnsupportedError(
            "OUTPUT_FILE",
            f"{options.output} has the result of an earlier statement",
            hint="-o writes one result; leave the other queries out.",
        )
    if not is_first:
        print()


def _follow(spark: SparkSession, queries: Sequence[StreamingQuery], show: Callable[[str], None]) -> None:
    """Wait for the end of streaming queries; `show` gets a line for each micro-batch. Raises the error of a failed
    query."""
    try:
        with watched(spark, Display()) as watch:
            _wait(queries, watch, show)
    except PySparkException:
        reports.settle(spark, queries)
        raise
    reports.settle(spark, queries)


def _wait(queries: Sequence[StreamingQuery], watch: Watch, show: Callable[[str], None]) -> None:
    shown = dict.fromkeys(range(len(queries)), -1)
    batches: dict[int, list[Any]] = {i: [] for i in shown}
    while shown and not watch.is_canceled:
        for i in list(shown):
            query = queries[i]
            has_ended = bool(query.awaitTermination(1))  # raises the error of the query
            for batch in recent_progress(query):
                if batch["batchId"] > shown[i] and "addBatch" in batch["durationMs"]:
                    shown[i] = batch["batchId"]
                    batches[i].append(batch)
                    show(progress_line(batch, streams.effects().get(query.name, "")))
            if has_ended:
                if shown[i] < 0:
                    show(f"{query.name}, {streams.effects().get(query.name, 'started')}, no new rows")
                else:
                    show(sum_line(batches[i]))
                del shown[i]


def sum_line(batches: Sequence[Any]) -> str:
    """One line about all micro-batches of a query that has ended.

    >>> batch = {"name": "alerts", "numInputRows": 1200, "durationMs": {"triggerExecution": 1540}}
    >>> sum_line([{**batch, "observedMetrics": {"sqlextwritten": {"rows": 2}}}, {**batch, "observedMetrics": {}}])
    'alerts, in all: 2,400 rows read, 2 rows written, 3.1 s in 2 micro-batches'
    """
    count = len(batches)
    parts = [
        f"{batches[0]['name']}, in all: {sum(batch['numInputRows'] for batch in batches):,} rows read",
        f"{sum(written_rows(batch['observedMetrics']) for batch in batches):,} rows written",
        f"{sum(batch['durationMs'].get('triggerExecution', 0) for batch in batches) / 1000:.1f} s in {count} "
        f"micro-batch{'es' * (count != 1)}",
    ]
    return ", ".join(parts)


def progress_line(progress: Any, effect: str = "") -> str:
    """One line about a micro-batch. `effect`: what the statement has done with the query.

    >>> progress_line({"name": "alerts", "batchId": 3, "numInputRows": 1200, "processedRowsPerSecond": 480.2,
    ...                "eventTime": {"watermark": "2026-01-01T00:00:00.000Z"},
    ...                "observedMetrics": {"sqlext_1": {"rows": 17, "bytes": 1100, "oldest": None, "late_rows": 0,
    ...                                                   "failed_rows": 0, "windows": 0, "emitted": 2}}}, "resumed")
    'alerts, resumed, batch 3: 1,200 rows, 480 rows/s, watermark 2026-01-01T00:00:00.000Z, keeps 17 rows in 1,100 bytes'
    """
    state = kept_state(progress["observedMetrics"])
    parts = [
        progress["name"],
        *([effect] if effect else []),
        f"batch {progress['batchId']}: {progress['numInputRows']:,} rows",
        f"{progress['processedRowsPerSecond'] or 0:,.0f} rows/s",
        f"watermark {progress['eventTime'].get('watermark', 'none')}",
        *([f"keeps {state.rows:,} rows in {state.bytes:,} bytes"] if state else []),
    ]
    return ", ".join(parts)


def _explain(spark: SparkSession, statements: list[str], options: argparse.Namespace) -> None:
    explains_rows = options.analyze or options.why is not None
    for number, statement in enumerate(statements, 1):
        with numbered(number, len(statements)):
            if not (explains_rows and _makes_temporary_view(statement)):
                with watched(spark, _display(options, number, len(statements))):
                    explanation = _explanation(spark, statement, options)
                print(explanation)
            _make_temporary_view(spark, statement, options)


def _explanation(spark: SparkSession, statement: str, options: argparse.Namespace) -> str:
    arguments = dict(options.param) or None
    if options.why is not None:
        return why(statement, options.why, arguments, rule=options.rule, spark=spark)
    return explain(statement, arguments, spark=spark, analyze=options.analyze)


def _compile(spark: SparkSession, statements: list[str], options: argparse.Namespace) -> None:
    for number, statement in enumerate(statements, 1):
        with numbered(number, len(statements)):
            print(compile(statement, dict(options.param) or None, spark=spark).strip() + ";")
            _make_temporary_view(spark, statement, options)


def _make_temporary_view(spark: SparkSession, statement: str, options: argparse.Namespace) -> None:
    """Create a temporary view, which later statements may read and which ends with this process. No other statement is
    run."""
    if _makes_temporary_view(statement):
        spark.sql(statement, dict(options.param) or None)


def _makes_temporary_view(statement: str) -> bool:
    head = read_statement(statement)
    return isinstance(head, Head) and head.verb == CREATE_VIEW and head.is_temporary


ACTIONS: Mapping[str, Action] = {
    "run": _run,
    "explain": _explain,
    "compile": _compile,
    "list_rules": rule_actions.list_rules,
    "add_rules": rule_actions.add_rules,
    "check_rules": rule_actions.check_rules,
    "disable_rule": rule_actions.disable_rule,
}
