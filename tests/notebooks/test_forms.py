"""Notebooks in their three forms: what is read, and that conversions keep the cells."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

from sqlext.cli.main import main
from sqlext.errors import SqlExtError
from sqlext.notebooks.convert_notebook import read_notebook, write_notebook
from sqlext.notebooks.jupyter_form import from_jupyter, to_jupyter
from sqlext.notebooks.magic_line import options_of, parse_magic_line
from sqlext.notebooks.notebook_cells import MARKDOWN, PYTHON, RUN, SQL, Cell, Notebook
from sqlext.notebooks.source_form import read_source, write_source

HERE = Path(__file__).parent / "sources"
FILES = ["widgets_tour.sql", "prices.py"]
HEADER = "-- Databricks notebook source\n"

SOURCES = [
    ("SELECT 1\n", [Cell(SQL, "SELECT 1")]),
    ("SELECT 1\n\n-- COMMAND ----------\n\n-- MAGIC %md hi\n", [Cell(SQL, "SELECT 1"), Cell(MARKDOWN, "hi")]),
    ("-- MAGIC %python\n-- MAGIC x = 1\n-- MAGIC\n-- MAGIC print(x)", [Cell(PYTHON, "x = 1\n\nprint(x)")]),
    ("-- DBTITLE 1,Two  rows\nSELECT 2", [Cell(SQL, "SELECT 2", "Two  rows")]),
    ("-- MAGIC %run ./other $day=1", [Cell(RUN, "./other $day=1")]),
    ("-- MAGIC %md-sandbox\n-- MAGIC <b>", [Cell("md-sandbox", "<b>")]),
    ("-- a comment\n-- MAGIC is part of it", [Cell(SQL, "-- a comment\n-- MAGIC is part of it")]),
    ("\n\n-- COMMAND ----------\n\n", []),
]


@pytest.mark.parametrize(("text", "cells"), SOURCES)
def test_the_cells_of_a_source_are_read(text, cells):
    assert read_source(HEADER + text) == Notebook(SQL, tuple(cells))
    assert read_source(HEADER.replace("--", "#") + text.replace("-- ", "# ")).cells == tuple(
        Cell(PYTHON if c.language == SQL else c.language, c.text.replace("-- ", "# "), c.title) for c in cells
    )


LINES = """\
-- Databricks notebook source
-- MAGIC %md hi

-- COMMAND ----------
CREATE WIDGET TEXT a

-- COMMAND ----------


-- DBTITLE 1,In the form of a Python file

-- MAGIC %sql
-- MAGIC SELECT 1

-- COMMAND ----------

