"""Notebooks in the source form of Databricks: `.sql` and `.py` files with `COMMAND ----------` between the cells.

Cells in another language than the file's are comments, `-- MAGIC %md …`; a title is a line `-- DBTITLE 1,…`.
"""

from __future__ import annotations

import re

from sqlext.errors import ParseError, Place
from sqlext.notebooks.notebook_cells import PYTHON, SQL, Cell, Notebook, split_magic, with_magic

_COMMENTS = {SQL: "--", PYTHON: "#"}
_TITLE = re.compile(r"(?:--|#) DBTITLE \d,(.*)\n?")
_BREAK = re.compile(r"^(?:--|#) COMMAND -+[ \t]*$", re.MULTILINE)
_HEADER = re.compile(r"\s*(--|#) Databricks notebook source[ \t]*(?:\n|$)")


def is_source(text: str) -> bool:
    """Return True if a file begins like a notebook in source form."""
    return _HEADER.match(text) is not None


def read_source(text: str) -> Notebook:
    """The cells of a file. Raises ParseError (NOTEBOOK_HEADER).

    >>> read_source("-- Databricks notebook source\\n-- DBTITLE 1,Two\\nSELECT 2\\n\\n-- COMMAND ----------\\n\\n-- MAGIC %md hi")
    Notebook(language='sql', cells=(Cell(language='sql', text='SELECT 2', title='Two'), Cell(language='md', text='hi', title='')))
    """  # noqa: E501
    text = text.replace("\r\n", "\n")
    header = _HEADER.match(text)
    if header is None:
        hint = "its first line is: -- Databricks notebook source (in a .py file with # for --)."
        raise ParseError("NOTEBOOK_HEADER", "this is no notebook in source form", place=Place(text, 0, 1), hint=hint)
    language = SQL if header[1] == "--" else PYTHON
    return read_cells(text, header.end(), language)


def read_cells(text: str, start: int, language: str) -> Notebook:
    """The cells of a text after its header; `language`: the language of the cells without a magic."""
    breaks = [match.span() for match in _BREAK.finditer(text, start)]
    starts, stops = [start, *(stop for _, stop in breaks)], [*(start for start, _ in breaks), len(text)]
    cells = [_read_cell(text, start, stop, language) for start, stop in zip(starts, stops)]
    kept = [(cell, line) for cell, line in cells if cell.text or cell.title]
    return Notebook(language, tuple(cell for cell, _ in kept), tuple(line for _, line in kept))


def _read_cell(text: str, start: int, stop: int, language: str) -> tuple[Cell, int]:
    """The cell between two offsets of a file, and the line in which its text begins."""
    start = _after_blank_lines(text, start)
    title = _TITLE.match(text, start, stop)
    start = _after_blank_lines(text, title.end()) if title else start
    lines = text[start:stop].strip("\n").split("\n")
    magic = f"{_COMMENTS[language]} MAGIC"
    is_comment = all(line.startswith(magic) for line in lines)
    source = "\n".join(line[len(magic) :].removeprefix(" ") for line in lines) if is_comment else "\n".join(lines)
    cell = split_magic(source, language) if is_comment else Cell(language, source)
    first_line = text.count("\n", 0, start) + 1 + source.removesuffix(cell.text).count("\n")
    return Cell(cell.language, cell.text, title[1].strip() if title else ""), first_line


def _after_blank_lines(text: str, start: int) -> int:
    return len(text) - len(text[start:].lstrip("\n"))


def write_source(notebook: Notebook) -> str:
    """The text of the file for a notebook; `read_source` reads the same cells from it."""
    mark = _COMMENTS[notebook.language]
    cells = f"\n\n{mark} COMMAND ----------\n\n".join(_write_cell(cell, notebook.language) for cell in notebook.cells)
    return f"{mark} Databricks notebook source\n{cells}\n"


def _write_cell(cell: Cell, language: str) -> str:
    source, mark = with_magic(cell, language), _COMMENTS[language]
    is_comment = cell.language != language or source.startswith("%")
    lines = source.split("\n")
    if is_comment:
        lines = [f"{mark} MAGIC {line}" if line else f"{mark} MAGIC" for line in lines]
    return "\n".join([*([f"{mark} DBTITLE 1,{cell.title}"] if cell.title else []), *lines])
