"""The driver of a stream between topics and tables is killed, and no row is lost or doubled.

Once, with one of the pipelines in turn; with all samples twenty times, with all of them.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.sampling import SAMPLE, sample

from .killed import PIPELINES

KILLS = "20" if SAMPLE == "all" else "1"


@pytest.mark.slow
def test_a_killed_driver_loses_and_doubles_no_row(kafka_jars, tmp_path):
    names = sample(list(PIPELINES), len(PIPELINES))
    command = [sys.executable, "-m", "tests.kafka.killed", tmp_path / "killed", KILLS, *names]
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr[-2000:]
    assert process.stdout.startswith(f"{KILLS} kills")
