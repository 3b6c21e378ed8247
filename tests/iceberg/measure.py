"""The table of statements over Iceberg tables: `make test-iceberg` (not a part of the suite, which runs a sample).

Run by the Python of an environment with Spark 4.1. The cases of tests/statements run over Iceberg tables with the same
rows, and the scripts, errors, keys and rules in a session whose tables are Iceberg's.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.sampling import sample

TESTS = Path(__file__).parents[1]
FILES = (  # of tests, what their names contain, and which share of them a day runs
    ("statements/test_rows.py", "who_reads", 9),
    ("statements/test_scripts.py", "", 31),
    ("iceberg/on_iceberg.py", "", 8),
    ("iceberg/materialized.py", "", 16),
    ("iceberg/beside_delta.py", "", 4),
)


class Recorder:
    """A plugin of pytest that counts the cases of each file by their outcome."""

    def __init__(self) -> None:
        self.cases: dict[str, list[tuple[str, str]]] = {}
        self.counts: dict[str, Counter[str]] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        of_files = ([i for i in items if i.path == TESTS / file and name in i.name] for file, name, _ in FILES)
        shares = (sample(tests, share) for tests, (*_, share) in zip(of_files, FILES))
        items[:] = [item for tests in shares for item in tests]
        for item in items:
            parameters = item.callspec.params if hasattr(item, "callspec") else {}
            group = parameters.get("group") or [parameters.get("case")]
            file = item.name.partition("[")[2].partition(".txt")[0].rpartition("-")[2] + ".txt"
            title = item.path.name if item.path.name != "test_rows.py" else file
            self.cases[item.nodeid] = [(title, str(case)) for case in group]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            print(f"\n{report.nodeid}\n{report.longreprtext[-3000:]}", file=sys.stderr, flush=True)
        if report.failed or report.when == "call":
            for title, case in self.cases[report.nodeid]:
                differs = report.failed and (title.endswith(".py") or f"== {case}" in report.longreprtext)
                self.counts.setdefault(title, Counter())["differ" if differs else "equal"] += 1


def main() -> int:
    """Print the table. Returns 1 if a case differs."""
    recorder = Recorder()
    files = [str(TESTS / file) for file, *_ in FILES]
    options = ["-q", "-p", "no:cacheprovider", "-o", "addopts=", "--tb=short", f"--rootdir={TESTS.parent}"]
    pytest.main([*options, *sys.argv[1:], *files], plugins=[recorder])
    print("| cases | equal | differ |\n|---|---|---|")
    for title, counts in sorted(recorder.counts.items()):
        print(f"| `{title}` | {counts['equal']} | {counts['differ']} |")
    total = sum(recorder.counts.values(), Counter())
    print(f"| all | {total['equal']} | {total['differ']} |")
    return int(total["differ"] > 0 or not total)


if __name__ == "__main__":
    assert os.environ.get("SQLEXT_TEST_FORMAT") == "iceberg", "make test-iceberg sets SQLEXT_TEST_FORMAT"
    sys.exit(main())
