"""`sqlext shell`: statements at a prompt."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sqlext.cli.option_types import row_count
from sqlext.cli.session_options import add_no_server, add_settings

MISUSED = 2  # exit status
_LIBRARIES = ("prompt_toolkit", "pygments")
_PURPOSE = "type statements at a prompt"


def add_command(commands: Any) -> None:
    """Add `shell` to the parser."""
    command = commands.add_parser("shell", help=_PURPOSE, description=_PURPOSE)
    command.set_defaults(tool=run)
    command.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        type=Path,
        help="a CSV, JSON or Parquet file, which becomes a view of its name",
    )
    command.add_argument("--warehouse", metavar="DIR", help="folder of the tables (default: spark-warehouse)")
    command.add_argument("--master", default="local[*]", help="Spark's master (default: %(default)s)")
    add_settings(command)
    add_no_server(command)
    command.add_argument(
        "--limit", type=row_count, default=100, metavar="N", help="rows shown of a result (%(default)s)"
    )


def run(options: argparse.Namespace) -> int:
    """Start Spark and read statements until the end of input. Returns the exit status."""
    if missing := [name for name in _LIBRARIES if find_spec(name) is None]:
        print(f"sqlext: the shell needs {missing[0]}: pip install 'spark-sqlext[shell]'", file=sys.stderr)
        return MISUSED
    if not sys.stdin.isatty():
        print("sqlext: the shell reads from a terminal; sqlext run - reads statements from a pipe", file=sys.stderr)
        return MISUSED
    from sqlext.cli.shell import start

    return start(options.master, options.warehouse, options.limit, dict(options.conf), options.files)
