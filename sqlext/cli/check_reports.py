"""Reports of errors in files: text for people, JSON and SARIF for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import metadata
from typing import Any
from urllib.parse import quote

from sqlext.error_pages import page
from sqlext.errors import SqlExtError
from sqlext.version import __version__

_NAMED = 3  # the files without a statement of ours that the last line names
_DISTRIBUTION = "spark-sqlext"
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True)
class Finding:
    """An error in a file. Its place, if it has one, is in the text of the file."""

    file: str
    error: SqlExtError

    @property
    def ends(self) -> tuple[int, int, int, int]:
        """Line and column, from 1, of the first character and of the character just past the last; the top of the file
        if the error has no place."""
        place = self.error.place
        if place is None:
            return 1, 1, 1, 1
        inside = place.written
        column = len(inside) - inside.rfind("\n") if "\n" in inside else place.column + len(inside)
        return place.line, place.column, place.line + inside.count("\n"), column


def as_text(findings: Sequence[Finding]) -> Iterator[str]:
    """`file:line:column: ` and the message, with the line of the file and carets below it.

    >>> from sqlext.errors import ParseError, Place
    >>> finding = Finding("a.sql", ParseError("UNEXPECTED_WORD", "no", place=Place("SELECT x\\ny z", 11, 12)))
    >>> print(*as_text([finding]), sep="\\n")
    a.sql:2:3: SQLEXT_UNEXPECTED_WORD: no
      2 | y z
        |   ^
    """
    for finding in findings:
        line, column, _, _ = finding.ends
        yield f"{finding.file}:{line}:{column}: {finding.error}"


def as_json(findings: Sequence[Finding]) -> Iterator[str]:
    """One array of objects."""
    yield json.dumps([_object(finding) for finding in findings], indent=2, ensure_ascii=False)


def _object(finding: Finding) -> dict[str, Any]:
    line, column, end_line, end_column = finding.ends
    return {
        "file": finding.file,
        "line": line,
        "column": column,
        "endLine": end_line,
        "endColumn": end_column,
        "errorClass": finding.error.error_class,
        "message": finding.error.message,
        "hint": finding.error.hint,
    }


def as_sarif(findings: Sequence[Finding]) -> Iterator[str]:
    """A log of SARIF 2.1.0 (OASIS standard) with one run, as editors and the code scanning of GitHub read it."""
    names = sorted({finding.error.error_class for finding in findings})
    rules = [{"id": name, **_help(name), **_help_uri()} for name in names]
    driver = {"name": "sqlext", "version": __version__, "rules": rules}
    results = [_result(finding, names.index(finding.error.error_class)) for finding in findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    yield json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    line, column, end_line, end_column = finding.ends
    region = {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}
    error = finding.error
    return {
        "ruleId": error.error_class,
        "ruleIndex": rule,
        "level": "error",
        "message": {"text": error.message + (f"\nHint: {error.hint}" if error.hint else "")},
        "locations": [
            {"physicalLocation": {"artifactLocation": {"uri": _uri(finding.file)}, "region": region}},
        ],
    }


def _help(name: str) -> dict[str, Any]:
    """The page of an error, if it has one, which editors and code scanning show beside a finding."""
    text = page(name)
    return {} if text is None else {"help": {"text": text, "markdown": text}}


def _help_uri() -> dict[str, str]:
    """The address of the published documents, if the metadata of the distribution has one."""
    for entry in metadata(_DISTRIBUTION).get_all("Project-URL") or []:
        label, _, address = entry.partition(", ")
        if label == "Documentation":
            return {"helpUri": f"{address.rstrip('/')}/language.md#errors"}
    return {}


def _uri(file: str) -> str:
    return quote(file.replace("\\", "/"))


def summary(findings: Iterable[Finding], files: int, plain: Sequence[str] = ()) -> str:
    """One line that counts files and errors. `plain`: the files without a statement of ours, in which nothing is
    checked.

    >>> summary([], 2)
    '2 files, no errors'
    >>> summary([], 9, ["a.sql", "b.sql"])
    '9 files, no errors; nothing of sqlext is in a.sql, b.sql, and plain Spark SQL is not checked'
    """
    count = len(list(findings))
    checked = "1 file" if files == 1 else f"{files} files"
    result = f"{checked}, {'no errors' if not count else '1 error' if count == 1 else f'{count} errors'}"
    if not plain:
        return result
    names = ", ".join(plain[:_NAMED]) + (f" and {len(plain) - _NAMED} more" if len(plain) > _NAMED else "")
    return f"{result}; nothing of sqlext is in {names}, and plain Spark SQL is not checked"
