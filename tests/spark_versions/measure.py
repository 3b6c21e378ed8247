"""The table of Spark versions × features, each cell from a run: `make test-spark-versions` (not a part of the suite).

    python tests/spark_versions/measure.py 4.0=/venvs/spark-4.0/bin/python 4.1+comet-1.2.0=/venvs/spark-4.1/bin/python

After `+comet-` stands the version of Comet with which Spark is started. The tests of `features.txt` run in one process
for each version, with one Spark session. A test counts as refused if it
fails with SQLEXT_SPARK_VERSION, which is how a statement must end that the version cannot run. Where Delta has no jar
for the version, tests run without it, and those that need it are counted as such.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

WITH_COMET = "SQLEXT_TEST_COMET"  # as in tests/comet
HERE = Path(__file__).parent
TESTS, ROOT = HERE.parent, HERE.parents[1]
REFUSED, NEEDS_DELTA = "refused", "needs Delta"  # outcomes
_REFUSED = "SQLEXT_SPARK_VERSION"
# Of our statements, and of a test that writes a Delta table itself.
_NO_DELTA = re.compile("SQLEXT_SESSION_WITHOUT_DELTA|Failed to find the data source: delta")
Counts = dict[str, dict[str, int]]  # feature: outcome: number of tests


@dataclass(frozen=True)
class Feature:
    """A row of the table. `file`: of its tests; `names`: a regular expression that their names contain."""

    name: str
    file: str
    names: str


def features() -> list[Feature]:
    lines = (HERE / "features.txt").read_text("utf-8").splitlines()
    return [Feature(*(f.strip() for f in line.split(" | ", 2))) for line in lines if not line.startswith("#")]


class Recorder:
    """A plugin of pytest that runs the tests of the features and counts their outcomes."""

    def __init__(self, result: Path) -> None:
        self.result = result
        self.feature_of: dict[str, str] = {}
        self.counts: dict[str, Counter[str]] = {feature.name: Counter() for feature in features()}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for feature in features():
            for item in items:
                if item.path == TESTS / feature.file and re.search(feature.names, item.name):
                    self.feature_of[item.nodeid] = feature.name
        items[:] = [item for item in items if item.nodeid in self.feature_of]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            text = report.longreprtext
            outcome = REFUSED if _REFUSED in text else NEEDS_DELTA if _NO_DELTA.search(text) else "failed"
            print(f"\n{outcome}: {report.nodeid}\n{report.longreprtext[-1500:]}", file=sys.stderr, flush=True)
        elif report.when == "call":
            outcome = report.outcome
        else:
            return
        self.counts[self.feature_of[report.nodeid]][outcome] += 1
        self.result.write_text(json.dumps(self.counts))  # after each test, so that a run that is ended has some


def count_here(result: Path) -> None:
    """Run the tests with the Spark of this interpreter, and write the counts into a file."""
    recorder = Recorder(result)
    files = sorted({str(TESTS / feature.file) for feature in features()})
    pytest.main(["-q", "-p", "no:cacheprovider", "--tb=short", f"--rootdir={ROOT}", *files], plugins=[recorder])


def counts_of(version: str, python: str) -> Counts:
    """The counts with the Spark of another interpreter, whose pytest writes to stderr."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "counts.json"
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": python, "SQLEXT_SAMPLE": "all"}
        environment[WITH_COMET] = version.partition("+comet-")[2]
        command = [python, __file__, "--write", str(result)]
        subprocess.run(command, cwd=ROOT, env=environment, stdout=sys.stderr, check=False)
        return json.loads(result.read_text()) if result.exists() else {}


def cell(counts: dict[str, int]) -> str:
    """What the table shows of the tests of a feature.

    >>> cell({"passed": 7}), cell({"refused": 2}), cell({"passed": 5, "refused": 1, "failed": 1}), cell({})
    ('yes (7)', 'refused (2)', '5 passed, 1 refused, 1 failed', 'not run')
    """
    if len(counts) == 1 and "passed" in counts:
        return f"yes ({counts['passed']})"
    for outcome in (REFUSED, NEEDS_DELTA):
        if len(counts) == 1 and outcome in counts:
            return f"{outcome} ({counts[outcome]})"
    known = (name for name in ("passed", REFUSED, NEEDS_DELTA, "failed") if name in counts)
    return ", ".join(f"{counts[name]} {name}" for name in known) or "not run"


def main(interpreters: dict[str, str]) -> int:
    """Print the table. Returns 1 if a test failed otherwise than by a refusal, or no test of a feature ran."""
    results = {version: counts_of(version, python) for version, python in interpreters.items()}
    print(f"| | {' | '.join(f'Spark {version}'.replace('+comet-', ' + Comet ') for version in results)} |")
    print(f"|---|{'---|' * len(results)}")
    rows = {f.name: [counts.get(f.name, {}) for counts in results.values()] for f in features()}
    for name, row in rows.items():
        print(f"| {name} | {' | '.join(map(cell, row))} |")
    return int(any(not counts or "failed" in counts for row in rows.values() for counts in row))


if __name__ == "__main__":
    if sys.argv[1] == "--write":
        count_here(Path(sys.argv[2]))
    else:
        sys.exit(main(dict(argument.split("=", 1) for argument in sys.argv[1:])))
