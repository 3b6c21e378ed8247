"""The driver is killed while it writes, and no row is lost or doubled.

Once, with one of the tables in turn; with all samples twenty times, with all tables.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.sampling import SAMPLE, sample

TABLES = ["decided", "firings", "latest", "nearest", "alerts"]
KILLS = "20" if SAMPLE == "all" else "1"


@pytest.mark.slow
def test_killed_streams_resume_without_losing_or_doubling_rows(tmp_path):
    program = Path(__file__).parent / "killed.py"
    command = [sys.executable, program, tmp_path / "stream", KILLS, *sample(TABLES, len(TABLES))]
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr[-2000:]
    assert process.stdout.strip().splitlines()[-1].startswith(f"{KILLS} kills")
