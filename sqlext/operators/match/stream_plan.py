"""What a step of MATCH_RECOGNIZE on a stream needs. This module is light, since the driver imports it too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from sqlext.operators.match.plan import MatchOperatorPlan, Slot
from sqlext.operators.rows.columns import SortKey
from sqlext.pattern.conditions.condition_reads import reads_ahead
from sqlext.pattern.task.event_time import StreamFacts
from sqlext.pattern.task.task import Condition, Task

# The columns of the state that hold the search position of each key (see `StreamMatchPlan.key_schema`).
BACK, NUMBER, MATCHED, TIME, DUE, FIRST = "__back", "__number", "__matched", "__at", "__due", "__first"
_POSITION = (BACK, NUMBER, MATCHED, TIME, DUE, FIRST)


@dataclass(frozen=True, kw_only=True)
class StreamMatchPlan:
    """The plan of a step.

    - `schema`: the columns that the state keeps of a row; `time`: the column with its event time;
    - `sort`: the order of rows with equal times;
    - `back`: how many rows before a start row are read;
    - `counts_matches`: match numbers are needed;
    - `keeps_all_keys`: PATTERN has `^`, so the state must show which keys have had rows before;
    - `needs_times`: MATCH_ROWTIME() is needed;
    - `skips_failures`: a condition or an aggregate that fails does not end the query, see `guard`;
    - `matcher`: the name of the matcher that decides matches, None for the one that `facts` let `strategy` choose.
    """

    worker: MatchOperatorPlan
    schema: pa.Schema
    time: str
    sort: tuple[SortKey, ...] = ()
    back: int = 0
    counts_matches: bool = False
    keeps_all_keys: bool = False
    needs_times: bool = True
    skips_failures: bool = False
    matcher: str | None = None

    @property
    def facts(self) -> StreamFacts:
        neighbours = (condition for _, condition in self.worker.neighbours)
        return stream_facts(self.worker.task, neighbours, self.worker.slots, needs_times=self.needs_times)

    @property
    def keys(self) -> tuple[str, ...]:
        return self.worker.partition_by

    @property
    def key_schema(self) -> pa.Schema:
        """The columns of the table KEYS of the state: the keys, and for each key

        - BACK: how many rows are kept before the next start row;
        - NUMBER: the number of the next match;
        - MATCHED: how many rows from the next start row on belong to an earlier match;
        - TIME: the time at which everything before the next start row was decided;
        - DUE: the watermark that decides something even if no rows arrive;
        - FIRST: 1 if the key's very first row is kept, otherwise 0.
        """
        return pa.schema([*(self.schema.field(k) for k in self.keys), *((name, pa.int64()) for name in _POSITION)])


def stream_facts(
    task: Task, neighbours: Iterable[Condition | None], slots: Iterable[Slot], *, needs_times: bool
) -> StreamFacts:
    """The facts on which the choice of a matcher depends besides the task. A measure with NEXT needs the times of
    matches, too."""
    reads_later = any(slot.kind == "value" and slot.navigation.step > 0 for slot in slots)
    return StreamFacts(needs_times=needs_times or reads_later, reads_ahead=reads_ahead(task, neighbours))
