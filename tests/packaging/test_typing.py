"""A program of a user is clean under strict type checkers, against the installed wheel."""

from __future__ import annotations

import re
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.built_wheel import ROOT

README = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
# What the README does not use, with the type that a user expects. An `Any` would be an error of `assert_type`.
TYPES = """
from datetime import datetime
from typing import assert_type
from pyspark.sql import SparkSession
assert_type(sqlext.extend(spark), SparkSession)
assert_type(sqlext.session(format="iceberg", warehouse="tables", **{"spark.sql.shuffle.partitions": "4"}), SparkSession)
assert_type(sqlext.is_extended(spark), bool)
assert_type(sqlext.compile(query), str)
assert_type(sqlext.explain(query, {"floor": 18}), str)
sqlext.restore(spark)
assert_type(sqlext.__version__, str)
state = sqlext.state(stream)
if state is not None:
    assert_type(state.rows, int)
    assert_type(state.oldest, datetime | None)
try:
    spark.sql("SELECT 1")
except sqlext.SqlExtErrors as several:
    assert_type(several.errors, list[sqlext.SqlExtError])
except sqlext.SqlExtError as error:
    assert_type(error.error_class, str)
    assert_type(error.hint, str | None)
    if error.place is not None:
        assert_type((error.place.line, error.place.column), tuple[int, int])
"""
WRONG = "import sqlext\nsqlext.session(master=4)\nsqlext.no_such_name\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory, wheel) -> Path:
    """The Python of an environment with the wheel and the libraries of this Python, but without the checkout."""
    folder = tmp_path_factory.mktemp("typed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(packages)
    (packages / "libraries.pth").write_text("\n".join(site.getsitepackages()) + "\n", encoding="utf-8")
    return folder / "bin" / "python"


def mypy(python: Path, folder: Path, program: str) -> list[str]:
    """The lines of `mypy --strict`, without its last one."""
    (folder / "program.py").write_text(program, encoding="utf-8")
    words = ["--strict", "--python-version", "3.11", "--python-executable", str(python), "--config-file", ""]
    command = [sys.executable, "-m", "mypy", *words, "program.py"]
    environment = {"PATH": str(python.parent), "MYPY_CACHE_DIR": str(ROOT / ".mypy_cache" / "installed")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.splitlines()[:-1]


def test_the_python_of_the_readme_is_clean_under_strict_mypy(installed, tmp_path):
    assert mypy(installed, tmp_path, "\n".join(README) + TYPES) == []


def test_wrong_arguments_and_names_are_errors(installed, tmp_path):
    """So the first test is not clean because everything is `Any`."""
    errors = mypy(installed, tmp_path, WRONG)
    assert [re.sub(r".*\[(.*)\]$", r"\1", line) for line in errors] == ["arg-type", "attr-defined"]
