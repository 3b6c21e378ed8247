"""`sqlext notebook run` with a real Jupyter kernel: one kernel for notebooks of all three forms."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest

from sqlext.cli.main import main
from sqlext.notebooks.run_notebook import write_executed

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
COMMAND = (ROOT / "docs/tools.md").read_text("utf-8").partition("\nsqlext notebook run ")[2]  # a file and a parameter
TABLES = """\
┏━━━━┳━━━━━━┳━━━━━━━┓
┃ id ┃ cut  ┃ price ┃
┡━━━━╇━━━━━━╇━━━━━━━┩
│  1 │ Good │   326 │
│  3 │ Good │   327 │
│  5 │ Good │  NULL │
└────┴──────┴───────┘
3 rows
{'cuts': 'Good', 'state': 'CA', 'database': 'default', 'filter_value': '326', 'table': 'diamonds', \
'colors': 'orange', 'fruits': 'apple'}
┏━━━━┓
┃ id ┃
┡━━━━┩
│  1 │
│  2 │
└────┘
2 rows
┏━━━━━━━━━━━┳━━━━━━━━━━━┳━━━━━━━━━━━━━┓
┃ namespace ┃ tableName ┃ isTemporary ┃
┡━━━━━━━━━━━╇━━━━━━━━━━━╇━━━━━━━━━━━━━┩
│ default   │ diamonds  │ false       │
└───────────┴───────────┴─────────────┘
1 row
┏━━━━━━┳━━━━━━━┳━━━━━━┳━━━━━━━┓
┃ cuts ┃ state ┃ cut  ┃ price ┃
┡━━━━━━╇━━━━━━━╇━━━━━━╇━━━━━━━┩
│ Good │ CA    │ Good │   327 │
└──────┴───────┴──────┴───────┘
1 row
Good 326 327
┏━━━━━━┳━━━━━━━┳━━━━━━┳━━━━━━━┓
┃ cuts ┃ state ┃ cut  ┃ price ┃
┡━━━━━━╇━━━━━━━╇━━━━━━╇━━━━━━━┩
│ Good │ CA    │ Good │   327 │
└──────┴───────┴──────┴───────┘
1 row
┏━━━━━━┓
┃ days ┃
┡━━━━━━┩
│    9 │
└──────┘
1 row
┏━━━━━━━━┳━━━━━━━━━━━┳━━━━━━━━━━━━┓
┃ symbol ┃ fell_from ┃ rose_until ┃
┡━━━━━━━━╇━━━━━━━━━━━╇━━━━━━━━━━━━┩
│ ACME   │         1 │          4 │
│ ACME   │         6 │          7 │
│ GLOBEX │         3 │          4 │
└────────┴───────────┴────────────┘
3 rows
"""
FAILURE = """\
{file}:21: cell 5 (A mistake) failed:
SQLEXT_UNKNOWN_PATTERN_VARIABLE: DEFINE names "b", which PATTERN does not use
  4 |   ORDER BY day PATTERN (a) DEFINE b AS true)
    |                                   ^
Hint: the pattern variables are a.
For more: sqlext explain-error UNKNOWN_PATTERN_VARIABLE
"""


@pytest.fixture
def folder(tmp_path):
    """The notebooks of these tests; the one of widgets is converted for Jupyter."""
    sources = tmp_path / "sources"
    shutil.copytree(HERE / "sources", sources)
    file, _, parameter = COMMAND.split()[:3]
    shutil.copy(ROOT / file, sources)
    assert f"%run ./{Path(file).stem} ${parameter}\n" in (sources / "all_forms.sql").read_text("utf-8")
    tour = sources / "widgets_tour.sql"
    assert main(["notebook", "convert", str(tour), "-o", str(tour.with_suffix(".ipynb"))]) == 0
    tour.unlink()
    return sources


@pytest.mark.slow
def test_a_notebook_runs_in_a_kernel_until_a_cell_fails(folder, tmp_path, capfd):
    file, output = folder / "all_forms.sql", tmp_path / "run.ipynb"
    arguments = ["--master", "local[2]", "--warehouse", str(tmp_path / "tables"), "--param", "filter_value=326"]
    status = main(["notebook", "run", str(file), *arguments, "-o", str(output)])
    assert (status, capfd.readouterr().err) == (1, FAILURE.format(file=file))

    node = nbformat.read(output, as_version=4)
    nbformat.validate(node)
    load, tour, stream, stopped, rebounds, mistake, rest = node.cells
    assert load.source == "%load_ext sqlext"
    text = "\n".join(o.get("text", "").strip("\n") or o.data["text/plain"] for o in tour.outputs)
    assert text == TABLES.strip("\n")
    progress, table = stream.outputs
    assert progress.data["text/plain"].startswith("stream rebounds, state ended, batch 1, rows 9, ")
    assert "│ ACME   │     15 │    21 │" in table.data["text/plain"]
    assert stopped.outputs[0].data["text/plain"].startswith("stream copies, state ")
    assert len([o for o in stopped.outputs if "application/vnd.jupyter.widget-view+json" in o.get("data", {})]) == 1
    assert stopped.outputs[-1].text == "[True] []\n"
    assert [o.get("data", o).get("text/plain", o.get("text")) for o in rebounds.outputs[1:]] == [
        "<drawing: 2 matches in 18 rows>", "the deepest fall ends at 27\n",
    ]  # fmt: skip
    assert "│ GLOBEX │ 2026-03-05 │ 2026-03-09 │     27 │     3 │" in rebounds.outputs[0].data["text/plain"]
    assert "<svg" in rebounds.outputs[1].data["text/html"]
    assert [o.output_type for o in mistake.outputs] == ["display_data", "error"]
    assert "outputs" not in rest or rest.outputs == []

    write_executed(node, tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text("utf-8")
    assert '<td class="number null">NULL</td>' in page
    assert "<h4" in page and "A mistake" in page and "SQLEXT_UNKNOWN_PATTERN_VARIABLE" in page
