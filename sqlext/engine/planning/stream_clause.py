"""A clause with state in a streaming query, as the statements about streaming tables use it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.engine.planning.fingerprint import Fingerprint
from sqlext.errors import Place


@dataclass(frozen=True, kw_only=True)
class StreamClause:
    """`text`: `PATTERN (…)` or `EMIT …` as the user wrote it, at `place`.

    `fingerprint`: the fingerprint of what decides its rows and its state; `ends_by_clock`: rows are decided by the
    clock, so a query that should end when it has read all rows would not end; `has_merged_rows`: rows of timing MERGED
    cancel other rows.
    """

    text: str
    place: Place
    fingerprint: Fingerprint
    ends_by_clock: bool = False
    has_merged_rows: bool = False
