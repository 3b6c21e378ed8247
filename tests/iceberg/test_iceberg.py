"""Iceberg on the Spark for which it has a build: a sample each day, in an environment that the Makefile makes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv" / "spark-4.1" / "bin" / "python"


@pytest.mark.slow
def test_statements_over_iceberg_give_their_rows():
    if not PYTHON.exists():
        pytest.skip("make .venv/spark-4.1/installed brings the Spark for which Iceberg has a build")
    ours = {"SQLEXT_TEST_FORMAT": "iceberg", "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": str(PYTHON)}
    command = [PYTHON, "-m", "tests.iceberg.measure"]
    process = subprocess.run(command, cwd=ROOT, env={**os.environ, **ours}, capture_output=True, text=True)
    if "SQLEXT_JAR_NOT_FOUND" in process.stdout + process.stderr:
        pytest.skip("Maven Central, which has Iceberg's jar, cannot be reached")
    assert process.returncode == 0, process.stdout[-3000:] + process.stderr[-3000:]
