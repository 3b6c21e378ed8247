"""Whether the newest version of a Delta table is still one whose files hold exactly its rows.

A statement is planned for one version of a table, and Spark lists the files of the newest one whenever the result is
computed. A later commit may mark rows of a file as deleted, or give columns other names in the files. The list of files
does not show that, but the log does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from sqlext.operators.scan.footers import changed
from sqlext.operators.scan.plan import DeltaLog

_COMMIT = re.compile(r"(\d{20})\.json")


def check_log(log: DeltaLog) -> None:
    """Raise DataError TABLE_CHANGED if a commit after the version of the plan changed more than whole files."""
    folder = Path(log.folder)
    found = (_COMMIT.fullmatch(path.name) for path in folder.iterdir())
    later = sorted(int(match[1]) for match in found if match and int(match[1]) > log.version)
    if later != list(range(log.version + 1, log.version + 1 + len(later))):
        raise changed(f"the log {folder} lacks commits")
    for version in later:
        for action in _actions(folder / f"{version:020}.json"):
            if "protocol" in action or "metaData" in action or (action.get("add") or {}).get("deletionVector"):
                raise changed(f"the table of {folder} has other features or columns, or deleted rows in its files")


def _actions(commit: Path) -> Iterator[dict]:
    with commit.open() as lines:
        yield from (json.loads(line) for line in lines if line.strip())
