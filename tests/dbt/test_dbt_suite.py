"""One class of dbt's own suite for adapters in each run; `make test-dbt` runs all of them."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from tests.sampling import sample

from .test_sample_project import PYTHON, ROOT

SUITE = ROOT / "dbt/tests/test_adapter_suite.py"
CLASSES = re.findall(r"^class (Test\w+)", SUITE.read_text("utf-8"), re.MULTILINE)


@pytest.mark.slow
def test_a_class_of_dbts_own_suite_passes():
    if PYTHON is None:
        pytest.skip("dbt has an environment of its own, which `make test` and `make test-dbt` create")
    others = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    nodes = [f"{SUITE}::{name}" for name in sample(CLASSES, len(CLASSES))]
    command = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", *nodes]
    environment = {**others, "PYSPARK_PYTHON": str(PYTHON)}
    run = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-5000:] + run.stderr[-2000:]
