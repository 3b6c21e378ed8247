"""A notebook whose session was stopped."""

import subprocess
import sys

import pytest

CELLS = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
before, after = ["%load_ext sqlext", "%sql SELECT 1 AS a"], ["%sql SELECT 2 AS a", "assert spark.range(3).count() == 3"]
for cell in [*before, "spark.stop()", *after]:
    assert shell.run_cell(cell).success, cell
"""


@pytest.mark.spark
@pytest.mark.slow
def test_the_next_cell_starts_a_new_session(tmp_path):
    subprocess.run([sys.executable, "-c", CELLS], cwd=tmp_path, check=True, capture_output=True, timeout=300)
