"""`sqlext demo`: a guided tour."""

from __future__ import annotations

import argparse
from typing import Any

_PURPOSE = "show a guided tour on half a year of glucose readings"


def add_command(commands: Any) -> None:
    """Add `demo` to the parser."""
    demo = commands.add_parser("demo", help=_PURPOSE, description=_PURPOSE)
    demo.set_defaults(tool=run)
    demo.add_argument("--warehouse", metavar="DIR", help="folder that gets the Delta tables (default: a temporary one)")
    demo.add_argument("--master", default="local[*]", help="Spark's master (default: %(default)s)")


def run(options: argparse.Namespace) -> int:
    """Show the tour, and return the exit status."""
    from sqlext.cli.demo import show_tour  # PySpark takes half a second to load

    return show_tour(options.warehouse, options.master)
