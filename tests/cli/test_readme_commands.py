"""The bash of README.md and of the first section of docs/tools.md: each line runs here, or is the line that another
test runs, or is a target of the Makefile.

And `sqlext check --schema FILE`, which starts a Spark of its own, as the tools of Spark do.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from sqlext.catalog.warehouse import WAREHOUSE
from sqlext.cli.commands import parser
from sqlext.cli.main import main
from tests.sampling import sample

from .test_check_names import parts

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text("utf-8") + (ROOT / "docs/tools.md").read_text("utf-8").partition("\n## `")[0]
BLOCKS = re.findall(r"^```bash\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
LINES = [shlex.split(line, comments=True) for block in BLOCKS for line in block.replace("\\\n", "").splitlines()]

# What a command of ours prints, by its name; it runs in this process, with the session of the tests.
PRINTED = {
    "run": "ACME",
    "explain": "== Clause 1",
    "compile": "sqlext_match(",
    "check": "",
    "format": "",
}
# Lines that need a process or an environment of their own.
ELSEWHERE = {
    "sqlext shell": "tests/cli/test_shell.py",
    "sqlext notebook": "tests/notebooks/test_kernel.py, which passes the same file and parameter",
    "python3 -m": "the Makefile, which makes this environment",
    "cd sql_examples/dbt": "tests/dbt/test_sample_project.py, which runs the same words",
    "cd sql_examples/pipeline": "below",
    "spark-submit --packages": "below",
}
OURS = [words for words in LINES if words[0] == "sqlext" and " ".join(words[:2]) not in ELSEWHERE]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files of the checkout that the lines name."""
    shutil.copytree(ROOT / "sql_examples", tmp_path / "sql_examples")
    (tmp_path / "sqlext").symlink_to(ROOT / "sqlext")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_line_is_run_somewhere():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    others = [words for words in LINES if words not in OURS and " ".join(words[:2]) not in ELSEWHERE]
    assert [words for words in others if words[0] != "make" or words[1] not in targets] == []
    for words in LINES:
        if words[0] == "sqlext":
            parser().parse_args(words[1:])


@pytest.mark.parametrize("words", OURS, ids=" ".join)
def test_a_command_of_the_readme_runs(spark, words, folder, capsys):
    warehouse = ["--warehouse", spark.conf.get(WAREHOUSE)] if words[1] in ("run", "explain", "compile") else []
    assert main([*words[1:], *warehouse]) == 0
    out = capsys.readouterr().out
    if "-o" in words:
        assert (folder / "runs.csv").read_text() == "n\n4\n"
    else:
        assert PRINTED[words[1]] in out


SCHEMA, STATEMENTS, FINDINGS = parts()
SUBMIT = next(words for words in LINES if words[0] == "spark-submit")
PIPELINES = next(words for words in LINES if "spark-pipelines" in words)
CHECK = [sys.executable, "-m", "sqlext", "check", "--schema", "schema.sql", "statements.sql"]
# The words, their folder, the status, and what is printed.
TOOLS = {
    "spark-submit": (SUBMIT, ".", 0, ["ann\t3\t10.0.0.7\t2026-03-02 08:01:10"]),
    "spark-pipelines": (PIPELINES[PIPELINES.index("&&") + 1 :], PIPELINES[1], 0, ["Run is COMPLETED"]),
    "check": (CHECK, ".", 1, [f"statements.sql:{line}:" for line, _, _ in FINDINGS]),
}


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("tool", sample([*sorted(TOOLS), *[None] * len(TOOLS)], 2 * len(TOOLS)))
def test_a_command_runs_with_a_spark_of_its_own(tool, folder):
    """One of them in every second run of the suite: each starts a Spark of its own."""
    if tool is None:
        pytest.skip("this run starts none of them")
    words, where, status, printed = TOOLS[tool]
    (folder / "schema.sql").write_text(SCHEMA)
    (folder / "statements.sql").write_text(STATEMENTS)
    home = Path(pyspark.__file__).parent
    variables = {
        **os.environ, "PATH": f"{home / 'bin'}:{os.environ['PATH']}", "SPARK_HOME": str(home), "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable,
    }  # fmt: skip
    for _ in range(2 if tool == "spark-pipelines" else 1):  # the second run finds the tables of the first one
        run = subprocess.run(words, cwd=folder / where, env=variables, capture_output=True, text=True)
        assert run.returncode == status, run.stdout + run.stderr
        assert [text for text in printed if text not in run.stdout + run.stderr] == []
