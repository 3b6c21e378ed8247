"""`sqlext explain` and `sqlext compile`: how statements would be run, and their plain Spark SQL."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from sqlext.cli.session_options import run_action, statements_command


def add_command(commands: Any) -> None:
    """Add `explain` and `compile` to the parser."""
    explain = statements_command(commands, "explain", "show how the statements of a file would be run, and why")
    explain.set_defaults(tool=partial(_explain, explain))
    analysis = explain.add_mutually_exclusive_group()
    analysis.add_argument("--analyze", action="store_true", help="run each query, and show where its rows are lost")
    analysis.add_argument("--why", metavar="CONDITION", help="show why the rows of the condition match or not")
    explain.add_argument("--rule", metavar="NAME", help="the pattern rule that --why explains")
    statements_command(commands, "compile", "print the statements of a file in plain Spark SQL")


def _explain(command: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if options.rule is not None and options.why is None:
        command.error("--rule needs --why CONDITION")
    return run_action("explain", options)
