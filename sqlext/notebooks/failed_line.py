"""The line of a cell in which it failed, and the corresponding line of the file."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from traceback import walk_tb
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from pyspark.errors import PySparkException

from sqlext.errors import SqlExtError, SqlExtErrors
from sqlext.notebooks.notebook_cells import Cell

_LINE_OF_SPARK = re.compile(r"\bline (\d+),? pos")


def line_in_file(cell: Cell, first_line: int, line: int | None, code: str) -> int:
    """The line of the file for a line of `code`, which IPython runs for a cell. The magic may be an additional line of
    `code`.

    `first_line`: the cell's first line in the file, which is the result if `line` is None.

    >>> line_in_file(Cell("sql", "SELECT 1;\\nSELECT x"), 30, 3, "%%sql\\nSELECT 1;\\nSELECT x")
    31
    """
    before = code.removesuffix(cell.text).count("\n")
    return first_line + max(0, line - 1 - before) if line is not None else first_line


def failed_line(error: BaseException | None, code: str, variables: Mapping[str, Any]) -> int | None:
    """The line of `code`, a cell as IPython runs it, in which it raised an error; None if the error does not show it.

    `variables`: the variables of the notebook.

    >>> from sqlext.errors import BindError, Place
    >>> code = "%%sql\\nSELECT 1;\\nSELECT x"
    >>> failed_line(BindError("X", "no x", place=Place(code, 23, 24)), code, {})
    3
    """
    if isinstance(error, SqlExtErrors):
        return next((line for each in error.errors if (line := failed_line(each, code, variables))), None)
    if isinstance(error, SqlExtError):
        place = error.place
        return place.line if place is not None and place.text.strip() in code else None
    if isinstance(error, PySparkException):
        match = _LINE_OF_SPARK.search(str(error))
        return int(match[1]) if match is not None else _line_of_python(error, variables)
    if isinstance(error, SyntaxError):
        return error.lineno
    return _line_of_python(error, variables)


def _line_of_python(error: BaseException | None, variables: Mapping[str, Any]) -> int | None:
    """The line of the cell itself. It is in the outermost code whose globals are the variables of the notebook."""
    frames = walk_tb(error.__traceback__ if error is not None else None)
    return next((line for frame, line in frames if frame.f_globals is variables), None)


def print_last_line(shell: InteractiveShell, code: str) -> None:
    """Print the line in which `code`, the last cell that a shell ran, failed; nothing if the error does not show it."""
    print(failed_line(getattr(sys, "last_value", None), code, shell.user_ns) or "")
