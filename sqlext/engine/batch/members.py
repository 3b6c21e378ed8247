"""Aggregates that workers do not know, computed by Spark over arrays that hold the rows of a match.

The arrays are exploded and grouped by their row's number again. A correlated subquery for each of them would be shorter
to write, but Spark plans it as a join with the match itself, on the arrays: three matches for one such subquery, a
planner out of memory for ten, and an error for maps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlext.rewriter.match.match_plan import Slot
from sqlext.rewriter.match.references import FILTER_PLACE
from sqlext.rewriter.match.scalars import AGGREGATES
from sqlext.rewriter.text.splice import Text, TextLike, join

_NUMBER, _MEMBER, _HAS_MEMBERS = "__id", "__x", "__has"


def aggregated(rows: TextLike, passed: Sequence[str], arrays: Mapping[str, Slot]) -> Text:
    """A query for the columns `passed` of a relation and, under its slot's name, the aggregate of each array column."""
    built_in = {a: s for a, s in arrays.items() if s.aggregate.function in AGGREGATES}
    own = {a: s for a, s in arrays.items() if a not in built_in}
    query: TextLike = rows
    columns = list(passed)
    if built_in:
        query = _built_in(query, [*columns, *own], built_in)
        columns += [s.name for s in built_in.values()]
    for i, (array, slot) in enumerate(own.items()):  # Spark computes these beside no other kind, and without FILTER
        query = _own(query, [*columns, *list(own)[i + 1 :]], array, slot)
        columns.append(slot.name)
    return join(query)


def _built_in(rows: TextLike, passed: Sequence[str], arrays: Mapping[str, Slot]) -> Text:
    """All at once; shorter arrays are filled up with NULL, which FILTER leaves out."""
    columns: list[TextLike] = [f"any_value({c}) AS {c}" for c in passed]
    for array, slot in arrays.items():
        member = f"{_MEMBER}.{array}"
        columns.append(join(_call(slot, member, f" FILTER (WHERE {member} IS NOT NULL)"), f" AS {slot.name}"))
    exploded = f"explode_outer(arrays_zip({', '.join(arrays)}))"
    return _grouped(columns, exploded, rows, [])


def _own(rows: TextLike, passed: Sequence[str], array: str, slot: Slot) -> Text:
    """The function is not asked for an empty array: Spark's own call for no rows gives NULL."""
    call = join(f"IF({_HAS_MEMBERS}, ", _call(slot, _MEMBER, ""), f", NULL) AS {slot.name}")
    exploded = f"size({array}) > 0 AS {_HAS_MEMBERS}, explode_outer({array})"
    return _grouped([*passed, call], exploded, rows, [_HAS_MEMBERS, *passed])


def _grouped(columns: Sequence[TextLike], exploded: str, rows: TextLike, keys: Sequence[str]) -> Text:
    numbered = join(f"(SELECT *, monotonically_increasing_id() AS {_NUMBER} FROM ", rows, ")")
    members = join(f"(SELECT *, {exploded} AS {_MEMBER} FROM ", numbered, ")")
    selected = join(*columns, separator=", ")
    return join("(SELECT ", selected, " FROM ", members, f" GROUP BY {', '.join([_NUMBER, *keys])})")


def _call(slot: Slot, member: str, filter_clause: str) -> Text:
    """The aggregate of fields of `member`."""
    parts: list[TextLike] = []
    for part in slot.call:
        if part == FILTER_PLACE:
            parts.append(filter_clause)
        else:
            parts.append(f"{member}.a{part}" if isinstance(part, int) else part)
    return join(*parts)
