"""A clause with state in a streaming query, as the statements about streaming tables see it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.engine.streams.fingerprint import Fingerprint
from sqlext.errors import Place


@dataclass(frozen=True, kw_only=True)
class StreamClause:
    """`text`: `PATTERN (…)` or `EMIT …` as the user wrote it, at `place`.

    `fingerprint`: of what decides its rows and its state; `ends_by_clock`: rows are decided by the clock, so that a
    query which is to end when it has read all rows would not end; `has_merged_rows`: rows of timing MERGED take back
    others.
    """

    text: str
    place: Place
    fingerprint: Fingerprint
    ends_by_clock: bool = False
    has_merged_rows: bool = False
