"""The record beside a checkpoint: which query wrote it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlext.errors import BindError, Place

_VERSION = 1
_FILE = "_sqlext.json"  # in the checkpoint's folder


@dataclass(frozen=True)
class StoredPattern:
    """A clause of the query that wrote a checkpoint: its PATTERN as written, and a fingerprint of its whole plan."""

    pattern: str
    fingerprint: str


def check_same_query(checkpoint: Path, patterns: Sequence[tuple[StoredPattern, Place]]) -> None:
    """Raise BindError if other clauses wrote the checkpoint; record these if it is new."""
    file = checkpoint / _FILE
    if not file.exists():
        checkpoint.mkdir(parents=True, exist_ok=True)
        stored = [pattern.__dict__ for pattern, _ in patterns]
        file.write_text(json.dumps({"version": _VERSION, "clauses": stored}, indent=1))
        return
    before = [StoredPattern(**fields) for fields in json.loads(file.read_text())["clauses"]]
    hint = f"DROP the table to begin anew, or remove {checkpoint} to keep the rows that the table has."
    if len(before) != len(patterns):
        message = f"a query with {len(before)} MATCH_RECOGNIZE wrote the checkpoint, this one has {len(patterns)}"
        raise BindError("CHANGED_QUERY", message, place=patterns[0][1] if patterns else None, hint=hint)
    for old, (new, place) in zip(before, patterns):
        if old.fingerprint != new.fingerprint:
            what = f"PATTERN ({old.pattern})" if old.pattern != new.pattern else "other columns or conditions"
            message = f"the checkpoint was written by {what}: it may lack rows that this query needs"
            raise BindError("CHANGED_QUERY", message, place=place, hint=hint)
