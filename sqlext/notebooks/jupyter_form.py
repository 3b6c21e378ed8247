"""Notebooks in Jupyter's form, nbformat: cells of SQL begin with `%%sql`.

Databricks writes the same form with only `%sql` on the first line, and with its own metadata; both are read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sqlext.notebooks.magic_line import with_options_in_comment
from sqlext.notebooks.notebook_cells import MARKDOWN, PYTHON, RUN, SQL, Cell, Notebook, split_magic

if TYPE_CHECKING:  # the magics work without nbformat
    from nbformat import NotebookNode

LOAD = "%load_ext sqlext"  # the first cell of a notebook that we write
_DATABRICKS, CELL = "application/vnd.databricks.v1+notebook", "application/vnd.databricks.v1+cell"  # Databricks' keys
# the key of the language of a notebook that we converted, in which the cells without a magic are Python
_OURS = "sqlext"
_MAGIC_LINE = re.compile(r"%%?(sql|sh|fs|scala|r)[ \t]*\n")
_SQL_LINE = re.compile(r"%%sql[ \t]+(\S[^\n]*)(?:\n|$)|%sql[ \t]+(\S[^\n]*)$")


def to_jupyter(notebook: Notebook) -> NotebookNode:
    """The notebook for Jupyter with a Python kernel."""
    from nbformat.v4 import new_code_cell, new_notebook

    cells = [new_code_cell(LOAD), *map(_to_jupyter_cell, notebook.cells)]
    metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python", "pygments_lexer": "ipython3"},
        _OURS: {"language": notebook.language},
    }
    for i, cell in enumerate(cells):
        cell["id"] = f"cell-{i}"  # so a conversion gives the same file each time
    return new_notebook(cells=cells, metadata=metadata)


def _to_jupyter_cell(cell: Cell) -> NotebookNode:
    from nbformat.v4 import new_code_cell, new_markdown_cell

    metadata: dict[str, Any] = {CELL: {"title": cell.title, "showTitle": True}} if cell.title else {}
    if cell.language in (MARKDOWN, "md-sandbox"):
        metadata |= {"language": cell.language} if cell.language != MARKDOWN else {}
        return new_markdown_cell(cell.text, metadata=metadata)
    return new_code_cell(code_of(cell), metadata=metadata)


def code_of(cell: Cell) -> str:
    """The code that IPython runs for a cell."""
    if cell.language == PYTHON:
        return cell.text
    if cell.language == RUN:
        return f"%run {cell.text}"
    return f"%%{cell.language}\n{cell.text}"


def from_jupyter(node: NotebookNode) -> Notebook:
    """The cells of a notebook in nbformat 4; outputs are left out."""
    databricks = node.metadata.get(_DATABRICKS, {}).get("language")
    cells = tuple(_from_jupyter_cell(cell, databricks) for cell in node.cells)
    if cells and cells[0] == Cell(PYTHON, LOAD):
        cells = cells[1:]
    language = databricks or node.metadata.get(_OURS, {}).get("language", PYTHON)
    return Notebook(language, tuple(cell for cell in cells if cell.text or cell.title))


def _from_jupyter_cell(cell: NotebookNode, databricks: str | None) -> Cell:
    """The cell. `databricks`: the language of a notebook that Databricks wrote."""
    title = cell.metadata.get(CELL, {}).get("title", "")
    if cell.cell_type != "code":
        return Cell(cell.metadata.get("language", MARKDOWN), cell.source, title)
    magic = _MAGIC_LINE.match(cell.source)
    if magic is not None:
        return Cell(magic[1], cell.source[magic.end() :], title)
    options = _SQL_LINE.match(cell.source) if databricks is None else None
    if options is not None:
        line = options[1] or options[2]
        sql = with_options_in_comment(line, cell.source[options.end() :], has_body=options[1] is not None)
        return Cell(PYTHON, cell.source, title) if sql is None else Cell(SQL, sql, title)
    is_path = cell.source.startswith("%run ") and "\n" not in cell.source
    if databricks is not None or is_path:
        split = split_magic(cell.source, databricks or PYTHON)
        return Cell(split.language, split.text, title)
    return Cell(PYTHON, cell.source, title)
