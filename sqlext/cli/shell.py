"""The shell: a prompt, statements that Ctrl-C can cancel, and their results as tables."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import copy_context
from functools import partial
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.history import FileHistory, History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output import Output
from pygments.lexers.sql import SqlLexer
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sqlext.cli.shell_input import COMMANDS, Names, SqlCompleter, is_complete
from sqlext.errors import SqlExtError
from sqlext.rewriter.statements.sql_file import file_statements
from sqlext.rewriter.text.names import quote, split_name
from sqlext.sessions import results
from sqlext.sessions.failures import reason
from sqlext.sessions.session import session
from sqlext.spark.quiet_probes import quiet_probes

HISTORY = Path("~/.sqlext_history")
PROMPT, MORE = "sqlext> ", "   ...> "
_SHOW_TIME_AFTER = 2.0  # in seconds


def start(master: str, warehouse: str | None, limit: int) -> int:
    """Start Spark, read statements until Ctrl-D, and return the exit status."""
    print("Spark starts …", file=sys.stderr)
    with quiet_probes():
        spark = session(master=master, warehouse=warehouse, **{"spark.log.level": "OFF"})
        # PySpark's own handler would send a request to the JVM during another one
        signal.signal(signal.SIGINT, signal.default_int_handler)
        print("sqlext on Spark", spark.version, "- a statement ends with ; and .help lists commands", file=sys.stderr)
        Shell(spark, limit, history=FileHistory(os.fspath(HISTORY.expanduser()))).loop()
        spark.stop()
    return 0


class Clock:
    """Shows on a terminal for how long a statement has run, from _SHOW_TIME_AFTER until it is stopped."""

    def __init__(self) -> None:
        self.begun, self.shown, self.is_stopped = time.monotonic(), 0, not sys.stderr.isatty()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.begun

    def tick(self) -> None:
        if not self.is_stopped and self.seconds > _SHOW_TIME_AFTER and int(self.seconds) > self.shown:
            self.shown = int(self.seconds)
            print(f"\r{self.shown} s, Ctrl-C cancels", end="", file=sys.stderr, flush=True)

    def stop(self) -> None:
        """Erase the time, before anything else is written."""
        self.is_stopped = True
        if self.shown:
            self.shown = 0
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class Shell:
    """One session at a prompt."""

    def __init__(
        self, spark: SparkSession, limit: int, *, history: History | None = None, keyboard: Input | None = None,
        screen: Output | None = None,
    ):  # fmt: skip
        self.spark, self.limit = spark, limit
        self.names = Names(self._tables, lambda table: spark.table(table).columns)
        self.prompt: PromptSession[str] = PromptSession(
            history=history, completer=SqlCompleter(self.names), lexer=PygmentsLexer(SqlLexer), multiline=True,
            key_bindings=_keys(), prompt_continuation=MORE, complete_while_typing=False,
            complete_in_thread=True, input=keyboard, output=screen,
        )  # fmt: skip

    def loop(self) -> None:
        """Read and run until Ctrl-D or `.quit`. Ctrl-C at the prompt drops what is typed."""
        while True:
            try:
                text = self.prompt.prompt(PROMPT)
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            if text.strip() == ".quit":
                return
            try:
                self.run(text)
            except KeyboardInterrupt:  # in a command, which cannot be canceled, only abandoned
                print("canceled", file=sys.stderr)

    def run(self, text: str) -> None:
        """Run a command or statements, and show their results. Errors are shown, and end the statements."""
        try:
            if text.lstrip().startswith("."):
                self._command(text.strip())
            else:
                self._statements(text)
        except (SqlExtError, PySparkException, OSError, UnicodeDecodeError) as error:
            print(reason(error), file=sys.stderr)

    def _statements(self, text: str) -> None:
        for statement in file_statements(text):
            self.names.forget()
            if not self._cancelable(partial(self._show, statement.text)):
                return

    def _show(self, statement: str, clock: Clock) -> None:
        result = self.spark.sql(statement)
        if result.columns:
            results.write_result(result, self.limit, results.TABLE, None, before=clock.stop)
        clock.stop()
        print(f"{clock.seconds:.1f} s", file=sys.stderr)

    def _cancelable(self, action: Callable[[Clock], None]) -> bool:
        """Run the action in a thread; return False if Ctrl-C has canceled its jobs. Raises the errors of the action.

        All jobs of the session belong to the action, since streams run in their own sessions. A tag would not work,
        because Spark knows a tag only in the thread that set it.
        """
        failures: list[BaseException] = []
        clock, done = Clock(), threading.Event()

        def run() -> None:
            try:
                action(clock)
            except BaseException as error:
                failures.append(error)
            finally:
                done.set()

        # The thread gets the context of this thread, in which PySpark's log of errors is kept back.
        thread = threading.Thread(target=copy_context().run, args=(run,), daemon=True)
        thread.start()
        is_canceled = False
        while not done.is_set():  # an interrupted join() would treat the thread as ended
            try:
                done.wait(0.1)
                clock.tick()
            except KeyboardInterrupt:
                is_canceled = True
                self.spark.interruptAll()
        clock.stop()
        if is_canceled:
            print("canceled", file=sys.stderr)
            return False
        if failures:
            raise failures[0]
        return True

    def _command(self, text: str) -> None:
        name, _, argument = text.partition(" ")
        argument = argument.strip()
        if name == ".tables":
            print("\n".join(self.names.tables()))
        elif name == ".columns" and argument:
            for field in self.spark.table(argument).schema.fields:
                print(f"{field.name}  {field.dataType.simpleString()}")
        elif name == ".read" and argument:
            self._statements(Path(argument).expanduser().read_text("utf-8-sig"))
        elif name == ".limit" and argument.isdecimal():
            self.limit = int(argument)
        else:
            print("\n".join(f"{command:15} {purpose}" for command, purpose in COMMANDS.items()))
            print("Statements end with a semicolon. Tab completes, Ctrl-C cancels, the arrows bring back statements.")

    def _tables(self) -> Iterator[str]:
        current = self.spark.catalog.currentDatabase()
        for table in self.spark.catalog.listTables():
            is_local = table.isTemporary or (table.namespace or [current])[-1] == current
            yield table.name if is_local else quote(split_name(f"{(table.namespace or [])[-1]}.{table.name}"))


def _keys() -> KeyBindings:
    """Key bindings: Enter runs a complete text, and otherwise begins a new line; Tab completes."""
    keys = KeyBindings()

    @keys.add("enter")
    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline()

    return keys
