"""`sqlext format FILE…`: formats the clauses in files."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterator
from typing import Any

from sqlext.cli.check_reports import Finding, as_text
from sqlext.cli.sql_files import SqlFile, Unread, read_files
from sqlext.errors import SqlExtError
from sqlext.formatting.format_text import format_text

CLEAN, CHANGES, UNREADABLE = 0, 1, 2  # exit statuses
_PURPOSE = "lay out the clauses of the extended language in files; all else stays byte for byte"


def add_command(commands: Any) -> None:
    """Add `format` to the parser."""
    command = commands.add_parser("format", help=_PURPOSE, description=_PURPOSE)
    command.set_defaults(tool=run)
    command.add_argument(
        "files", nargs="+", metavar="FILE", help="a file, a folder with *.sql, or - for standard input and output"
    )
    command.add_argument("--check", action="store_true", help="write nothing; status 1 if a file would change")
    command.add_argument("--diff", action="store_true", help="write nothing but print the differences")


def run(options: argparse.Namespace) -> int:
    """Write the files, or only report which would change; the exit status is 2 if a file could not be read or has
    errors.

    A file with an error in one of its clauses is left as it is.
    """
    status = CLEAN
    for file in read_files(options.files):
        if isinstance(file, Unread):
            print(file, file=sys.stderr)
            status = max(status, UNREADABLE if file.is_error else CLEAN)
            continue
        try:
            new = format_text(file.text)
        except SqlExtError as error:
            print(*as_text([Finding(file.name, error)]), file=sys.stderr)
            status = UNREADABLE
            continue
        if _report(file, new, options):
            status = max(status, CHANGES)
    return status


def _report(file: SqlFile, new: str, options: argparse.Namespace) -> bool:
    """Write or show the new text. Return True if this is a finding."""
    is_changed = new != file.text
    if options.diff:
        sys.stdout.writelines(_difference(file, new))
    elif not options.check and file.path is None:
        sys.stdout.write(new)
    elif not options.check and is_changed and file.path is not None:
        file.path.write_bytes(new.encode("utf-8"))
    if is_changed and file.path is not None:
        verb = "would be laid out" if options.check or options.diff else "laid out"
        print(f"{file.name}: {verb}", file=sys.stderr)
    return is_changed and (options.check or options.diff)


def _difference(file: SqlFile, new: str) -> Iterator[str]:
    old_lines, new_lines = file.text.splitlines(keepends=True), new.splitlines(keepends=True)
    for line in difflib.unified_diff(old_lines, new_lines, file.name, f"{file.name} (laid out)"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
