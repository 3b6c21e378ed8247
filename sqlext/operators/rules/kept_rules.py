"""What MATCH_RULES on a stream keeps for one key: the rows that its rules share, and the search of each rule. Loads
Numba."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sqlext.operators.match.open_matches import KeptKey, kept_key
from sqlext.operators.rows.arrow import as_arrow, as_numpy, one_chunk
from sqlext.operators.rules.plan import CODE, RulePlan
from sqlext.operators.rules.rule_run import Compile, rule_of
from sqlext.operators.rules.rule_versions import Acting, acting
from sqlext.operators.rules.shared_rows import SharedRows
from sqlext.operators.rules.state import POSITION, ROW, RULE, RULES, VERSION, read_versions
from sqlext.operators.stateful.key_state import LAST_WATERMARK
from sqlext.operators.stateful.operator import KEYS, ROWS, State
from sqlext.pattern.program.ast import Pattern
from sqlext.pattern.task.event_time import NEVER

PatternOf = Callable[[str], Pattern]  # the pattern of a clause


@dataclass(frozen=True, kw_only=True)
class KeptRule:
    """The search of a version of a rule; None if nothing of it has begun and no match can begin at a kept row.

    The rows of `search` are the rows of the key from row `first` on, in their order.
    """

    version: Acting
    search: KeptKey | None
    first: int = 0


def kept_rules(state: State, shared: SharedRows, compiled: Compile, pattern_of: PatternOf) -> Iterator[KeptRule]:
    """The versions that act, or will act, on rows of the key. `state` is that of one key, `shared` its rows."""
    for version in acting(read_versions(state.tables[RULES])):
        rule = rule_of(version.version, compiled)
        if rule is None or version.until <= state.watermark:
            continue
        position = _position(state.keys, version)
        first, stop = _rows(shared, rule, version, position, state.watermark)
        if first >= stop:
            yield KeptRule(version=version, search=None)
            continue
        columns = {name: position.column(name) for name in POSITION}
        keys = pa.table({CODE: as_arrow(np.zeros(position.num_rows, np.int64)), **columns})
        own = State({ROWS: shared.table(rule, np.arange(first, stop)), KEYS: keys}, state.watermark)
        until = min(version.until, LAST_WATERMARK)
        search = kept_key(own, rule.stream, pattern_of(version.version.clause or ""), until)
        yield KeptRule(version=version, search=search, first=first)


def _position(positions: pa.Table, version: Acting) -> pa.Table:
    """The position of a version in the key, a table with at most one row."""
    names, numbers = (positions.column(name).to_pylist() for name in (RULE, VERSION))
    own = (version.version.name, version.version.version)
    return positions.filter(pa.array([pair == own for pair in zip(names, numbers)], pa.bool_()))


def _rows(shared: SharedRows, rule: RulePlan, version: Acting, position: pa.Table, watermark: int) -> tuple[int, int]:
    """The first row that a version reads, and the row after the last one, as in the next step of the stream."""
    if not len(shared.time):
        return 0, 0
    new = shared.between(max(watermark, version.version.first), version.until)
    stop = int(new.stop[0])
    if position.num_rows:
        place = int(shared.places(as_numpy(one_chunk(position.column(ROW))))[0])
        if place != NEVER:
            return place, stop
    begins = shared.beginnings(rule, new)
    return (int(begins[0]) if len(begins) else stop), stop
