"""The commits of a Delta table, by DESCRIBE HISTORY, or from its log where that is on this machine."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sqlext.formats.format import Commit
from sqlext.rewriter.text.names import Parts, quote

_COMMIT = re.compile(r"(\d{20})\.json")
_REMOVED = ("numRemovedFiles", "numTargetFilesRemoved")  # in the metrics of a commit
# Commits of Delta that change no row.
NEUTRAL = frozenset({
    "OPTIMIZE", "REORG", "VACUUM START", "VACUUM END", "SET TBLPROPERTIES", "UNSET TBLPROPERTIES", "ADD CONSTRAINT",
    "DROP CONSTRAINT", "CLUSTER BY", "UPGRADE PROTOCOL", "ADD FEATURE", "DROP FEATURE", "COMPUTE STATS",
    "ROW TRACKING BACKFILL", "CHANGE COLUMN", "CHANGE COLUMNS",
})  # fmt: skip


def history(sql: Callable[..., Any], name: Parts, limit: int | None = None) -> list[Commit]:
    """The commits of a Delta table, the last one first."""
    limited = f" LIMIT {limit}" if limit is not None else ""
    rows = sql(f"DESCRIBE HISTORY {quote(name)}{limited}").selectExpr(
        "version", "unix_micros(timestamp)", "operation", "coalesce(userMetadata, '')", "operationMetrics"
    )
    return [_commit(row[0], row[1], row[2], row[3], row[4] or {}) for row in rows.collect()]


def history_in(log: Path, limit: int | None = None) -> list[Commit]:
    """The commits that a folder of this machine has of a log, as `history` returns them, but without a job.

    The time of a commit is in it or, if Delta does not write it there, that of its file, and later than the one before.
    """
    found = sorted(int(match[1]) for match in (_COMMIT.fullmatch(path.name) for path in log.iterdir()) if match)
    commits: list[Commit] = []
    for version in found if limit is None else found[-limit:]:
        path = log / f"{version:020}.json"
        info = _commit_info(path)
        earliest = commits[-1].committed + 1000 if commits else 0
        written = info.get("inCommitTimestamp")
        committed = max(path.stat().st_mtime_ns // 10**6 * 1000, earliest) if written is None else written * 1000
        metadata, metrics = info.get("userMetadata") or "", info.get("operationMetrics") or {}
        commits.append(_commit(version, committed, info.get("operation", ""), metadata, metrics))
    return commits[::-1]


def _commit_info(commit: Path) -> dict[str, Any]:
    with commit.open(encoding="utf-8") as lines:
        line = next((line for line in lines if line.startswith('{"commitInfo"')), "{}")
    return dict(json.loads(line).get("commitInfo", {}))


def _commit(version: int, committed: int, operation: str, metadata: str, metrics: Mapping[str, str]) -> Commit:
    return Commit(
        version,
        committed,
        operation,
        metadata,
        is_neutral=operation in NEUTRAL,
        rows_inserted=metrics.get("numOutputRows"),
        files_removed=next((metrics[name] for name in _REMOVED if name in metrics), "0"),
    )
