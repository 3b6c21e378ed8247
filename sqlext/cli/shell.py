"""The shell: a prompt, statements that Ctrl-C can cancel, and their results as tables."""

from __future__ import annotations

import io
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output import Output
from pyspark.sql import SparkSession
from rich.console import Console

from sqlext.cli import shell_commands as commands
from sqlext.cli.file_views import create_file_views
from sqlext.cli.on_session import numbered, split_statements
from sqlext.cli.shell_commands import OFF, ON, choices, help_lines, is_command, read_command
from sqlext.cli.shell_input import SqlCompleter, is_complete
from sqlext.cli.shell_programs import edited, page
from sqlext.engine.streams.streaming_tables import check_ends
from sqlext.errors import file_fault, with_pages
from sqlext.formatting.completions import CompletionNames
from sqlext.formatting.pygments_lexer import SqlextLexer
from sqlext.rewriter.text.names import quote, split_name
from sqlext.sessions import formats, results
from sqlext.sessions.failures import STATEMENT_ERRORS, reason
from sqlext.sessions.session import session
from sqlext.sessions.shown_progress import display_for
from sqlext.sessions.text_tables import Cells, text_lines
from sqlext.sessions.watched import watched
from sqlext.spark.quiet_probes import quiet_probes

HISTORY = "~/.sqlext_history"
PROMPT, MORE = "sqlext> ", "   ...> "


def start(master: str, warehouse: str | None, limit: int, conf: Mapping[str, str], files: Sequence[Path]) -> int:
    """Start Spark with these settings, make views of files, read statements until Ctrl-D; returns the exit status."""
    print("Spark starts …", file=sys.stderr)
    with quiet_probes():
        spark = session(master=master, warehouse=warehouse, **{"spark.log.level": "OFF", **conf})
        # PySpark's own handler would send a request to the JVM during another one
        signal.signal(signal.SIGINT, signal.default_int_handler)
        print("sqlext on Spark", spark.version, "- a statement ends with ; and .help lists commands", file=sys.stderr)
        try:
            print("\n".join(create_file_views(spark, files)), end="\n" * bool(files), file=sys.stderr)
        except (*STATEMENT_ERRORS, OSError) as error:
            print(with_pages(reason(error)), file=sys.stderr)
            return 1
        Shell(spark, limit, history=kept_history(_path(HISTORY))).loop()
        spark.stop()
    return 0


def kept_history(file: Path) -> History:
    """The history in a file, or one that ends with this shell if the file cannot be written, as without a home."""
    try:
        file.open("ab").close()
    except OSError as error:
        print(f"The history ends with this shell. {file}: {file_fault(error)}", file=sys.stderr)
        return InMemoryHistory()
    return FileHistory(os.fspath(file))


def _path(name: str) -> Path:
    """A file that the user names; a home folder that is unknown stays as it is written."""
    return Path(os.path.expanduser(name))


@dataclass(frozen=True)
class Answer:
    """The result of a statement: its columns with their types, () if it has no rows to show, and one row more than are
    shown if there are more; `text`: the rows in another form than a table; `file`: where they were written instead."""

    columns: list[tuple[str, str]]
    rows: list[Cells]
    seconds: float
    text: str = ""
    file: str = ""


