"""Cells in a real IPython shell, with the session that the tests share, and what each of them shows."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

HERE = Path(__file__).parent
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def cells() -> list[tuple[str, str, str]]:
    """(name, cell, output) of the data file: what is printed and errors, then what is displayed; `…` is any text."""
    parts = re.split(r"^## (.*)\n", (HERE / "cells.txt").read_text("utf-8"), flags=re.MULTILINE)[1:]
    named = zip(parts[::2], parts[1::2])
    return [(name, *(half.strip("\n") for half in text.split(">>", 1))) for name, text in named]


@pytest.fixture(scope="module")
def shell(spark):
    """A shell in the folder of the notebooks. Its cells see the variables of those before them."""
    before, shell = os.getcwd(), InteractiveShell.instance(colors="nocolor")
    os.chdir(HERE / "sources")
    os.environ.setdefault("PLOOMBER_STATS_ENABLED", "false")  # jupysql reports its use otherwise
    shell.user_ns.update(spark=spark, lowest=5, table="numbers")
    shell.run_cell("%load_ext sqlext")
    yield shell
    os.chdir(before)
    InteractiveShell.clear_instance()
    for view in ("numbers", "prices"):
        spark.catalog.dropTempView(view)


def shown(shell: InteractiveShell, cell: str) -> str:
    with capture_output() as captured:
        shell.run_cell(cell)
    printed = _COLOURS.sub("", captured.stdout)
    return "\n".join([*printed.strip("\n").split("\n"), *(o.data["text/plain"] for o in captured.outputs)]).strip("\n")


def test_each_cell_shows_what_stands_below_it(shell):
    wrong = []
    for name, cell, output in cells():
        actual = "\n".join(line.rstrip() for line in shown(shell, cell).split("\n"))
        expected = "\n".join(line.rstrip() for line in output.split("\n"))
        pattern = re.escape(expected).replace("…", ".*")
        if re.fullmatch(pattern, actual, re.DOTALL) is None:
            wrong.append(f"## {name}\n{actual}")
    if wrong:
        pytest.fail("\n\n".join(wrong), pytrace=False)
