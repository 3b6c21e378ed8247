"""`sqlext lsp`: the language server that an editor starts."""

from __future__ import annotations

import argparse
import sys
from typing import Any

_PURPOSE = "answer an editor: errors, completion, explanations and layout, by the Language Server Protocol"


def add_command(commands: Any) -> None:
    """Add `lsp` to the parser."""
    command = commands.add_parser("lsp", help=_PURPOSE, description=_PURPOSE)
    command.set_defaults(tool=run)
    command.add_argument("--stdio", action="store_true", help="as editors write it; the server has no other way")


def run(options: argparse.Namespace) -> int:
    """Serve an editor on standard input and output, and return the exit status."""
    from sqlext.language_server.serve import serve  # the other commands do not need it

    return serve(sys.stdin.buffer, sys.stdout.buffer)
