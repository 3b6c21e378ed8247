"""How materialized views are kept: as ordinary tables of Delta or Iceberg. The query is a property of the table, and
each refresh is recorded in the commit that writes its rows.

So the record of a refresh and its rows are one commit. A refresh is compared with the versions that its sources have
now; a commit of another writer that changes rows makes its record worthless.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlext.catalog.views import decoded, encoded
from sqlext.formats.format import Commit
from sqlext.rewriter.text.names import Parts, quote
from sqlext.version import __version__

PROPERTY = "sqlext.materialized_view"
_FORMAT = 1  # of the property and of the record
_RECORD = "sqlext_materialized_view"
NO_VERSION = -1  # of a table without a commit
RECENT = 20  # commits in which the last refresh, of a view or of what it reads, is most often found


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
    """A version of a source, as after VERSION AS OF, and when it was committed, in microseconds: another table of the
    name has another time."""

    version: int
    committed: int


@dataclass(frozen=True, kw_only=True)
class Refresh:
    """A refresh. `identifier`: its own; `versions`: of the tables that it read, None for one whose changes are unknown,
    and `queries`: what identifies the queries of the stored views among its sources; `base`: the version of the view
    from which it was computed, NO_VERSION if none; `key`: the columns of the key, none if it is a full one; `keys`: how
    many keys had changed, `deleted` and `inserted`: how many rows; `started`: the time in microseconds."""

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


def state_of(history: Callable[[int | None], list[Commit]], view: str) -> State:
    """The state of the view with this identifier. `history`: returns its last commits, that many or all."""
    recent = history(RECENT)
    state = state_in(recent, view)
    return state if state.refresh is not None or len(recent) < RECENT else state_in(history(None), view)


def state_in(commits: Sequence[Commit], view: str) -> State:
    """The state of a view from its history.

    >>> refresh = Refresh(identifier="r", view="v", versions=(), base=0, started=0)
    >>> optimize = Commit(2, 0, "OPTIMIZE", is_neutral=True)
    >>> commits = [Commit(3, 0, "DELETE"), optimize, Commit(1, 0, "WRITE", refresh.record())]
    >>> state = state_in(commits, "v")
    >>> state.version, state.refresh == refresh, state.other_writer.operation
    (3, True, 'DELETE')
    """
    for commit in commits:
        refresh = _refresh_in(commit.metadata, view)
        if refresh is not None:
            base = [i for i, c in enumerate(commits) if c.version == refresh.base]
            since = commits[: base[0]] if base else commits
            others = [c for c in since if c.version != commit.version and not c.is_neutral]
            return State(commits[0].version, refresh, commit, others[-1] if others else None)
    return State(commits[0].version if commits else NO_VERSION, None, None, None)


def _refresh_in(metadata: str, view: str) -> Refresh | None:
    if _RECORD not in metadata:
        return None
    stored = json.loads(metadata)
    if stored.pop(_RECORD) != _FORMAT or stored["view"] != view:
        return None
    versions = tuple(None if v is None else SourceVersion(**v) for v in stored["versions"])
    return Refresh(**{**stored, "versions": versions, "key": tuple(stored["key"])})
