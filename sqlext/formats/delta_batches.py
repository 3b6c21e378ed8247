"""What the log of a Delta table has of the query that writes into it: its last micro-batch, and whether a RESTORE has
taken back rows of it.

Delta commits the identifier of a query and the number of the micro-batch with the rows, as the action `txn`. A RESTORE
takes back rows, but no `txn`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlext.expressions.time_texts import read_timestamp
from sqlext.spark.files import file_names
from sqlext.spark.locations import path_here

_FILE = re.compile(r"(\d{20})\.(?:json|(checkpoint)\.[\w.-]*(?:json|parquet))")
_COMMITS = 100  # the last ones, in which a RESTORE is looked for


class Commit(NamedTuple):
    """A version of the table. `batch`: the micro-batch of the query that it has, if any; `has_files`: it adds or
    removes rows; `restored`: the version that a RESTORE names, `restored_ms` the time."""

    version: int
    batch: int | None = None
    has_files: bool = True
    at_ms: int = 0
    restored: int | None = None
    restored_ms: int | None = None


@dataclass(frozen=True)
class TableLog:
    """`last_batch`: the last micro-batch of the query in the table, None if there is none; `commits`: the last versions
    of the table, oldest first."""

    last_batch: int | None
    commits: Sequence[Commit]

    @property
    def before_restore(self) -> int | None:
        """The last version of the table with rows of the query that a RESTORE has taken back; None if there is none, or
        the query has gone on since.

        >>> rows = [Commit(1, batch=1), Commit(2, batch=2), Commit(3, batch=3, has_files=False)]
        >>> logs = rows, [*rows, Commit(4, restored=1)], [*rows, Commit(4, restored=1), Commit(5, restored=2)]
        >>> [TableLog(3, log).before_restore for log in logs]
        [None, 2, None]
        """
        own = [commit for commit in self.commits if commit.batch is not None]
        with_rows = [commit.version for commit in own if commit.has_files]
        restores = [c for c in self.commits if own and c.version > own[-1].version and self._restored(c) is not None]
        at = self.commits[-1].version if self.commits else -1
        for restore in reversed(restores):
            if restore.version <= at:
                at = self._restored(restore) or 0
        return with_rows[-1] if with_rows and at < with_rows[-1] else None

    def _restored(self, commit: Commit) -> int | None:
        """The version that a RESTORE has brought back; None for another commit."""
        if commit.restored_ms is None:
            return commit.restored
        return max((c.version for c in self.commits if c.at_ms <= commit.restored_ms), default=0)


def log_of(spark: Any, table: str, query: str) -> TableLog:
    """The log of the table in a folder, as far as it tells of the query, or other application, of this identifier."""
    log = f"{table.rstrip('/')}/_delta_log"
    files = [(int(file[1]), file[2], file[0]) for file in map(_FILE.fullmatch, file_names(spark, log)) if file]
    checkpoint = max((version for version, kind, _ in files if kind), default=-1)
    first = min(checkpoint, max((version for version, *_ in files), default=-1) - _COMMITS)
    read = [f"{log}/{name}" for version, kind, name in files if (version == checkpoint if kind else version >= first)]
    commits = _commits(spark, [name for name in read if name.endswith(".json")], query)
    parquet = [name for name in read if name.endswith(".parquet")]
    batches = [commit.batch for commit in commits if commit.batch is not None]
    return TableLog(max([*batches, *_batches_in(spark, parquet, query)], default=None), commits)


def _batches_in(spark: Any, files: Sequence[str], query: str) -> list[int]:
    """The micro-batches of the query in a checkpoint of Delta."""
    if not files:
        return []
    batches = spark.read.parquet(*files).where("txn IS NOT NULL").select("txn.appId", "txn.version").collect()
    return [int(row[1]) for row in batches if row[0] == query]


def _commits(spark: Any, files: Sequence[str], query: str) -> list[Commit]:
    """The versions that these files of the log have, in order; a checkpoint has the number of its version, too."""
    lines: dict[int, list[str]] = {}
    for file in files:
        version = int(file.rpartition("/")[2][:20])
        lines.setdefault(version, []).extend(_lines(spark, file))
    zone = spark.conf.get("spark.sql.session.timeZone", "UTC") or "UTC"
    return [_commit(version, lines[version], query, zone) for version in sorted(lines)]


def _lines(spark: Any, file: str) -> list[str]:
    here = path_here(spark, file)
    if here is not None:
        return here.read_text(encoding="utf-8").splitlines()
    return [row[0] for row in spark.read.text(file).collect()]


def _commit(version: int, lines: Sequence[str], query: str, zone: str) -> Commit:
    r"""A version of the table from the actions in its lines; `zone`: the time zone of the time that a RESTORE names.

    >>> txn = '{"txn":{"appId":"q","version":7}}'
    >>> _commit(3, [txn, '{"add":{}}'], "q", "UTC")
    Commit(version=3, batch=7, has_files=True, at_ms=0, restored=None, restored_ms=None)
    >>> restore = '{"commitInfo":{"timestamp":9,"operation":"RESTORE","operationParameters":{"version":2}}}'
    >>> _commit(4, [restore, txn], "other", "UTC")
    Commit(version=4, batch=None, has_files=False, at_ms=9, restored=2, restored_ms=None)
    """
    actions = [json.loads(line) for line in lines if line.startswith(('{"txn"', '{"commitInfo"'))]
    info: dict[str, Any] = next((action["commitInfo"] for action in actions if "commitInfo" in action), {})
    of_restore = info.get("operationParameters", {}) if info.get("operation") == "RESTORE" else {}
    batches = [txn["version"] for action in actions if (txn := action.get("txn")) and txn["appId"] == query]
    to_version, to_time = of_restore.get("version"), read_timestamp(str(of_restore.get("timestamp") or ""), zone)
    return Commit(
        version,
        batch=max(batches, default=None),
        has_files=any(line.startswith(('{"add"', '{"remove"')) for line in lines),
        at_ms=info.get("timestamp", 0),
        restored=None if to_version is None else int(to_version),
        restored_ms=None if to_time is None else to_time // 1000,
    )
