"""The matrix surface × hook × setting × version of Spark, each cell run in a fresh environment: `make test-installed`.

    python -m tests.installed --spark 4.2 --surface jupyter --surface cluster --hook installed
    python -m tests.installed --spark 4.0 --spark 4.3 --features

Prints a table of the cells; what a failed cell printed goes to stderr. With `--features` it is the table of the
features, each run in a plain program, without Delta where it has no jar.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.built_wheel import build
from tests.installed.cells import SURFACES, Cell, Outcome, all_cells, clean_environment, run
from tests.installed.environments import Environment, make

FEATURES = Path(__file__).parent / "features.py"
VERSIONS = ("4.0", "4.1", "4.2", "4.3")
HOOK, ENABLED = {True: "installed", False: "no"}, {True: "true", False: "false"}


def table(outcomes: dict[Cell, Outcome]) -> str:
    """The outcomes in Markdown: a row for each surface, state of the hook and setting, a column for each version."""
    versions = list(dict.fromkeys(cell.version for cell in outcomes))
    lines = [
        f"| surface | hook | spark.sqlext.enabled | {' | '.join(f'Spark {version}' for version in versions)} |",
        f"|---|---|---|{'---|' * len(versions)}",
    ]
    rows: dict[tuple[str, bool, bool], dict[str, str]] = {}
    for cell, outcome in outcomes.items():
        rows.setdefault((cell.surface, cell.hook, cell.enabled), {})[cell.version] = outcome.word
    for surface, hook, enabled in sorted(rows, key=lambda row: (list(SURFACES).index(row[0]), row[1:])):
        words = [rows[surface, hook, enabled].get(version, "") for version in versions]
        lines.append(f"| {' | '.join((surface, HOOK[hook], ENABLED[enabled], *words))} |")
    return "\n".join(lines)


def feature_table(
    versions: Sequence[str], environments: Callable[[str, str], Environment], names: Sequence[str]
) -> str:
    """The outcomes of features (all if none is named) in Markdown, with a column for each version of Spark."""
    outcomes = {version: run_features(environments("pyspark", version).python, names) for version in versions}
    lines = [
        f"| feature | {' | '.join(f'Spark {version}' for version in versions)} |",
        f"|---|{'---|' * len(versions)}",
    ]
    for name in dict.fromkeys(name for features in outcomes.values() for name in features):
        lines.append(f"| {name} | {' | '.join(outcomes[version].get(name, '') for version in versions)} |")
    return "\n".join(lines)


def run_features(python: Path, names: Sequence[str], *options: str) -> dict[str, str]:
    """The outcome of each feature in the environment of a Python, by its name."""
    with TemporaryDirectory(prefix="sqlext-features-") as folder:
        result = Path(folder, "outcomes.json")
        command = [str(python), str(FEATURES), "--json", str(result), *options, *names]
        done = subprocess.run(
            command,
            cwd=folder,
            env=clean_environment(),
            stdout=sys.stderr,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert result.exists(), done.stderr
        outcomes = json.loads(result.read_text("utf-8"))
    assert done.returncode == any(word not in ("pass", "refused") for word in outcomes.values()), done.stderr
    return dict(outcomes)


def main(arguments: Sequence[str]) -> int:
    """Run the cells that the arguments choose and print their table. Returns 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.installed", description="run the matrix of installations")
    parser.add_argument("--spark", action="append", metavar="VERSION", help=f"such as 4.2 (default: {VERSIONS})")
    parser.add_argument("--surface", action="append", choices=list(SURFACES), help="may be repeated (default: all)")
    parser.add_argument("--hook", choices=["installed", "no"], help="only cells with or without it")
    parser.add_argument("--enabled", choices=["true", "false"], help="only cells with this spark.sqlext.enabled")
    parser.add_argument("--features", action="store_true", help="run each feature instead of the cells")
    parser.add_argument("--environments", type=Path, metavar="DIR", help="a folder that keeps them for the next run")
    chosen = parser.parse_args(arguments)
    with TemporaryDirectory(prefix="sqlext-wheel-") as temporary:
        _, wheel = build(Path(temporary))
        folder = (chosen.environments or Path(temporary, "environments")).absolute()

        @cache
        def environments(package: str, version: str) -> Environment:
            return make(folder / f"{package}-{version}", package, version, wheel)

        if chosen.features:
            printed = feature_table(chosen.spark or VERSIONS, environments, ())
            print(printed)
            return int("instead of" in printed or "Error" in printed or "missing" in printed)
        cells = [
            cell
            for cell in all_cells(chosen.spark or VERSIONS, chosen.surface or tuple(SURFACES))
            if chosen.hook in (None, HOOK[cell.hook]) and chosen.enabled in (None, ENABLED[cell.enabled])
        ]
        outcomes = dict(run(cells, environments))
    print(table(outcomes))
    return int(any(outcome.word == "fail" for outcome in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
