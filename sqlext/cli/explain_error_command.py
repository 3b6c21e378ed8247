"""`sqlext explain-error NAME…`: prints what an error means, what causes it, and what cures it."""

from __future__ import annotations

import argparse
import difflib
import sys
from typing import Any

from sqlext.error_pages import error_pages, page

_PREFIX = "SQLEXT_"
MISUSED = 2  # exit status
_PURPOSE = "print the cause and the cure of errors, with examples, by the names that begin their messages"


def add_command(commands: Any) -> None:
    """Add `explain-error` to the parser."""
    command = commands.add_parser("explain-error", help=_PURPOSE, description=_PURPOSE)
    command.set_defaults(tool=run)
    command.add_argument("names", nargs="*", metavar="NAME", help="for example UNRESOLVED_COLUMN")
    command.add_argument("--list", action="store_true", dest="lists", help="print the names of all errors with a page")


def run(options: argparse.Namespace) -> int:
    """Print the pages, or the list of their names. Returns the exit status: 2 if there is no such page."""
    names = [name.removeprefix(_PREFIX) for name in error_pages()]
    if options.lists:
        print("\n".join(names))
    elif not options.names:
        print("sqlext: which error? sqlext explain-error --list prints the names of all", file=sys.stderr)
        return MISUSED
    status = 0
    for name in options.names:
        text = page(name)
        if text is not None:
            print(text, end="\n\n")
            continue
        near = difflib.get_close_matches(name.upper().removeprefix(_PREFIX), names, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "sqlext explain-error --list prints the names of all."
        print(f"sqlext: there is no page about {name}; {hint}", file=sys.stderr)
        status = MISUSED
    return status
