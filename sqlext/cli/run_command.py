"""`sqlext run`: runs the statements of a file."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from sqlext.cli.option_types import row_count
from sqlext.cli.session_options import run_action, statements_command
from sqlext.sessions import formats


def add_command(commands: Any) -> None:
    """Add `run` to the parser."""
    command = statements_command(commands, "run", "run the statements of a file and show their results")
    command.set_defaults(tool=partial(_run, command))
    command.add_argument(
        "--limit",
        type=row_count,
        metavar="N",
        help=f"show the first N rows of a result (default: {formats.TERMINAL_LIMIT} on a terminal, else all)",
    )
    command.add_argument(
        "--available-now",
        action="store_true",
        help="streaming tables: process the rows that are there and end (default: go on until interrupted)",
    )
    command.add_argument(
        "--format",
        choices=formats.FORMATS,
        dest="form",
        help="how rows are written (default: by the ending of the file; a table on a terminal, else tabs)",
    )
    command.add_argument(
        "--null", metavar="TEXT", help='the text for NULL (default: nothing in CSV, where an empty text is "")'
    )
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the rows of the one result to FILE")


def _run(command: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if wrong := _wrong_output(options):
        command.error(wrong)
    return run_action("run", options)


def _wrong_output(options: argparse.Namespace) -> str | None:
    """The error in the options of the output, or None. Sets the format that the ending of the file names."""
    if options.output is not None and options.form is None:
        options.form = formats.format_of(options.output)
        if options.form is None:
            return f"{options.output} has no ending that names a format: write --format"
    if options.form == formats.PARQUET and options.output is None:
        return "--format parquet needs -o FILE"
    return None
