"""`sqlext warm` and `sqlext pack`: compile kernels for the workers of a cluster, and write the package as one file."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from sqlext.errors import file_fault
from sqlext.spark.package_files import write_zip

_WARM = "compile all kernels in this environment, so that no worker has to"
_PACK = "write the package with its compiled kernels into FILE, a .zip for spark-submit --py-files"


def add_command(commands: Any) -> None:
    """Add `warm` and `pack` to the parser."""
    commands.add_parser("warm", help=_WARM, description=_WARM).set_defaults(tool=_warm)
    pack = commands.add_parser("pack", help=_PACK, description=_PACK)
    pack.set_defaults(tool=_pack)
    pack.add_argument("file", metavar="FILE", type=Path, help="a name that ends with .zip, as Python wants it")


def _warm(options: argparse.Namespace) -> int:
    from sqlext.sessions.warm import warm  # loads pyspark and Numba

    start = time.monotonic()
    clauses = sum(1 for _ in warm())
    print(f"the kernels of {clauses} clauses are compiled ({time.monotonic() - start:.1f} s)")
    return 0


def _pack(options: argparse.Namespace) -> int:
    if options.file.suffix != ".zip":
        print(f"sqlext: {options.file} does not end with .zip, and Python imports from no other file", file=sys.stderr)
        return 2
    _warm(options)
    try:
        write_zip(options.file)
    except OSError as error:
        print(f"sqlext: cannot write {options.file}: {file_fault(error)}", file=sys.stderr)
        return 1
    print(f"{options.file}: {options.file.stat().st_size / 1e6:.1f} MB")
    return 0
