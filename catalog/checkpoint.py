"""The record beside a checkpoint: which query wrote it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from sqlext.errors import BindError, Place

_VERSION = 2
_FILE = "_sqlext.json"  # in the checkpoint's folder


@dataclass(frozen=True)
class StoredClause:
    """A clause with state of the query that wrote a checkpoint: its `PATTERN (…)` or `EMIT …` as written, and the
    fingerprint of its state."""

    text: str
    fingerprint: str


@dataclass(frozen=True, kw_only=True)
class StoredQuery:
    """The query that wrote a checkpoint.

    `words`: its text without the clauses, word by word; `statement`: the whole statement, "" if it cannot be run again
    because it had parameters; `upsert_key`: the columns of UPSERT KEY, empty if the query appends.
    """

    clauses: tuple[StoredClause, ...]
    upsert_key: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    statement: str = ""


def stored_query(checkpoint: Path) -> StoredQuery | None:
    """The query that wrote a checkpoint; None if there is no record of it."""
    file = checkpoint / _FILE
    if not file.exists():
        return None
    fields = json.loads(file.read_text())
    return StoredQuery(
        clauses=tuple(StoredClause(**clause) for clause in fields["clauses"]),
        upsert_key=tuple(fields.get("upsert_key", ())),
        words=tuple(fields.get("words", ())),
        statement=fields.get("statement", ""),
    )


def check_same_query(
    checkpoint: Path, query: StoredQuery, clauses: Sequence[Place], words: Sequence[Place | None], key: Place
) -> None:
    """Raise BindError if another query wrote the checkpoint; record this one if it is new.

    `clauses`: where the user wrote each of `query.clauses`; `words`: where the user wrote each of `query.words`;
    `key`: where UPSERT KEY stands, or would.
    """
    before = stored_query(checkpoint)
    if before is None:
        checkpoint.mkdir(parents=True, exist_ok=True)
        part = checkpoint / f"{_FILE}.part"
        part.write_text(json.dumps({"version": _VERSION, **asdict(query)}, indent=1))
        part.replace(checkpoint / _FILE)  # whole or not at all, whenever the process is killed
        return
    hint = "the old text resumes it; CREATE OR REPLACE STREAMING TABLE begins anew, without the table's rows."
    if before.upsert_key != query.upsert_key:
        what = f"with UPSERT KEY ({', '.join(before.upsert_key)})" if before.upsert_key else "without UPSERT KEY"
        raise BindError("CHANGED_QUERY", f"the table was written {what}", place=key, hint=hint)
    if len(before.clauses) != len(query.clauses):
        counts = (
            f"{len(before.clauses)} clauses that keep state wrote the checkpoint, this one has {len(query.clauses)}"
        )
        raise BindError("CHANGED_QUERY", f"a query with {counts}", place=clauses[0] if clauses else None, hint=hint)
    for old, new, place in zip(before.clauses, query.clauses, clauses):
        if old.fingerprint != new.fingerprint:
            what = old.text if old.text != new.text else "other columns or conditions"
            message = f"the checkpoint was written by {what}: it may lack rows that this query needs"
            raise BindError("CHANGED_QUERY", message, place=place, hint=hint)
    if before.words and before.words != query.words:
        raise _changed_text(before.words, query.words, words, hint)


def _changed_text(before: Sequence[str], now: Sequence[str], places: Sequence[Place | None], hint: str) -> BindError:
    """The error that shows the first word that differs."""
    same = next((i for i, (old, new) in enumerate(zip(before, now)) if old != new), min(len(before), len(now)))
    old = " ".join(before[same : same + 6]) or "the end of the query"
    place = next((p for p in [*places[same:], *reversed(places)] if p is not None), None)
    message = f"the checkpoint was written by a query with other text here: {old}"
    return BindError("CHANGED_QUERY", message, place=place, hint=hint)