class Shell:
    """One session at a prompt."""

    def __init__(
        self,
        spark: SparkSession,
        limit: int,
        *,
        history: History | None = None,
        keyboard: Input | None = None,
        screen: Output | None = None,
    ):
        self.spark, self.limit = spark, limit
        self.is_timed = self.is_paged = True
        self.expanded = choices(commands.EXPANDED)[-1]
        self.mode, self.output = formats.TABLE, Path()
        self.last, self.draft = "", ""  # the last statements, and the text with which the next prompt begins
        self.names = CompletionNames(self._tables, lambda table: spark.table(table).columns)
        self.prompt: PromptSession[str] = PromptSession(
            history=history,
            completer=SqlCompleter(self.names),
            lexer=PygmentsLexer(SqlextLexer),
            multiline=True,
            key_bindings=_keys(),
            prompt_continuation=MORE,
            complete_while_typing=False,
            complete_in_thread=True,
            input=keyboard,
            output=screen,
        )

    def loop(self) -> None:
        """Read and run until Ctrl-D or `.quit`. Ctrl-C at the prompt drops what is typed."""
        is_running = True
        while is_running:
            draft, self.draft = self.draft, ""
            try:
                text = self.prompt.prompt(PROMPT, default=draft)
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            try:
                is_running = self.run(text)
            except KeyboardInterrupt:
                print("canceled", file=sys.stderr)

    def run(self, text: str) -> bool:
        """Run a command or statements, and show their results. Errors are shown, and end the statements.

        Returns False if the shell is to end.
        """
        try:
            if is_command(text):
                return self._command(text)
            self.last = text if text.strip() else self.last
            self._statements(text)
        except (*STATEMENT_ERRORS, OSError) as error:
            print(with_pages(reason(error)), file=sys.stderr)
        except UnicodeDecodeError as error:  # of a file that a command names
            print(f"{read_command(text)[1]}: {file_fault(error)}", file=sys.stderr)
        return True

    def _statements(self, text: str) -> None:
        statements = list(split_statements(text))
        for number, statement in enumerate(statements, 1):
            self.names.forget()
            with numbered(number, len(statements)), watched(self.spark, display_for(sys.stderr)):
                answer = self._answer(statement)
            self._show(answer)

    def _answer(self, statement: str) -> Answer:
        begun = time.monotonic()
        result = self.spark.sql(statement)
        columns, rows, text, file = [], [], "", ""
        if result.columns:
            check_ends(result)
            if self.output.name:
                with self.output.open("a", encoding="utf-8", newline="") as out:
                    results.write_text(result, None, self.mode, out)
                file = str(self.output)
            elif self.mode != formats.TABLE:
                lines = io.StringIO(newline="")
                results.write_text(result, self.limit, self.mode, lines)
                text = lines.getvalue()
            else:
                columns, rows = result.dtypes, results.read_cells(result, self.limit)
        return Answer(columns, rows, time.monotonic() - begun, text, file)

    def _show(self, answer: Answer) -> None:
        """Print the rows, then how many they are and how long the statement took."""
        notes = [results.rows_note(len(answer.rows), self.limit, str(commands.LIMIT)) if answer.columns else "done"]
        if answer.file:
            notes = [f"written to {answer.file}"]
        sys.stdout.write(answer.text)
        sys.stdout.flush()
        if self.is_timed:
            notes.append(f"{answer.seconds:.1f} s")
        if answer.columns:
            self._print(answer)
        print(", ".join(notes), file=sys.stderr)

    def _print(self, answer: Answer) -> None:
        console = Console()
        screen = console.width if console.is_terminal else None
        width = {ON: 0, OFF: None}.get(self.expanded, screen)  # nothing fits into 0 characters
        with console.capture() as text:
            for line in text_lines(answer.columns, answer.rows[: self.limit], width):
                console.print(line, soft_wrap=True, highlight=False)
        is_long = console.is_terminal and text.get().count("\n") >= console.height
        if is_long and self.is_paged:
            page(text.get())
        else:
            sys.stdout.write(text.get())
            sys.stdout.flush()

    def _command(self, text: str) -> bool:
        command, argument = read_command(text)
        if command is commands.QUIT:
            return False
        if command is commands.TABLES:
            print("\n".join(self.names.tables()))
        elif command is commands.COLUMNS:
            for field in self.spark.table(argument).schema.fields:
                print(f"{field.name}  {field.dataType.simpleString()}")
        elif command is commands.READ:
            self._statements(_path(argument).read_text("utf-8-sig"))
        elif command is commands.EDIT:
            self._edit(_path(argument) if argument else None)
        elif command is commands.LIMIT:
            self.limit = int(argument)
        elif command is commands.EXPANDED:
            self.expanded = argument or (OFF if self.expanded == ON else ON)
            _report(command, self.expanded)
        elif command is commands.MODE:
            self.mode = argument or formats.TABLE
            _report(command, self.mode)
        elif command is commands.OUTPUT:
            self._write_to(_path(argument) if argument else Path())
        elif command is commands.PAGER:
            self.is_paged = argument == ON if argument else not self.is_paged
            _report(command, ON if self.is_paged else OFF)
        elif command is commands.TIMING:
            self.is_timed = argument == ON if argument else not self.is_timed
            _report(command, ON if self.is_timed else OFF)
        else:
            print("\n".join(help_lines()))
        return True

    def _write_to(self, file: Path) -> None:
        """Write the results that follow into a file, which is emptied, in the format of its ending if it has one."""
        if file.name:
            file.write_bytes(b"")
            form = formats.format_of(file)
            self.mode = form if form in choices(commands.MODE) else self.mode
        elif self.output.name:
            self.mode = formats.TABLE
        self.output = file
        _report(commands.OUTPUT, f"{file}, {self.mode}" if file.name else "the screen")

    def _edit(self, file: Path | None) -> None:
        """Run what the user has written in an editor, or put it at the prompt if it is incomplete.

        As in psql, nothing is run if nothing was changed.
        """
        text = edited(self.last, file)
        if text is None or not text.strip():
            return
        if is_complete(text):
            self.prompt.history.append_string(text.rstrip())
            print(text.rstrip())
            self.last = text
            self._statements(text)
        else:
            self.draft = text.rstrip()

    def _tables(self) -> Iterator[str]:
        current = self.spark.catalog.currentDatabase()
        for table in self.spark.catalog.listTables():
            is_local = table.isTemporary or (table.namespace or [current])[-1] == current
            yield table.name if is_local else quote(split_name(f"{(table.namespace or [])[-1]}.{table.name}"))


def _report(command: commands.Command, state: str) -> None:
    print(f"{command.name} {state}", file=sys.stderr)


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
