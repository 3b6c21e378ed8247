"""The command line: its commands and their options. PySpark is loaded only by the commands that start Spark."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from sqlext.cli import (
    check_command,
    completion_command,
    explain_error_command,
    format_command,
    hook_command,
    notebook_command,
    pack_command,
    playground_command,
    shell_command,
)
from sqlext.cli.option_types import parameter, row_count
from sqlext.sessions import formats
from sqlext.spark.user_warnings import show_warnings_by
from sqlext.version import __version__

_DEMO = "show a guided tour on half a year of glucose readings"
_RULES = "list, add, check or disable the pattern rules of a table"
TRIAL_ROWS = 10_000  # for `sqlext rules check`
FAILED = 1  # exit status
_LIBRARIES = frozenset({"pyspark", "py4j", "numpy", "numba", "pyarrow", "pandas"})


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line with `argv` (None: the arguments of this process) and return the exit status.

    0: success; 1: a statement failed, and the reason is on stderr; 2: the command line is wrong.
    """
    use_utf8(sys.stdin, sys.stdout, sys.stderr)
    try:
        status = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader, perhaps `head`, has closed the pipe. Without this, Python would fail again when it flushes at
        # exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except ModuleNotFoundError as error:  # sqlext was installed with --no-deps, for a cluster that has its own Spark
        library = (error.name or "").partition(".")[0]
        if library not in _LIBRARIES:
            raise
        print(f"sqlext: this command needs {library}, which {sys.executable} does not have", file=sys.stderr)
        return FAILED


def use_utf8(*streams: TextIO) -> None:
    """Let streams read and write UTF-8 as files do, where their encoding lacks characters: the pipes of Windows before
    Python 3.15.

    >>> stream = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    >>> use_utf8(stream)
    >>> stream.encoding
    'utf-8'
    """
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
            stream.reconfigure(encoding="utf-8")


def _run(arguments: list[str]) -> int:
    show_warnings_by(lambda sentence: print(f"sqlext: {sentence}", file=sys.stderr))
    parser = _parser()
    completion_command.complete(parser)
    options = parser.parse_args(arguments)
    if "tool" in options:
        return int(options.tool(options))
    if options.action == "run" and (wrong := _wrong_output(options)):
        parser.error(wrong)
    if options.action == "explain" and options.rule is not None and options.why is None:
        parser.error("--rule needs --why CONDITION")
    from sqlext.cli import run_command  # PySpark takes half a second to load

    return run_command.run_command(options)


def _wrong_output(options: argparse.Namespace) -> str | None:
    """The error in the options of the output, or None. Sets the format that the ending of the file names."""
    if options.output is not None and options.form is None:
        options.form = formats.format_of(options.output)
        if options.form is None:
            return f"{options.output} has no ending that names a format: write --format"
    if options.form == formats.PARQUET and options.output is None:
        return "--format parquet needs -o FILE"
    return None


