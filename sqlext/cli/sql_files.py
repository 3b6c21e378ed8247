"""The files that a command reads, and their texts."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlext.errors import file_fault
from sqlext.rewriter.statements.sql_file import template_mark

STANDARD_INPUT = "-"
ENDING = ".sql"  # of the files of a folder, in any case


@dataclass(frozen=True)
class SqlFile:
    """`path` is None for standard input."""

    name: str
    text: str
    path: Path | None


@dataclass(frozen=True)
class Unread:
    """A file that was not read, and the reason. `is_error`: the file could not be read; if not, it was skipped."""

    name: str
    reason: str
    is_error: bool = True

    def __str__(self) -> str:
        return f"sqlext: {self.name} is {'not read' if self.is_error else 'passed over'}: {self.reason}"


def read_files(names: Sequence[str]) -> Iterator[SqlFile | Unread]:
    """The files with these names. A folder means all its files `*.sql`, and `-` means standard input.

    A folder without such files is Unread, because its name is probably a mistake. Line ends stay as they are.
    Templates are skipped.
    """
    for name in names:
        if name == STANDARD_INPUT or not Path(name).is_dir():
            yield _read(name)
            continue
        paths = [path for path in sorted(Path(name).rglob("*")) if path.suffix.lower() == ENDING and path.is_file()]
        if not paths:
            yield Unread(name, f"the folder has no file *{ENDING}")
        yield from (_read(str(path)) for path in paths)


def _read(name: str) -> SqlFile | Unread:
    path = None if name == STANDARD_INPUT else Path(name)
    try:
        text = sys.stdin.read() if path is None else path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return Unread(name, file_fault(error))
    mark = template_mark(text)
    if mark is not None:
        line = mark.place.line
        reason = f"line {line} has {mark.text} of Jinja. Run dbt compile, and name the file in target/compiled."
        return Unread(name, reason, is_error=False)
    return SqlFile(name if path is not None else "<stdin>", text, path)