-- MAGIC %sql SELECT 2
-- COMMAND ----------
-- MAGIC %python
-- MAGIC
-- MAGIC x = 1
"""


def test_a_cell_has_the_line_of_the_file_in_which_its_text_begins(tmp_path):
    cells = [("md", "hi", 2), (SQL, "CREATE WIDGET TEXT a", 5), (SQL, "SELECT 1", 13), (SQL, "SELECT 2", 17),
             (PYTHON, "\nx = 1", 20)]  # fmt: skip
    notebook = read_source(LINES)
    assert [(cell.language, cell.text, line) for _, cell, line in notebook.numbered()] == cells
    (tmp_path / "plain.sql").write_text("\nSELECT 1\n-- COMMAND ----------\nSELECT 2")
    assert read_notebook(tmp_path / "plain.sql").lines == (2, 4)
    (tmp_path / "lines.sql").write_bytes(LINES.replace("\n", "\r\n").encode())
    assert read_notebook(tmp_path / "lines.sql").lines == notebook.lines


@pytest.mark.parametrize("name", FILES)
def test_a_source_is_written_as_it_was_read(name):
    text = (HERE / name).read_text("utf-8")
    assert read_source(write_source(read_source(text))) == read_source(text)
    assert write_source(read_source(text)) == text


MAGICS = [
    ("%%sql --view v --draw\nSELECT 1", Cell(SQL, "-- sqlext: --view v --draw\nSELECT 1")),
    ("%%sql --limit=5 kept <<\nSELECT 1", Cell(SQL, "-- sqlext: --limit=5 kept <<\nSELECT 1")),
    ("%%sql kept\nSELECT 1", Cell(SQL, "-- sqlext: kept\nSELECT 1")),
    ("%%sql SELECT 1,\n  2", Cell(SQL, "SELECT 1,\n  2")),
    ("%sql -d SELECT 1", Cell(SQL, "-- sqlext: -d\nSELECT 1")),
    ("%sql SELECT 1", Cell(SQL, "SELECT 1")),
    ("%sql SELECT 1\nx = 2", Cell(PYTHON, "%sql SELECT 1\nx = 2")),
    ("rows = %sql SELECT 1", Cell(PYTHON, "rows = %sql SELECT 1")),
    ("%%sql --bogus\nSELECT 1", Cell(PYTHON, "%%sql --bogus\nSELECT 1")),
    ("%%sh\nls -l", Cell("sh", "ls -l")),
]


@pytest.mark.parametrize(("source", "cell"), MAGICS)
def test_a_cell_of_jupyter_keeps_its_language_and_its_options(source, cell):
    node = to_jupyter(Notebook(PYTHON, (Cell(PYTHON, source),)))
    assert from_jupyter(node).cells == (cell,)
    assert read_source(write_source(Notebook(SQL, (cell,)))).cells == (cell,)
    if cell.language == SQL and cell.text.startswith("--"):
        assert parse_magic_line(options_of(cell.text), has_body=True) == replace(
            parse_magic_line(source.split("\n")[0].lstrip("%").removeprefix("sql"), has_body="\n" in source), sql=""
        )


def test_a_line_of_a_shell_stays_one_line():
    text = "-- Databricks notebook source\n-- MAGIC %sh ls -l\n"
    assert write_source(read_source(text)) == text


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("ending", [".sql", ".py", ".ipynb", ".SQL"])
def test_conversions_keep_the_cells(name, ending, tmp_path):
    notebook = read_notebook(HERE / name)
    write_notebook(notebook, tmp_path / f"n{ending}")
    write_notebook(read_notebook(tmp_path / f"n{ending}"), tmp_path / "back.ipynb")
    assert read_notebook(tmp_path / "back.ipynb").cells == notebook.cells


def test_a_notebook_for_jupyter_is_valid_and_its_cells_have_magics():
    node = to_jupyter(read_notebook(HERE / "widgets_tour.sql"))
    nbformat.validate(node)
    assert [cell.source.split("\n")[0] for cell in node.cells][:4] == [
        "%load_ext sqlext", "# Widgets", "%%sql", "%%sql",
    ]  # fmt: skip
    assert [cell.source for cell in node.cells if "%run" in cell.source] == ["%run ./prices"]


def test_a_notebook_that_databricks_exported_is_read():
    node = nbformat.from_dict({
        "nbformat": 4, "nbformat_minor": 0,
        "metadata": {"application/vnd.databricks.v1+notebook": {"language": "sql"}},
        "cells": [
            {"cell_type": "code", "source": "SELECT 1", "outputs": [], "execution_count": 0,
             "metadata": {"application/vnd.databricks.v1+cell": {"title": "One", "showTitle": True}}},
            {"cell_type": "code", "source": "%python\nprint(1)", "outputs": [], "metadata": {}, "execution_count": 0},
            {"cell_type": "code", "source": "%md\n# A", "outputs": [], "metadata": {}, "execution_count": 0},
            {"cell_type": "code", "source": "%run ./x", "outputs": [], "metadata": {}, "execution_count": 0},
        ],
    })  # fmt: skip
    cells = (Cell(SQL, "SELECT 1", "One"), Cell(PYTHON, "print(1)"), Cell(MARKDOWN, "# A"), Cell(RUN, "./x"))
    assert from_jupyter(node) == Notebook(SQL, cells)


def test_cells_without_an_id_are_read_without_a_warning(tmp_path, recwarn):
    cell = {"cell_type": "code", "source": "1", "outputs": [], "metadata": {}, "execution_count": None}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "n.ipynb").write_text(json.dumps(notebook))
    assert read_notebook(tmp_path / "n.ipynb").cells == (Cell(PYTHON, "1"),)
    assert list(recwarn) == []


@pytest.mark.parametrize(("name", "text"), [("a.txt", ""), ("b.ipynb", "{}"), ("c.ipynb", "no json"), ("d.sql", None)])
def test_a_file_that_is_no_notebook_is_an_error(name, text, tmp_path):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(SqlExtError, match="cannot read the notebook"):
        read_notebook(tmp_path / name)


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(SqlExtError, match="no ending of a notebook"):
        write_notebook(Notebook(SQL, ()), tmp_path / "n.txt")


def test_the_command_line_converts_a_notebook(tmp_path, capsys):
    file = tmp_path / "n.ipynb"
    assert main(["notebook", "convert", str(HERE / "prices.py"), "-o", str(file)]) == 0
    assert read_notebook(file) == read_notebook(HERE / "prices.py")
    assert main(["notebook", "convert", str(tmp_path / "none.sql"), "-o", str(file)]) == 1
    assert capsys.readouterr().err.startswith("SQLEXT_NOTEBOOK_FILE: cannot read the notebook")