class _CommandParser(argparse.ArgumentParser):
    """A parser of a command that reports what it does not know with its own usage, not with that of `sqlext`."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # as the parser of `sqlext` calls it
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown


def _parser() -> argparse.ArgumentParser:
    parser = _CommandParser(prog="sqlext", description="SQL with MATCH_RECOGNIZE on Apache Spark")
    parser.add_argument("--version", action="version", version=f"sqlext {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = _command(commands, "run", "run the statements of a file and show their results")
    run.add_argument(
        "--limit",
        type=row_count,
        metavar="N",
        help=f"show the first N rows of a result (default: {formats.TERMINAL_LIMIT} on a terminal, else all)",
    )
    run.add_argument(
        "--available-now",
        action="store_true",
        help="streaming tables: process the rows that are there and end (default: go on until interrupted)",
    )
    run.add_argument(
        "--format",
        choices=formats.FORMATS,
        dest="form",
        help="how rows are written (default: by the ending of the file; a table on a terminal, else tabs)",
    )
    run.add_argument(
        "--null", metavar="TEXT", help='the text for NULL (default: nothing in CSV, where an empty text is "")'
    )
    run.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the rows of the one result to FILE")
    explain = _command(commands, "explain", "show how the statements of a file would be run, and why")
    analysis = explain.add_mutually_exclusive_group()
    analysis.add_argument("--analyze", action="store_true", help="run each query, and show where its rows are lost")
    analysis.add_argument("--why", metavar="CONDITION", help="show why the rows of the condition match or not")
    explain.add_argument("--rule", metavar="NAME", help="the pattern rule that --why explains")
    _command(commands, "compile", "print the statements of a file in plain Spark SQL")
    _add_rules(commands)
    tools = (
        check_command, notebook_command, format_command, shell_command, playground_command, explain_error_command,
        pack_command, hook_command, completion_command,
    )  # fmt: skip
    for tool in tools:
        tool.add_command(commands)
    _add_demo(commands)
    return parser


def _add_demo(commands: Any) -> None:
    """Add `demo` to the parser."""
    demo = commands.add_parser("demo", help=_DEMO, description=_DEMO)
    demo.set_defaults(tool=_demo)
    demo.add_argument("--warehouse", metavar="DIR", help="folder that gets the Delta tables (default: a temporary one)")
    demo.add_argument("--master", default="local[*]", help="Spark's master (default: %(default)s)")


def _demo(options: argparse.Namespace) -> int:
    from sqlext.cli import demo_command  # PySpark takes half a second to load

    return demo_command.run(options)


def _add_rules(commands: Any) -> None:
    """Add `rules …` to the parser."""
    rules = commands.add_parser("rules", help=_RULES, description=_RULES)
    actions = rules.add_subparsers(dest="rules_command", required=True, metavar="ACTION")
    listed = _session_command(actions, "list", "list the rules of a table", "list_rules")
    listed.add_argument("table", metavar="TABLE")
    _command(actions, "add", "run the CREATE, ALTER and DROP PATTERN RULE of a file", "add_rules")
    checked = _command(actions, "check", "check rules, and show what they would have matched", "check_rules")
    checked.add_argument(
        "--rows", type=row_count, default=TRIAL_ROWS, metavar="N", help="over the last N rows (%(default)s)"
    )
    checked.add_argument(
        "--partition-by", default="", metavar="COLUMNS", help="PARTITION BY of MATCH_RULES (default: none)"
    )
    checked.add_argument("--order-by", metavar="COLUMN", help="its ORDER BY (default: the first column of times)")
    checked.add_argument("--limit", type=row_count, metavar="N", help="show the first N matches of a rule")
    disabled = _session_command(actions, "disable", "disable a rule", "disable_rule")
    disabled.add_argument("name", metavar="NAME")
    disabled.add_argument("--on", required=True, metavar="TABLE", help="the table of the rule")


def _command(commands: Any, name: str, purpose: str, action: str | None = None) -> argparse.ArgumentParser:
    command = _session_command(commands, name, purpose, action)
    source = command.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "file", metavar="FILE", nargs="?", help="statements, separated by semicolons; - reads standard input"
    )
    source.add_argument(
        "-e",
        dest="sql",
        action="append",
        default=None,
        metavar="SQL",
        help="the statements themselves; may be repeated, and all are run in this order",
    )
    command.add_argument(
        "--param",
        action="append",
        default=[],
        type=parameter,
        metavar="NAME=VALUE",
        help="a value for :NAME; integers, decimals, true, false, dates, timestamps; 'quotes' force text",
    )
    return command


def _session_command(commands: Any, name: str, purpose: str, action: str | None = None) -> argparse.ArgumentParser:
    """A command that needs a session, and reads no statements unless arguments for them are added.

    `action` is the name of the action in `session_commands`, by default the name of the command.
    """
    command: argparse.ArgumentParser = commands.add_parser(name, help=purpose, description=purpose)
    command.set_defaults(action=action or name, sql=[])
    command.add_argument("--warehouse", metavar="DIR", help="folder of the tables (default: spark-warehouse)")
    command.add_argument("--master", help="Spark's master (default: that of spark-submit, else local[*])")
    return command
