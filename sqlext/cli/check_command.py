"""`sqlext check FILE…`: reports the errors in the statements of files, without running them."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from sqlext.cli.check_reports import Finding, as_json, as_sarif, as_text, summary
from sqlext.cli.sql_files import SqlFile, Unread, read_files
from sqlext.formatting.check_syntax import check_text, has_ours, warnings_of

CLEAN, FINDINGS, UNREADABLE = 0, 1, 2  # exit statuses
CATALOG = "catalog"
_REPORTS = {"text": as_text, "json": as_json, "sarif": as_sarif}
_PURPOSE = "check the statements of files without running them"


def add_command(commands: Any) -> None:
    """Add `check` to the parser."""
    check = commands.add_parser("check", help=_PURPOSE, description=_PURPOSE)
    check.set_defaults(tool=run)
    check.add_argument("files", nargs="+", metavar="FILE", help="a file, a folder with *.sql, or - for standard input")
    check.add_argument(
        "--schema",
        metavar="FILE",
        help="check names and types too, against the CREATE TABLE statements of FILE, or against `catalog`: the tables "
        "of the warehouse",
    )
    check.add_argument("--warehouse", metavar="DIR", help="for --schema catalog (default: spark-warehouse)")
    check.add_argument("--format", choices=_REPORTS, default="text", dest="form", help="default: %(default)s")


def run(options: argparse.Namespace) -> int:
    """Print the findings, and return the exit status: 0 for none, 1 for some, 2 if a file could not be read."""
    entries = list(read_files(options.files))
    files = [entry for entry in entries if isinstance(entry, SqlFile)]
    unread = [entry for entry in entries if isinstance(entry, Unread)]
    for file in unread:
        print(file, file=sys.stderr)
    schema = _schema(options.schema)
    if isinstance(schema, Unread):
        print(schema, file=sys.stderr)
        return UNREADABLE
    if options.schema is None:
        findings = [Finding(file.name, error) for file in files for error in check_text(file.text)]
    else:
        from sqlext.cli.check_names import findings_with_names  # PySpark takes half a second to load

        findings = findings_with_names(files, schema, options.warehouse)
    for report in _REPORTS[options.form](findings):
        print(report)
    for checked in files:
        for line, sentence in warnings_of(checked.text):
            print(f"{checked.name}:{line}: warning: {sentence}", file=sys.stderr)
    if options.form == "text" and files:
        plain = [file.name for file in files if options.schema is None and not has_ours(file.text)]
        print(summary(findings, len(files), plain), file=sys.stderr)
    if any(file.is_error for file in unread):
        return UNREADABLE
    return FINDINGS if findings else CLEAN


def _schema(name: str | None) -> SqlFile | Unread | None:
    """The file of DDL; None if there is none, or if the catalog is used."""
    if name in (None, CATALOG):
        return None
    files = list(read_files([name]))
    return files[0] if len(files) == 1 else Unread(name, f"--schema takes one file, and the folder has {len(files)}")
