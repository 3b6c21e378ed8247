"""The driver of a stream between topics and tables is killed, and no row is lost or doubled.

Once, with one of the pipelines or the demo in turn; with all samples twenty times, with all of them.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.sampling import SAMPLE, sample

from .killed import PIPELINES

KILLS = "20" if SAMPLE == "all" else "1"
DEMO = "demo"


@pytest.mark.slow
@pytest.mark.parametrize("names", [sample([*PIPELINES, DEMO], len(PIPELINES) + 1)], ids="-".join)
def test_a_killed_driver_loses_and_doubles_no_row(kafka_jars, tmp_path, names):
    pipelines = [name for name in names if name != DEMO]
    if pipelines:
        run("tests.kafka.killed", tmp_path / "killed", KILLS, *pipelines)
    if DEMO in names:
        assert "0 are lost, and 0 doubled" in run("tests.kafka.demo", "10")


def run(module, *arguments) -> str:
    """What a program prints that succeeds."""
    process = subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr[-2000:]
    return process.stdout
