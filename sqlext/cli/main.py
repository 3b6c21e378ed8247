"""The command line. A command that a running server takes loads no other module of ours."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import TextIO

from sqlext.server.client import hand_over

FAILED = 1  # exit status
_LIBRARIES = frozenset({"pyspark", "py4j", "numpy", "numba", "pyarrow", "pandas"})


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line with `argv` (None: the arguments of this process) and return the exit status.

    0: success; 1: a statement failed, and the reason is on stderr; 2: the command line is wrong.
    """
    use_utf8(sys.stdin, sys.stdout, sys.stderr)
    try:
        status = hand_over(sys.argv[1:]) if argv is None else None
        status = _run(list(sys.argv[1:] if argv is None else argv)) if status is None else status
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
    from sqlext.cli.commands import run  # loads all commands and their parsers, a quarter of a second

    return run(arguments)
