"""The hooks for pre-commit, run by the real pre-commit in a repository of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sqlext.formatting.format_text import format_text
from tests.sampling import SAMPLE

ROOT = Path(__file__).parents[2]
LONG = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY n MEASURES LAST(n) AS last_n PATTERN (A) DEFINE A AS n > 0);\n"
WRONG = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY n PATTERN (A) DEFINE B AS n > 0);\n"
# `language: system` takes the command of this environment. With the hooks' own language, pre-commit installs PySpark
# into an environment of its own, which takes minutes.
LANGUAGES = ["system", *(["python"] if SAMPLE == "all" else [])]
CONFIG = """
repos:
  - repo: {repository}
    rev: {revision}
    hooks:
      - id: sqlext-check
        language: {language}
      - id: sqlext-format
        language: {language}
"""


def run(*command: str, cwd: Path, home: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    settings = {"PATH": path, "PRE_COMMIT_HOME": str(home), "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=cwd, text=True, capture_output=True, env={**os.environ, **settings})


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_pre_commit_refuses_a_wrong_clause_and_lays_out_the_others(tmp_path, language):
    repository, home = tmp_path / "repository", tmp_path / "home"
    repository.mkdir()

    def git(*arguments: str) -> str:
        return run("git", *arguments, cwd=repository, home=home).stdout.strip()

    revision = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True).strip()
    git("init", "-q")
    config = CONFIG.format(repository=ROOT, revision=revision, language=language)
    (repository / ".pre-commit-config.yaml").write_text(config, "utf-8")
    (repository / "long.sql").write_text(LONG, "utf-8")
    (repository / "wrong.sql").write_text(WRONG, "utf-8")
    git("add", "-A")

    first = run(sys.executable, "-m", "pre_commit", "run", "--all-files", cwd=repository, home=home)
    assert first.returncode == 1, first.stderr
    assert "wrong.sql:1:64: SQLEXT_UNKNOWN_PATTERN_VARIABLE" in first.stdout
    assert (repository / "long.sql").read_text("utf-8") == format_text(LONG)
    assert (repository / "wrong.sql").read_text("utf-8") == WRONG

    (repository / "wrong.sql").write_text("SELECT 1;\n", "utf-8")
    git("add", "-A")
    second = run(sys.executable, "-m", "pre_commit", "run", "--all-files", cwd=repository, home=home)
    assert second.returncode == 0, second.stdout + second.stderr
