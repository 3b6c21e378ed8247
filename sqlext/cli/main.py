"""The command line: its commands, each of which adds itself. PySpark is loaded only by those that start Spark."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from typing import Any, TextIO

from sqlext.cli import (
    check_command,
    completion_command,
    demo_command,
    explain_command,
    explain_error_command,
    format_command,
    hook_command,
    notebook_command,
    pack_command,
    playground_command,
    rules_command,
    run_command,
    shell_command,
)
from sqlext.spark.user_warnings import show_warnings_by
from sqlext.version import __version__

COMMANDS = (  # in the order in which `sqlext --help` lists them; one module may add several
    run_command, explain_command, rules_command, check_command, notebook_command, format_command, shell_command,
    playground_command, explain_error_command, pack_command, hook_command, completion_command, demo_command,
)  # fmt: skip
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
    return int(options.tool(options))


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
    for module in COMMANDS:
        module.add_command(commands)
    return parser
