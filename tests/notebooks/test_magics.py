"""Cells in a real IPython shell, with the session that the tests share, and what each of them shows."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbformat.v4 import new_code_cell, new_notebook, new_output

from sqlext.notebooks.run_notebook import write_executed

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


def test_the_page_of_a_notebook_has_the_pictures_and_every_value_is_escaped(shell, tmp_path):
    """What `sqlext notebook run -o page.html` writes of cells that have run."""
    hostile = "</text></pre><script>alert(1)</script>"
    rows = ", ".join(f"('{hostile}', {n}, {v})" for n, v in enumerate([9, 5, 5, 6]))
    query = f"""SELECT * FROM VALUES {rows} AS t (`<b>k`, n, `<b>v`) MATCH_RECOGNIZE (
      PARTITION BY `<b>k` ORDER BY n MEASURES A.`<b>v` AS a PATTERN (A B C)
      DEFINE B AS `<b>v` < PREV(`<b>v`), C AS `<b>v` > PREV(`<b>v`) AND `<b>k` = '{hostile}')"""
    shell.run_cell("%reload_ext sqlext")  # %sql is jupysql's after the cells that load it
    outputs = []
    for options in ("--why", "--draw"):
        with capture_output() as captured:
            shell.run_cell(f"%%sql {options}\n{query}")
        outputs += [new_output("display_data", data=shown.data) for shown in captured.outputs]
    page, cell = tmp_path / "page.html", new_code_cell(query, outputs=outputs)
    write_executed(new_notebook(cells=[new_code_cell("%load_ext sqlext"), cell]), page)
    text = page.read_text("utf-8")
    assert len(re.findall(r'<svg [^>]*viewbox="0 0 648 ', text, re.IGNORECASE)) == 2
    assert "1 start row reached B, and then no row was C" in text
    assert "<script>alert" not in text and "<b>" not in text
    assert "no C: `&lt;b&gt;v` &gt; PREV(`&lt;b&gt;v`) is false" in text  # the label of the near miss
