"""Notebook files in their three forms: `.sql` and `.py` in the source form of Databricks, and `.ipynb`."""

from __future__ import annotations

import warnings
from pathlib import Path

from sqlext.errors import SetupError, UnsupportedError, file_fault
from sqlext.notebooks.jupyter_form import from_jupyter, to_jupyter
from sqlext.notebooks.notebook_cells import PYTHON, SQL, Notebook
from sqlext.notebooks.source_form import is_source, read_cells, read_source, write_source

ENDINGS = {".sql": SQL, ".py": PYTHON, ".ipynb": None}  # the language of the cells without a magic in such a file


def read_notebook(file: Path) -> Notebook:
    """The notebook in a file.

    A `.sql` or `.py` file that is not in source form is read as a notebook of one cell. Raises SetupError
    (NOTEBOOK_FILE) if the file cannot be read.
    """
    if file.suffix.lower() not in ENDINGS:
        raise _unreadable(file, "it is neither .sql nor .py nor .ipynb")
    try:
        text = file.read_text(encoding="utf-8-sig")
        if file.suffix.lower() == ".ipynb":
            return _read_jupyter(text)
    except (OSError, ValueError, AttributeError, KeyError) as error:
        reason = file_fault(error) if isinstance(error, (OSError, UnicodeDecodeError)) else str(error)
        raise _unreadable(file, reason) from None
    if is_source(text):
        return read_source(text)
    return read_cells(text.replace("\r\n", "\n"), 0, SQL if file.suffix.lower() == ".sql" else PYTHON)


def _read_jupyter(text: str) -> Notebook:
    """Raises ValueError, AttributeError and KeyError for a text that is no notebook, and SetupError."""
    try:
        import nbformat  # here, because magics work without it
    except ModuleNotFoundError as error:
        raise missing_package(error) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nbformat's about cells without an id, which it gives them
        try:
            return from_jupyter(nbformat.reads(text, as_version=4))
        except nbformat.ValidationError as error:
            raise ValueError(str(error)) from None


def missing_package(error: ModuleNotFoundError) -> SetupError:
    """The error for a package of the extra `notebook` that is not installed."""
    hint = "pip install 'spark-sqlext[notebook]'."
    return SetupError("NOTEBOOK_PACKAGES", f"the package {error.name} is not installed", hint=hint)


def _unreadable(file: Path, reason: str) -> SetupError:
    hint = "a notebook is a .sql or .py file in the source form of Databricks, or an .ipynb file."
    return SetupError("NOTEBOOK_FILE", f"cannot read the notebook {file}: {reason}", hint=hint)


def write_notebook(notebook: Notebook, file: Path) -> None:
    """Write a notebook in the form that the file's ending names.

    The cells without a magic are then SQL in a `.sql` file and Python in a `.py` file. Raises UnsupportedError
    (NOTEBOOK_FORM) for other endings, and OSError.
    """
    if file.suffix.lower() not in ENDINGS:
        raise UnsupportedError(
            "NOTEBOOK_FORM",
            f"{file} has no ending of a notebook",
            hint="write a file that ends in .sql, .py or .ipynb.",
        )
    language = ENDINGS[file.suffix.lower()]
    if language is None:
        import nbformat

        file.write_text(nbformat.writes(to_jupyter(notebook)) + "\n", encoding="utf-8")
    else:
        file.write_text(write_source(Notebook(language, notebook.cells)), encoding="utf-8")
