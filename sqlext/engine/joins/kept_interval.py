"""What Spark's own join of streams keeps for a key of an INTERVAL JOIN, for DESCRIBE STREAMING TABLE … FOR KEY.

Spark's state has the columns of the rows by their names. So the keys, the times and the condition are computed on the
kept rows as they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from sqlext.engine.joins.bind_interval import bind_interval, range_between
from sqlext.engine.joins.bind_stream_join import EQUAL, event_times, join_keys
from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.queries.queries import Queries
from sqlext.engine.streams.stored_state import StoredJoin
from sqlext.operators.stateful.fact import MAX_ROWS, ROW, Fact, ShowTime, row_text
from sqlext.rewriter.joins.join_conditions import LEFT, RIGHT, Term, TimeRange, offset, other_side
from sqlext.rewriter.text.and_list import normal_words
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.names import column_name, quoted
from sqlext.rewriter.text.splice import Text, join

_OURS = "__sqlext"  # how the names of columns begin that the rewritten join adds
_ROW = "__sqlext_kept"  # the kept row
_TIMES = ("__sqlext_time", "__sqlext_since", "__sqlext_until")  # of a row, and the first and last one of its partners


class KeptRow(NamedTuple):
    """The fact about a kept row, and the `key` of the row, which is JSON; None if there is none."""

    key: str | None
    fact: Fact


@dataclass(frozen=True)
class KeptInterval:
    """An INTERVAL JOIN of streams and its state."""

    sides: JoinSides
    stored: StoredJoin
    time_zone: str

    @cached_property
    def keys(self) -> dict[str, tuple[Fragment, Fragment]]:
        """The expressions of the left and of the right relation that are equal, by the name of the left one."""
        pairs = [(c.left, c.right) for c in join_keys(self.sides, EQUAL)]
        pairs = [pair if self.sides.side_of(pair[0]) == LEFT else pair[::-1] for pair in pairs]
        return {column_name(left.text): (left, right) for left, right in pairs if self._is_no_time(left)}

    def rows(self, condition: Text, queries: Callable[[], Queries], show: ShowTime) -> Iterator[KeptRow]:
        """The rows of the keys that satisfy the condition, at most MAX_ROWS of each relation, in the order of their
        times. Raises BindError if the condition cannot be computed from the keys."""
        for side in (LEFT, RIGHT):
            own = queries()
            found = own.run(self._query(side, condition, own)).toArrow()
            names = {name: name for name in self.keys}
            for i, fields in enumerate(found.slice(0, MAX_ROWS).select([*_TIMES, _ROW]).to_pylist()):
                time, since, until, row = fields.values()
                key = row_text(found, i, names)
                other = other_side(side)
                waits = "of the same time" if since is None else f"from {show(since)} to {show(until)}"
                text = f"{side} row {row}, kept because a {other} row {waits} may be its partner"
                yield KeptRow(key, Fact(ROW, time, text))
            if found.num_rows > MAX_ROWS:
                yield KeptRow(None, Fact(ROW, None, f"further {side} rows are kept"))

    def _is_no_time(self, left: Fragment) -> bool:
        times = self._times
        return times is None or normal_words(left) != normal_words(times[0])

    @cached_property
    def _times(self) -> tuple[Fragment, Fragment] | None:
        """The times of the left and of the right relation; None if ON has no range."""
        return event_times(self.sides, self._range) if self._range is not None else None

    @cached_property
    def _range(self) -> TimeRange | None:
        return range_between(self.sides)

    def _query(self, side: str, condition: Text, queries: Queries) -> Text:
        """The time of each row, the first and the last time of a partner, its key and the row itself."""
        rows = self.stored.rows(side)
        names = [name for name in rows.select("value.*").columns if not name.startswith(_OURS)]
        shown = {name: f"value.{quoted(name)}" for name in names}
        if side == RIGHT and self._renamed:
            shown = {column_name(text): f"value.{name}" for text, name in self._renamed.values()}
        fields = [f"{string_literal(name)}, {text}" for name, text in shown.items()]
        inner = f"SELECT value.*, to_json(named_struct({', '.join(fields)})) AS {_ROW} FROM {queries.name(rows)}"
        name = self.sides.names[side]
        keys = {key: self._text(pair[side == RIGHT], side) for key, pair in self.keys.items()}
        columns = [f"{text} AS {quoted(key)}" for key, text in keys.items()]
        columns += [f"{text} AS {at}" for at, text in zip(_TIMES, self._bounds(side))]
        selected = f"SELECT {', '.join([*columns, _ROW])} FROM ({inner}) AS {quoted(name or '__sqlext_side')}"
        times = [f"unix_micros(CAST({at} AS TIMESTAMP)) AS {at}" for at in _TIMES]
        shown_columns = ", ".join([*times, _ROW, *map(quoted, keys)])
        return join(
            f"SELECT {shown_columns} FROM ({selected}) AS kept WHERE (", condition,
            f") ORDER BY 1, {_ROW} LIMIT {MAX_ROWS + 1}",
        )  # fmt: skip

    def _bounds(self, side: str) -> tuple[str, str, str]:
        """The time of a row, and the first and the last time of its partners."""
        range_, times = self._range, self._times
        if range_ is None or times is None:
            return ("CAST(NULL AS TIMESTAMP)",) * 3
        time = self._text(times[side == RIGHT], side)
        lower, upper = (offset(bound, self.sides.source).constants for bound in (range_.lower, range_.upper))
        if self.sides.side_of(range_.time) == side:
            return time, self._moved(time, upper, -1), self._moved(time, lower, -1)
        return time, self._moved(time, lower, 1), self._moved(time, upper, 1)

    def _moved(self, time: str, terms: tuple[Term, ...], sign: int) -> str:
        return time + "".join(
            f" {'+' if term.sign == sign else '-'} ({self.sides.text(term.expression)})" for term in terms
        )

    @cached_property
    def _renamed(self) -> dict[tuple[str, ...], tuple[str, str]]:
        """The expressions of the right relation that are columns of the join by other names, and these names."""
        columns = bind_interval(self.sides, self.time_zone).right_columns or ()
        texts = [(str(column.expression), column.name) for column in columns]
        return {normal_words(Fragment(text, 0, len(text))): (text, name) for text, name in texts}

    def _text(self, expression: Fragment, side: str) -> str:
        if side == RIGHT and (renamed := self._renamed.get(normal_words(expression))):
            return renamed[1]
        return f"({self.sides.text(expression)})"
