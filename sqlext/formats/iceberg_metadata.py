"""The metadata of an Iceberg table: its snapshots, and the columns that each of them has.

They are read from the file of the table's metadata (https://iceberg.apache.org/spec/#table-metadata-fields), because no
SQL tells which columns a snapshot has: a column that was dropped and added again is another one of the same name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

_COUNTS = ("added-data-files", "deleted-data-files", "added-delete-files", "removed-delete-files")
_REPLACES = "replace"  # the operation that writes the same rows into other files
_NOT_ROWS = ("doc", "required")  # of a column: what says nothing of its values


@dataclass(frozen=True)
class Snapshot:
    """A snapshot; `at_ms`: its time, `schema`: the number of its columns, None in tables of old writers."""

    identifier: int
    parent: int | None
    at_ms: int
    schema: int | None
    summary: Mapping[str, str]

    @property
    def operation(self) -> str:
        return self.summary.get("operation", "")

    @property
    def changes_rows(self) -> bool:
        """Whether the table may have other rows than before.

        >>> append = {"operation": "append", "added-data-files": "1"}
        >>> summaries = append, {"operation": "append"}, {**append, "operation": "replace"}
        >>> [Snapshot(1, None, 0, 0, summary).changes_rows for summary in summaries]
        [True, False, False]
        """
        return self.operation != _REPLACES and any(self.summary.get(count, "0") != "0" for count in _COUNTS)

    @property
    def has_delete_files(self) -> bool:
        """Whether rows of its files may be deleted by other files."""
        return self.summary.get("total-delete-files") != "0"


class Column(NamedTuple):
    """A column of the table: `name` in lower case; `field`: its identifier, its type and its first default, as text."""

    name: str
    field: str


@dataclass(frozen=True)
class TableMetadata:
    """The metadata of a table, as its file has it."""

    fields: Mapping[str, Any]

    @staticmethod
    def of(text: str) -> TableMetadata:
        return TableMetadata(json.loads(text))

    @property
    def identifier(self) -> str:
        """The identifier of the table, which it keeps when it is renamed."""
        return str(self.fields["table-uuid"])

    @cached_property
    def _snapshots(self) -> Mapping[int, Snapshot]:
        return {fields["snapshot-id"]: _snapshot(fields) for fields in self.fields.get("snapshots", ())}

    def snapshot(self, identifier: int | None) -> Snapshot | None:
        """The snapshot of an identifier; None if it was expired, or never there."""
        return None if identifier is None else self._snapshots.get(identifier)

    @property
    def current(self) -> Snapshot | None:
        """The current snapshot; None if the table has none."""
        return self.snapshot(self.fields.get("current-snapshot-id"))

    @property
    def is_read_as_its_snapshot(self) -> bool:
        """Whether the table has the columns of its current snapshot: they may have been changed since."""
        return self.current is None or self.current.schema == self.fields.get("current-schema-id")

    def ancestors(self) -> list[Snapshot]:
        """The current snapshot and those before it, the last one first, as far as they are not expired."""
        found: list[Snapshot] = []
        snapshot = self.current
        while snapshot is not None:
            found.append(snapshot)
            snapshot = self.snapshot(snapshot.parent)
        return found

    def since(self, identifier: int | None) -> list[Snapshot] | None:
        """The snapshots after one of an identifier, or all of them, the last one first; None if the current one does
        not come from it, or a snapshot between them was expired.

        >>> snapshots = [{"snapshot-id": 1, "timestamp-ms": 0}]
        >>> snapshots += [{"snapshot-id": i, "parent-snapshot-id": 1, "timestamp-ms": 0} for i in (2, 3)]
        >>> metadata = TableMetadata({"current-snapshot-id": 3, "snapshots": snapshots})
        >>> [s if s is None else [each.identifier for each in s] for s in map(metadata.since, (1, 2, None))]
        [[3], None, [3, 1]]
        """
        found: list[Snapshot] = []
        for snapshot in self.ancestors():
            if snapshot.identifier == identifier:
                return found
            found.append(snapshot)
        return found if identifier is None and (not found or found[-1].parent is None) else None

    def columns(self, snapshot: Snapshot) -> list[Column] | None:
        """The columns of a snapshot in their order; None if they are not known."""
        schema = next((s for s in self.fields.get("schemas", ()) if s["schema-id"] == snapshot.schema), None)
        return None if schema is None else [_column(field) for field in schema["fields"]]


def _snapshot(fields: Mapping[str, Any]) -> Snapshot:
    identifier, parent = fields["snapshot-id"], fields.get("parent-snapshot-id")
    return Snapshot(identifier, parent, fields["timestamp-ms"], fields.get("schema-id"), fields.get("summary", {}))


def _column(field: Mapping[str, Any]) -> Column:
    of_values = {name: value for name, value in field.items() if name not in _NOT_ROWS}
    return Column(field["name"].lower(), json.dumps(of_values, sort_keys=True))
