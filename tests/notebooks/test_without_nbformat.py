"""The magics in a kernel that lacks the packages of the extra `notebook`, as that of an editor does."""

import subprocess
import sys

LOAD = """
import sys
sys.modules["nbformat"] = None
from pathlib import Path
from sqlext.errors import SetupError
from sqlext.notebooks import magics
from sqlext.notebooks.convert_notebook import read_notebook
file = Path(sys.argv[1])
file.write_text("{}")
try:
    read_notebook(file)
except SetupError as error:
    print(error.error_class, error.hint)
"""


def test_they_load_without_nbformat_and_a_notebook_says_what_to_install(tmp_path):
    command = [sys.executable, "-c", LOAD, str(tmp_path / "a.ipynb")]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout == "SQLEXT_NOTEBOOK_PACKAGES pip install 'spark-sqlext[notebook]'.\n"
