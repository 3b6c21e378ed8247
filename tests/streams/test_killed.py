"""The driver is killed while it writes, and no row is lost or doubled (killed.py kills it twenty times)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_a_killed_stream_resumes_without_losing_or_doubling_rows(tmp_path):
    program = Path(__file__).parent / "killed.py"
    process = subprocess.run([sys.executable, program, tmp_path / "stream", "2"], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr[-2000:]
    assert process.stdout.strip().splitlines()[-1].startswith("2 kills")
