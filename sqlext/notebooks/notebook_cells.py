"""A notebook as its cells: the common part of the three file forms (SQL source, Python source, ipynb)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

SQL, PYTHON, MARKDOWN, RUN = "sql", "python", "md", "run"
LANGUAGES = (SQL, PYTHON, MARKDOWN, RUN, "md-sandbox", "sh", "fs", "scala", "r")


@dataclass(frozen=True)
class Cell:
    """`language`: one of LANGUAGES; `text`: the text without the magic of the language. A cell of RUN has a path as its
    text."""

    language: str
    text: str
    title: str = ""


@dataclass(frozen=True)
class Notebook:
    """`language`: the language of the cells without a magic, SQL or PYTHON.

    `lines`: the line of the file in which the text of each cell begins, from 1; () in a form whose line numbers are of
    no use to a reader.
    """

    language: str
    cells: tuple[Cell, ...]
    lines: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def numbered(self) -> Iterator[tuple[int, Cell, int | None]]:
        """The number of each cell, the cell, and its line of the file."""
        for i, cell in enumerate(self.cells):
            yield i + 1, cell, self.lines[i] if self.lines else None


def split_magic(source: str, language: str) -> Cell:
    """The cell of a source as Databricks shows it: it begins with `%language`, unless that is the language of the
    notebook.

    >>> split_magic("%md\\n# Orders", SQL)
    Cell(language='md', text='# Orders', title='')
    >>> split_magic("%pip install x", PYTHON)
    Cell(language='python', text='%pip install x', title='')
    """
    head, _, _ = source.partition("\n")
    magic = head.split(maxsplit=1)[0] if head.strip() else ""
    if magic[:1] == "%" and magic[1:] in LANGUAGES:
        return Cell(magic[1:], source[len(magic) :].lstrip(" \t").removeprefix("\n"))
    return Cell(language, source)


def with_magic(cell: Cell, language: str) -> str:
    """The inverse of `split_magic`.

    >>> with_magic(Cell("sh", "ls -l"), SQL), with_magic(Cell(SQL, "SELECT 1"), PYTHON)
    ('%sh ls -l', '%sql\\nSELECT 1')
    """
    if cell.language == language:
        return cell.text
    is_line = cell.language not in (SQL, PYTHON) and "\n" not in cell.text and cell.text == cell.text.strip() != ""
    return f"%{cell.language}{' ' if is_line else chr(10)}{cell.text}"
