"""The commands of the command line, each of which adds itself. PySpark is loaded only by those that start Spark."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from sqlext.cli import (
    check_command,
    completion_command,
    demo_command,
    explain_command,
    explain_error_command,
    format_command,
    hook_command,
    lsp_command,
    notebook_command,
    pack_command,
    playground_command,
    rules_command,
    run_command,
    server_command,
    shell_command,
)
from sqlext.spark.user_warnings import show_warnings_by
from sqlext.version import __version__

COMMANDS = (  # in the order in which `sqlext --help` lists them; one module may add several
    run_command, explain_command, rules_command, check_command, notebook_command, format_command, shell_command,
    server_command, lsp_command, playground_command, explain_error_command, pack_command, hook_command,
    completion_command, demo_command,
)  # fmt: skip


def run(arguments: list[str]) -> int:
    """Run a command, and return the exit status."""
    show_warnings_by(lambda sentence: print(f"sqlext: {sentence}", file=sys.stderr))
    all_commands = parser()
    completion_command.complete(all_commands)
    if not arguments:
        all_commands.print_help()
        return 0
    options = all_commands.parse_args(arguments)
    return int(options.tool(options))


class _CommandParser(argparse.ArgumentParser):
    """A parser of a command that reports what it does not know with its own usage, not with that of `sqlext`."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # as the parser of `sqlext` calls it
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    top = _CommandParser(prog="sqlext", description="SQL with MATCH_RECOGNIZE on Apache Spark")
    top.add_argument("--version", action="version", version=f"sqlext {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in COMMANDS:
        module.add_command(commands)
    return top
