"""`sqlext completion SHELL`: lets a shell complete commands, options and files, by argcomplete."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec
from typing import Any

MISUSED = 2  # exit status
_SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")
_PURPOSE = 'print what makes a shell complete the commands: eval "$(sqlext completion bash)"'
_REQUEST = "_ARGCOMPLETE"  # the variable that a shell sets when it asks for the words that may follow


def add_command(commands: Any) -> None:
    """Add `completion` to the parser."""
    command = commands.add_parser("completion", help=_PURPOSE, description=_PURPOSE)
    command.set_defaults(tool=run)
    command.add_argument("shell", choices=_SHELLS, metavar="SHELL", help=", ".join(_SHELLS))


def run(options: argparse.Namespace) -> int:
    """Print the script of a shell. Returns the exit status."""
    if find_spec("argcomplete") is None:
        print("sqlext: completion needs argcomplete: pip install 'spark-sqlext[shell]'", file=sys.stderr)
        return MISUSED
    import argcomplete  # the other commands work without it

    print(argcomplete.shellcode(["sqlext"], shell=options.shell))
    return 0


def complete(parser: argparse.ArgumentParser) -> None:
    """Print the words that may follow, and end the process, if a shell asks for them."""
    if _REQUEST in os.environ:
        import argcomplete

        argcomplete.autocomplete(parser)
