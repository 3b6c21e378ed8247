"""What the operator of a stream is told, and what it remembers. Light: the driver reads it too."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from sqlext.engine.worker.match_rows import WorkerPlan
from sqlext.pattern.event_time import BEGINNING

BACK, NUMBER, MATCHED, TIME, DUE, FIRST = "__back", "__number", "__matched", "__at", "__due", "__first"
_PLACE = (BACK, NUMBER, MATCHED, TIME, DUE, FIRST)


@dataclass(frozen=True)
class SortKey:
    """A column behind the first ORDER BY key."""

    column: str
    is_descending: bool = False
    nulls_last: bool = False


@dataclass(frozen=True)
class StreamPlan:
    """What a step needs to know.

    `schema`: of the rows that arrive; `time`: their time column; `sort`: what orders rows of one time; `back`: how many
    rows before a start are read; `counts_matches`: are match numbers asked for; `knows_first`: does PATTERN use `^`;
    `tells_times`: is MATCH_ROWTIME() asked for; `is_processing_time`: is the time that of arrival.
    """

    worker: WorkerPlan
    schema: pa.Schema
    time: str
    sort: tuple[SortKey, ...] = ()
    back: int = 0
    counts_matches: bool = False
    knows_first: bool = False
    tells_times: bool = True
    is_processing_time: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        return self.worker.partition_by

    @property
    def key_schema(self) -> pa.Schema:
        """Of the table that says where each key stands.

        BACK: how many rows before the next start row are kept; NUMBER: of the next match; MATCHED: how many rows from
        the next start on an earlier match maps; TIME: when all before was decided; DUE: from when on the watermark
        alone decides something; FIRST: is the key's very first row kept (1 or 0).
        """
        return pa.schema([*(self.schema.field(k) for k in self.keys), *((name, pa.int64()) for name in _PLACE)])


@dataclass(frozen=True)
class State:
    """`rows`: those that have not passed, and those that a match may still use; `keys`: see `StreamPlan.key_schema`."""

    rows: pa.Table
    keys: pa.Table
    watermark: int = BEGINNING


def first_state(plan: StreamPlan) -> State:
    """Nothing has arrived."""
    return State(plan.schema.empty_table(), plan.key_schema.empty_table())
