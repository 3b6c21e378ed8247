"""A refresh that is killed is repeated by the next process without harm: once, with all samples ten times."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.sampling import SAMPLE


@pytest.mark.slow
def test_a_refresh_that_is_killed_is_repeated_without_harm(tmp_path):
    program = Path(__file__).with_name("killed.py")
    command = [sys.executable, program, tmp_path, "10" if SAMPLE == "all" else "1"]
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr[-2000:]
