"""`sqlext playground`: a page on loopback in which a pattern is tried on rows, without Spark."""

from __future__ import annotations

import argparse
import sys
import threading
import webbrowser
from pathlib import Path
from typing import Any

from sqlext.cli.option_types import port
from sqlext.errors import SqlExtError, file_fault, with_pages

_PURPOSE = "open a page in which you try a pattern on rows and see it move; it needs no Spark"
FAILED = 1  # exit status


def add_command(commands: Any) -> None:
    """Add `playground` to the parser."""
    command = commands.add_parser("playground", help=_PURPOSE, description=_PURPOSE)
    command.set_defaults(tool=run)
    rows = command.add_mutually_exclusive_group()
    rows.add_argument("rows", type=Path, nargs="?", metavar="FILE", help="the rows of a CSV, JSON or Parquet file")
    rows.add_argument("--csv", type=Path, metavar="FILE", help="the same")
    rows.add_argument("--table", metavar="NAME", help="the first 10,000 rows of a table, read once through Spark")
    rows.add_argument(
        "--example", type=int, choices=range(1, 11), metavar="N", default=1, help="lesson N, from 1 to 10 (default: 1)"
    )
    command.add_argument("--port", type=port, default=0, metavar="N", help="the port on loopback (default: a free one)")
    command.add_argument("--no-browser", action="store_true", help="only print the address")


def run(options: argparse.Namespace) -> int:
    """Serve the page until Ctrl+C; return the exit status."""
    from sqlext.playground.questions import Playground  # NumPy and Arrow take a second to load
    from sqlext.playground.server import PlaygroundServer

    try:
        own = _own_table(options)
        first = 0 if own is not None else options.example
        server = PlaygroundServer(Playground(own=own, first=first), options.port)
    except SqlExtError as error:
        print(with_pages(str(error)), file=sys.stderr)
        return FAILED
    except OSError as error:
        print(f"sqlext: port {options.port} cannot be used: {file_fault(error)}", file=sys.stderr)
        return FAILED
    print(f"The playground is at {server.address}\nCtrl+C ends it.", flush=True)
    if not options.no_browser:
        threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
    return 0


def _own_table(options: argparse.Namespace) -> Any:
    file = options.rows or options.csv
    if file is not None:
        from sqlext.playground.read_file import read_file

        return read_file(file)
    if options.table is not None:
        from sqlext.playground.spark_table import spark_table  # starts Spark

        print(f"Spark starts, and reads the rows of {options.table}.", file=sys.stderr, flush=True)
        return spark_table(options.table)
    return None
