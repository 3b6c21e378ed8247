"""`sqlext explain-error NAME…`: prints what an error means, what causes it, and what cures it."""

from __future__ import annotations

import argparse
import difflib
import sys
from typing import Any

from sqlext.formatting.error_page import error_pages

MISUSED = 2  # exit status
_PURPOSE = "print the cause and the cure of errors, with examples, by the names that begin their messages"


def add_command(commands: Any) -> None:
    """Add `explain-error` to the parser."""
    command = commands.add_parser("explain-error", help=_PURPOSE, description=_PURPOSE)
    command.set_defaults(tool=run)
    command.add_argument("names", nargs="+", metavar="NAME", help="for example UNRESOLVED_COLUMN")


def run(options: argparse.Namespace) -> int:
    """Print the pages. Returns the exit status: 2 if there is no such error."""
    pages, status = error_pages(), 0
    for name in options.names:
        known = "SQLEXT_" + name.upper().removeprefix("SQLEXT_")
        if known in pages:
            print(pages[known], end="\n\n")
            continue
        near = [like.removeprefix("SQLEXT_") for like in difflib.get_close_matches(known, pages, n=3)]
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        print(f"sqlext: there is no error {name}{hint}", file=sys.stderr)
        status = MISUSED
    return status
