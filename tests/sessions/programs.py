"""Python programs in processes of their own, for what must not happen in the session that the tests share."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path


def run_program(source: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The finished process of a program that runs in `folder`."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)],
        cwd=folder,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,  # a busy machine is no failure
    )


def printed(source: str, folder: Path, **environment: str) -> list[str]:
    """The lines that a program prints; it must end well."""
    done = run_program(source, folder, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
