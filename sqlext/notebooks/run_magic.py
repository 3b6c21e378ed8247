"""`%run ./other`: runs the cells of another notebook here, with its variables and widgets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell

from sqlext.notebooks.convert_notebook import ENDINGS, read_notebook
from sqlext.notebooks.failed_line import failed_line, line_in_file
from sqlext.notebooks.jupyter_form import code_of
from sqlext.notebooks.notebook_cells import MARKDOWN
from sqlext.notebooks.source_form import is_source
from sqlext.notebooks.widgets import Widgets

_LINE = re.compile(r"""\s*("[^"]*"|'[^']*'|[^\s$]+)((?:\s+\$\w+=(?:"[^"]*"|'[^']*'|\S+))*)\s*$""")
_VALUE = re.compile(r"""\$(\w+)=("[^"]*"|'[^']*'|\S+)""")


class NotebookFailure(Exception):
    """A cell of the notebook that `%run` names has failed; the error of the cell has been shown before."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def parse_run_line(line: str) -> tuple[str, dict[str, str]] | None:
    """The path and the values of `%run path $name="value" …`; None for other lines.

    >>> parse_run_line('./setup $day="2026-01-31" $n=3')
    ('./setup', {'day': '2026-01-31', 'n': '3'})
    """
    match = _LINE.match(line)
    if match is None:
        return None
    return _bare(match[1]), {name: _bare(value) for name, value in _VALUE.findall(match[2])}


def _bare(text: str) -> str:
    return text[1:-1] if text[:1] in ("'", '"') else text


def notebook_file(path: str, folder: Path) -> Path | None:
    """The notebook that a path names, with or without its ending; None if the path names another file or no file.

    A Python file is a notebook only in the source form of Databricks.
    """
    named = folder / path
    for file in [named, *(named.with_name(named.name + ending) for ending in ENDINGS)]:
        if file.suffix.lower() in ENDINGS and file.is_file():
            is_program = file.suffix.lower() == ".py" and not is_source(file.read_text(encoding="utf-8-sig"))
            return None if is_program else file
    return None


def run_cells(file: Path, shell: InteractiveShell, widgets: Widgets, values: dict[str, str]) -> None:
    """Run the cells of a notebook in a shell, in the folder of the notebook. Raises NotebookFailure, and an
    interrupt as it is."""
    widgets.receive(values)
    notebook = read_notebook(file)
    with _folder(file.parent):
        for number, cell, first_line in notebook.numbered():
            if cell.language in (MARKDOWN, "md-sandbox"):
                continue
            code = code_of(cell)
            result = shell.run_cell(code, store_history=False)
            if not result.success:
                error = result.error_before_exec or result.error_in_exec
                if isinstance(error, KeyboardInterrupt):
                    raise error
                line = first_line and line_in_file(cell, first_line, failed_line(error, code, shell.user_ns), code)
                raise NotebookFailure(f"{file.name}{f':{line}' if line else ''}: cell {number} failed")


@contextmanager
def _folder(folder: Path) -> Iterator[None]:
    """Paths in the `with` block are relative to a folder. (contextlib.chdir needs Python 3.11.)"""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
