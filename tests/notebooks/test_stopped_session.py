"""A notebook whose session was stopped."""

import subprocess
import sys

import pytest

CELLS = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in ("%load_ext sqlext", "%sql SELECT 1 AS a", "spark.stop()", "%sql SELECT 2 AS a", "assert spark.range(3).count() == 3"):
    assert shell.run_cell(cell).success, cell
"""


@pytest.mark.spark
@pytest.mark.slow
def test_the_next_cell_starts_a_new_session(tmp_path):
    subprocess.run([sys.executable, "-c", CELLS], cwd=tmp_path, check=True, capture_output=True, timeout=300)
