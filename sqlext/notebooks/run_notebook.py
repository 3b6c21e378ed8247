"""Executes a notebook in a Jupyter kernel with this Python, using nbclient, and writes it with its results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from nbconvert import HTMLExporter
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell
from traitlets.config import Config

from sqlext.errors import UnsupportedError
from sqlext.notebooks.convert_notebook import read_notebook
from sqlext.notebooks.databricks_names import NotebookExit
from sqlext.notebooks.failed_line import line_in_file
from sqlext.notebooks.jupyter_form import CELL, to_jupyter

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
HTML, JUPYTER = ".html", ".ipynb"


@dataclass(frozen=True, kw_only=True)
class NotebookRun:
    """`values`: the parameters, as text; `master`, `warehouse` and `conf` as in `sqlext.session`."""

    file: Path
    values: Mapping[str, str]
    master: str
    warehouse: Path
    conf: Mapping[str, str]


def check_output(output: Path) -> None:
    """Raise UnsupportedError (NOTEBOOK_FORM) for a file that is neither HTML nor ipynb."""
    if output.suffix.lower() not in (HTML, JUPYTER):
        raise UnsupportedError(
            "NOTEBOOK_FORM",
            f"{output} has no ending of an executed notebook",
            hint="write a file that ends in .html or .ipynb.",
        )


def run_notebook(run: NotebookRun, show: Callable[[str], None]) -> tuple[NotebookNode, str | None]:
    """The notebook with its results, and the message of the first cell that failed, after which no cell is run.

    `show` receives the results of each cell as text. Raises SetupError (NOTEBOOK_FILE).
    """
    notebook = read_notebook(run.file)
    node = to_jupyter(notebook)
    specs = KernelSpecManager()
    # so that the kernel uses this Python, not another one that is installed under the name python3
    specs.kernel_dirs = []
    manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=specs)
    folder = str(run.file.absolute().parent)
    client = NotebookClient(node, km=manager, timeout=None, resources={"metadata": {"path": folder}})
    # only errors, because the kernel warns that it listens on this machine
    client.extra_arguments = ["--IPKernelApp.log_level=40"]
    arguments = f"{run.master!r}, {str(run.warehouse.absolute())!r}, {dict(run.conf)!r}, {dict(run.values)!r}"
    set_up = f"from sqlext.notebooks.kernel_setup import set_up\nset_up(get_ipython(), {arguments})\ndel set_up"
    with client.setup_kernel(cwd=folder, cleanup_kc=True):
        with _unseen(node):
            failure = _execute(client, new_code_cell(set_up), 0, show)
        if failure is not None:
            return node, f"{run.file}: the start of Spark{failure}"
        for number, cell, first_line in notebook.numbered():
            code = node.cells[number]
            failure = _execute(client, code, number, show)
            if failure:
                line = first_line and line_in_file(cell, first_line, _failed_line(client, code.source), code.source)
                name = f"cell {number} ({cell.title})" if cell.title else f"cell {number}"
                failure = f"{run.file}{f':{line}' if line else ''}: {name}{failure}"
            if failure is not None:
                return node, failure or None
    return node, None


@contextmanager
def _unseen(node: NotebookNode) -> Iterator[None]:
    """In the `with` block, a cell may run as number 0 without replacing the notebook's own cell 0."""
    load = node.cells[0]
    yield
    node.cells[0] = load  # nbclient has put the cell that ran into this place


def _failed_line(client: NotebookClient, code: str) -> int | None:
    """The line of a cell in which it failed; None if the kernel does not know it."""
    question = f"__import__('sqlext.notebooks.failed_line', fromlist=['_']).print_last_line(get_ipython(), {code!r})"
    answers: list[str] = []
    with _unseen(client.nb):
        failure = _execute(client, new_code_cell(question), 0, answers.append)
    return int(answers[0]) if failure is None and answers and answers[0].isdecimal() else None


def _execute(client: NotebookClient, cell: NotebookNode, number: int, show: Callable[[str], None]) -> str | None:
    """Run a cell. Returns None if it succeeded, "" if it ended the notebook successfully, otherwise the reason why it
    failed."""
    failure = None
    try:
        client.execute_cell(cell, number)
    except DeadKernelError:
        failure = ": the kernel died"
    except CellExecutionError as error:
        message = _traceback(cell) or f"{error.ename}: {error.evalue}"
        failure = "" if error.ename == NotebookExit.__name__ else f" failed:\n{message}"
    for output in cell.get("outputs", []):
        text = output.get("text") or output.get("data", {}).get("text/plain", "")
        if text:
            show(text.rstrip("\n"))
    return failure


def _traceback(cell: NotebookNode) -> str:
    lines = [line for output in cell.outputs if output.output_type == "error" for line in output.traceback]
    return _COLOURS.sub("", "\n".join(lines))


def write_executed(node: NotebookNode, output: Path) -> None:
    """Write an executed notebook as HTML or ipynb. Raises OSError."""
    if output.suffix.lower() == JUPYTER:
        output.write_text(nbformat.writes(node) + "\n", encoding="utf-8")
        return
    page = nbformat.from_dict({**node, "cells": [part for cell in node.cells[1:] for part in _with_title(cell)]})
    config = Config()
    config.HighlightMagicsPreprocessor.enabled = True
    exporter = HTMLExporter(config=config, exclude_input_prompt=True, exclude_output_prompt=True)
    text, _ = exporter.from_notebook_node(page, resources={"metadata": {"name": output.stem}})
    output.write_text(text, encoding="utf-8")


def _with_title(cell: NotebookNode) -> list[NotebookNode]:
    title = cell.metadata.get(CELL, {}).get("title")
    return [new_markdown_cell(f"#### {title}"), cell] if title else [cell]
