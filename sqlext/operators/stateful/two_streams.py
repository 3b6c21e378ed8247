"""What stateful operators of two streams share, whose rows arrive together and whose state has rows only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from sqlext.operators.rows.columns import ROW_TIME
from sqlext.operators.stateful.operator import KEYS, ROWS, TimesBy, arriving_rows


class TwoStreamsPlan(Protocol):
    """`schema`: the columns of the rows of both streams; `keys`: the names of those that are equal in a pair."""

    @property
    def schema(self) -> pa.Schema: ...

    @property
    def keys(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, kw_only=True)
class TwoStreamsOperator:
    """`extra`: further columns of the rows that arrive: LATE_ROW and FAILURE, where they are needed."""

    plan: TwoStreamsPlan
    extra: tuple[str, ...] = ()
    times_by: TimesBy = TimesBy.EVENTS

    @property
    def inputs(self) -> Mapping[str, pa.Schema]:
        return arriving_rows(self.plan.schema, self.extra)

    @property
    def tables(self) -> Mapping[str, pa.Schema]:
        keys = pa.schema([self.plan.schema.field(name) for name in self.plan.keys])
        return {ROWS: self.plan.schema, KEYS: keys}

    @property
    def time(self) -> str:
        return ROW_TIME
