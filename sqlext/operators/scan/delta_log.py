"""The files of a later version of a Delta table, of which an older one is known: the newest, or another one.

A statement is planned for one version of a table, and its result is that of the newest version when it is computed. A
later commit adds and removes files; but it may also mark rows of a file as deleted, or give columns other names in the
files, and then the plan is none for its files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

from sqlext.operators.scan.footers import changed
from sqlext.operators.scan.plan import DeltaLog

PATH = "path"  # the column with the paths of files in the list of files
_COMMIT = re.compile(r"(\d{20})\.json")


def newest_files(log: DeltaLog, paths: Iterable[str]) -> list[str]:
    """The paths of the files of the newest version, given those of the version of the plan, or of a later one.

    Raises DataError TABLE_CHANGED if a commit after the version of the plan changed more than whole files.
    """
    return _files_after(log, paths, _later_versions(log))


def files_of_version(log: DeltaLog, paths: Iterable[str], version: int) -> list[str]:
    """The paths of the files of a later version, given those of the version of the log. Raises what `newest_files`
    raises."""
    return _files_after(log, paths, range(log.version + 1, version + 1))


def _files_after(log: DeltaLog, paths: Iterable[str], versions: Iterable[int]) -> list[str]:
    files = dict.fromkeys(paths)
    for version in versions:
        for action in actions_of(Path(log.folder) / f"{version:020}.json"):
            if "protocol" in action or "metaData" in action or (action.get("add") or {}).get("deletionVector"):
                raise changed(f"the table of {log.folder} has other features or columns, or deleted rows in its files")
            if "remove" in action:
                files.pop(_path(log, action["remove"]), None)
            elif "add" in action:
                files[_path(log, action["add"])] = None
    return list(files)


def _later_versions(log: DeltaLog) -> list[int]:
    found = (_COMMIT.fullmatch(path.name) for path in Path(log.folder).iterdir())
    later = sorted(int(match[1]) for match in found if match and int(match[1]) > log.version)
    if later != list(range(log.version + 1, log.version + 1 + len(later))):
        raise changed(f"the log {log.folder} lacks commits")
    return later


def _path(log: DeltaLog, action: dict) -> str:
    """The path of the file of an action, which is encoded as in URLs, and often relative to the table."""
    path = unquote(action[PATH])
    return local_path(path) if path.startswith(("/", "file:")) else f"{Path(log.folder).parent}/{path}"


def local_path(path: str) -> str:
    """The path of a file, as Spark names it, on this machine.

    >>> local_path("file:/tmp/a b.parquet"), local_path("file:///tmp/x")
    ('/tmp/a b.parquet', '/tmp/x')
    """
    path = path.removeprefix("file:")
    return "/" + path.lstrip("/")


def actions_of(commit: Path) -> Iterator[dict]:
    """The actions in the file of a commit."""
    with commit.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())
