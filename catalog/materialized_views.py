"""How materialized views are kept: as ordinary Delta tables. The query is a property of the table, and each refresh is
recorded in the commit that writes its rows.

So the record of a refresh and its rows are one commit. A refresh is compared with the versions that its sources have
now; a commit of another writer that changes rows makes its record worthless.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sqlext.catalog.views import decoded, encoded
from sqlext.rewriter.text.names import Parts, quote
from sqlext.version import __version__

PROPERTY = "sqlext.materialized_view"
_FORMAT = 1  # of the property and of the record
_RECORD = "sqlext_materialized_view"
_COMMIT = re.compile(r"(\d{20})\.json")
RECENT = 20  # commits in which the last refresh, of a view or of what it reads, is most often found
# Commits of Delta that change no row.
NEUTRAL = frozenset({
    "OPTIMIZE", "REORG", "VACUUM START", "VACUUM END", "SET TBLPROPERTIES", "UNSET TBLPROPERTIES", "ADD CONSTRAINT",
    "DROP CONSTRAINT", "CLUSTER BY", "UPGRADE PROTOCOL", "ADD FEATURE", "DROP FEATURE", "COMPUTE STATS",
    "ROW TRACKING BACKFILL", "CHANGE COLUMN", "CHANGE COLUMNS",
})  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Definition:
    """A materialized view. `identifier`: a new one for each CREATE; `schema` (catalog, schema) was current then.

    `query_columns`, `columns` and `settings`: as in `catalog.views.View`; `unstable`: what in the query gives other
    rows from the same sources, "" if nothing does; `sources`: the relations that the query reads, in its order.
    """

    identifier: str
    text: str
    schema: Parts
    sources: tuple[Parts, ...]
    columns: tuple[str, ...] = ()
    query_columns: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    unstable: str = ""
    created_by: str = __version__


@dataclass(frozen=True)
class SourceVersion:
    """A version of a source, and when it was committed, in microseconds: another table of the name has another time."""

    version: int
    committed: int


@dataclass(frozen=True, kw_only=True)
class Refresh:
    """A refresh. `identifier`: its own; `versions`: of the tables that it read, None for one that is not Delta's, and
    `queries`: what identifies the queries of the stored views among its sources; `base`: the
    version of the view from which it was computed, -1 if none; `key`: the columns of the key, none if it is a full one;
    `keys`: how many keys had changed, `deleted` and `inserted`: how many rows; `started`: the time in microseconds."""

    identifier: str
    view: str
    versions: tuple[SourceVersion | None, ...]
    base: int
    started: int
    reason: str = ""
    queries: str = ""
    key: tuple[str, ...] = ()
    keys: int | None = None
    deleted: int | None = None
    inserted: int | None = None

    @property
    def is_full(self) -> bool:
        return not self.key

    def record(self) -> str:
        """What the commit says of the refresh."""
        return json.dumps({_RECORD: _FORMAT, **asdict(self)})


@dataclass(frozen=True)
class Commit:
    """A commit of the history of a table; `committed`: the time in microseconds."""

    version: int
    committed: int
    operation: str
    metadata: str = ""
    metrics: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class State:
    """What the history of a view says: its version, the last refresh with its commit, and the first commit of another
    writer that changed rows since, if there is one."""

    version: int
    refresh: Refresh | None
    commit: Commit | None
    other_writer: Commit | None


def property_of(definition: Definition) -> str:
    """A definition as the value of its property, in letters that mean the same under every setting."""
    return encoded(json.dumps({"format": _FORMAT, **asdict(definition)}))


def definition_in(properties: Mapping[str, str]) -> Definition | None:
    """The definition in the properties of a table; None if the table is no materialized view."""
    value = properties.get(PROPERTY)
    if not value:
        return None
    stored = json.loads(decoded(value))
    fields = {name: value for name, value in stored.items() if name in Definition.__dataclass_fields__}
    lists = {name: tuple(map(tuple, fields[name])) for name in ("sources", "settings")}
    return Definition(**{**fields, **lists, "schema": tuple(fields["schema"]), "columns": tuple(fields["columns"])})


def definition_of(sql: Callable[..., Any], name: Parts) -> Definition | None:
    """The definition of the table of a name, which exists."""
    return definition_in({row[0]: row[1] for row in sql(f"SHOW TBLPROPERTIES {quote(name)}").collect()})


def history(sql: Callable[..., Any], name: Parts, limit: int | None = None) -> list[Commit]:
    """The commits of a Delta table, the last one first."""
    limited = f" LIMIT {limit}" if limit is not None else ""
    rows = sql(f"DESCRIBE HISTORY {quote(name)}{limited}").selectExpr(
        "version", "unix_micros(timestamp)", "operation", "coalesce(userMetadata, '')", "operationMetrics"
    )
    return [Commit(row[0], row[1], row[2], row[3], row[4] or {}) for row in rows.collect()]


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
        commits.append(Commit(version, committed, info.get("operation", ""), metadata, metrics))
    return commits[::-1]


def _commit_info(commit: Path) -> dict[str, Any]:
    with commit.open(encoding="utf-8") as lines:
        line = next((line for line in lines if line.startswith('{"commitInfo"')), "{}")
    return dict(json.loads(line).get("commitInfo", {}))


def state_of(history: Callable[[int | None], list[Commit]], view: str) -> State:
    """The state of the view with this identifier. `history`: returns its last commits, that many or all."""
    recent = history(RECENT)
    state = state_in(recent, view)
    return state if state.refresh is not None or len(recent) < RECENT else state_in(history(None), view)


def state_in(commits: Sequence[Commit], view: str) -> State:
    """The state of a view from its history.

    >>> refresh = Refresh(identifier="r", view="v", versions=(), base=0, started=0)
    >>> commits = [Commit(3, 0, "DELETE"), Commit(2, 0, "OPTIMIZE"), Commit(1, 0, "WRITE", refresh.record())]
    >>> state = state_in(commits, "v")
    >>> state.version, state.refresh == refresh, state.other_writer.operation
    (3, True, 'DELETE')
    """
    for commit in commits:
        refresh = _refresh_in(commit.metadata, view)
        if refresh is not None:
            unknown = (c for c in commits if c.version > refresh.base and c.version != commit.version)
            others = [c for c in unknown if c.operation not in NEUTRAL]
            return State(commits[0].version, refresh, commit, others[-1] if others else None)
    return State(commits[0].version, None, None, None)


def _refresh_in(metadata: str, view: str) -> Refresh | None:
    if _RECORD not in metadata:
        return None
    stored = json.loads(metadata)
    if stored.pop(_RECORD) != _FORMAT or stored["view"] != view:
        return None
    versions = tuple(None if v is None else SourceVersion(**v) for v in stored["versions"])
    return Refresh(**{**stored, "versions": versions, "key": tuple(stored["key"])})
