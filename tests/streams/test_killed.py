"""The driver is killed while it writes: nothing is lost or doubled (killed.py does it twenty times)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_a_killed_stream_goes_on_as_if_nothing_had_happened(tmp_path):
    program = Path(__file__).parent / "killed.py"
    done = subprocess.run([sys.executable, program, tmp_path / "stream", "2"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip().splitlines()[-1].startswith("2 kills")
