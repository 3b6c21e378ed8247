"""The rows that Spark's own join of streams keeps for a key of an INTERVAL JOIN, for DESCRIBE … FOR KEY.

Spark's state has the values of the keys in the order of ON, and the columns of the rows by their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from sqlext.engine.joins.bind_interval import range_between
from sqlext.engine.joins.bind_stream_join import EQUAL, join_keys
from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.queries.queries import Queries
from sqlext.engine.reports.row_json import row_json
from sqlext.engine.streams.stored_state import KeptRows, StoredJoin
from sqlext.operators.stateful.fact import MAX_ROWS, RANGE, ROW, Fact
from sqlext.rewriter.joins.join_conditions import LEFT, RIGHT
from sqlext.rewriter.joins.time_buckets import COPIES
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.names import column_name, quoted
from sqlext.rewriter.text.splice import Text, join

_OURS = "__sqlext"  # how the names of columns begin that the rewritten join adds
_ROW, _KEY, _TIME = "__sqlext_kept", "__sqlext_key", "__sqlext_time"  # a kept row and its key as JSON, and its time
_BUCKET, _IS_FIRST = "__sqlext_bucket", "__sqlext_is_first"


class KeptRow(NamedTuple):
    """The fact about a kept row, and the `key` of the row, which is JSON; None if there is none."""

    key: str | None
    fact: Fact


def _between(lower: str, upper: str, *, excludes_lower: bool, excludes_upper: bool) -> str:
    """A range in words.

    >>> for lower, upper in ((False, False), (False, True), (True, False), (True, True)):
    ...     print(_between("4", "9", excludes_lower=lower, excludes_upper=upper))
    from 4 to 9
    from 4 and before 9
    after 4 up to 9
    after 4 and before 9
    """
    up_to = "and before" if excludes_upper else "up to" if excludes_lower else "to"
    return f"{'after' if excludes_lower else 'from'} {lower} {up_to} {upper}"


@dataclass(frozen=True)
class KeptInterval:
    """An INTERVAL JOIN of streams and its state."""

    sides: JoinSides
    stored: StoredJoin

    @cached_property
    def keys(self) -> list[str]:
        """The names of the keys: those of the left operands of ON's equalities."""
        pairs = [(c.left, c.right) for c in join_keys(self.sides, EQUAL)]
        return [column_name((left if self.sides.side_of(left) == LEFT else right).text) for left, right in pairs]

    @property
    def range(self) -> Fact:
        """The range of the join, as ON has it."""
        range_ = range_between(self.sides)
        if range_ is None:
            return Fact(RANGE, None, "the two rows of a pair have the same time")
        ends = {"excludes_lower": range_.excludes_lower, "excludes_upper": range_.excludes_upper}
        times = _between(range_.lower.in_line, range_.upper.in_line, **ends)
        return Fact(RANGE, None, f"in a pair {range_.time.in_line} is {times}; a row is kept while a partner may come")

    def rows(self, condition: Text, queries: Callable[[], Queries]) -> Iterator[KeptRow]:
        """The rows of the keys that satisfy the condition, at most MAX_ROWS of each relation, in the order of their
        times. Raises BindError if the condition cannot be computed from the keys."""
        for side in (LEFT, RIGHT):
            own = queries()
            found = own.run(self._query(self.stored.rows(side), condition, own)).toArrow()
            for row in found.slice(0, MAX_ROWS).to_pylist():
                text = f"{side} row {row[_ROW]}" if row[_ROW] != "{}" else f"{side} row: only its key and time are kept"
                yield KeptRow(row[_KEY], Fact(ROW, row[_TIME], text))
            if found.num_rows > MAX_ROWS:
                yield KeptRow(None, Fact(ROW, None, f"further {side} rows are kept"))

    def _query(self, rows: KeptRows, condition: Text, queries: Queries) -> Text:
        """The time of each row, the row and its key. Of a row that is kept in several buckets of time one copy."""
        keys = dict(zip(self.keys, rows.keys))
        shown = [(name, at) for at, name in rows.values.items() if not name.startswith(_OURS)]
        time = f"CAST({rows.times[0]} AS TIMESTAMP_LTZ)" if rows.times else "CAST(NULL AS TIMESTAMP_LTZ)"
        columns = [f"{at} AS {quoted(name)}" for name, at in keys.items()]
        columns += [f"unix_micros({time}) AS {_TIME}", f"{_json(shown)} AS {_ROW}", f"{_json(keys.items())} AS {_KEY}"]
        bucket = next((at for at, name in rows.values.items() if COPIES.fullmatch(name)), "0")
        kept = f"SELECT {', '.join(columns)}, {bucket} AS {_BUCKET} FROM {queries.name(rows.frame)}"
        first = f"{_BUCKET} <=> min({_BUCKET}) OVER (PARTITION BY {_TIME}, {_ROW}) AS {_IS_FIRST}"
        return join(
            f"SELECT {_TIME}, {_ROW}, {_KEY} FROM (SELECT *, {first} FROM ({kept})) AS __kept WHERE {_IS_FIRST} AND (",
            condition,
            f") ORDER BY 1, 2 LIMIT {MAX_ROWS + 1}",
        )


def _json(fields: Iterable[tuple[str, str]]) -> Text | str:
    """SQL for columns as JSON: their names, and the columns."""
    parts = ", ".join(f"{string_literal(name)}, {at}" for name, at in fields)
    return row_json(f"named_struct({parts})") if parts else "'{}'"


def kept_joins(joins: Sequence[JoinSides], stored: Sequence[StoredJoin]) -> list[KeptInterval] | None:
    """The joins, each with its state; None where the text does not say in which order Spark plans them, because of CTEs
    and views, or where other joins of streams are among them.

    Spark numbers outer joins before those in their relations, and left ones before right ones. It finds the state of
    a query that is started again by these numbers, so they stay what they are.
    """
    if len(joins) != len(stored):
        return None
    if len(joins) == 1:
        return [KeptInterval(joins[0], stored[0])]
    tree = joins[0].tree
    places = [(sides.clause.left.start, -sides.clause.whole.stop) for sides in joins]
    if any(sides.tree is not tree for sides in joins) or any(
        cte.definition.start <= start < cte.definition.stop for cte in tree.ctes for start, _ in places
    ):
        return None
    return [KeptInterval(sides, stored[sorted(places).index(place)]) for sides, place in zip(joins, places)]
