"""What Spark's own join of streams keeps for a key of an INTERVAL JOIN, for DESCRIBE STREAMING TABLE … FOR KEY.

Spark's state has the columns of the rows by their names. So the keys, the times and the condition are computed on the
kept rows as they are written.

A row that an outer or an anti join shows without a partner comes when Spark drops it from the state: at the watermark
that `dropped_at` names. A test compares it with what Spark does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Any, NamedTuple

from sqlext.engine.joins.bind_interval import bind_interval, range_between
from sqlext.engine.joins.bind_stream_join import EQUAL, event_times, has_watermark, join_keys
from sqlext.engine.joins.join_members import members
from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.queries.queries import Queries
from sqlext.engine.queries.row_json import row_json
from sqlext.engine.streams.stored_state import HAS_PARTNER, StoredJoin
from sqlext.operators.stateful.fact import MAX_ROWS, ROW, Fact, ShowTime, not_yet
from sqlext.rewriter.joins.join_conditions import (
    LEFT,
    RIGHT,
    Offset,
    Term,
    TimeRange,
    between,
    compared,
    offset,
    other_side,
)
from sqlext.rewriter.joins.time_buckets import COPIES
from sqlext.rewriter.text.and_list import normal_words
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.names import column_name, quoted, unquoted
from sqlext.rewriter.text.splice import Text, join

_OURS = "__sqlext"  # how the names of columns begin that the rewritten join adds
_ROW, _KEY = "__sqlext_kept", "__sqlext_key"  # the kept row and its key, as JSON
_TIME = "__sqlext_time"  # the time of the kept row
_SINCE, _UNTIL = "__sqlext_since", "__sqlext_until"  # the first and the last time of its partners
_LAST = "__sqlext_last"  # how the names of the columns begin that have the last time of a partner by one comparison
_PADDED = {"LEFT": (LEFT,), "LEFT ANTI": (LEFT,), "RIGHT": (RIGHT,), "FULL": (LEFT, RIGHT)}
_NUMBERED = re.compile(r"^__sqlext_\w*?(\d+)")  # a column with the number of its join
_MOST_JOINS = 5
_NO_TIME = "CAST(NULL AS TIMESTAMP_LTZ)"


class KeptRow(NamedTuple):
    """The fact about a kept row, and the `key` of the row, which is JSON; None if there is none."""

    key: str | None
    fact: Fact


class Last(NamedTuple):
    """The last time of a partner by one comparison of ON; `is_excluded`: that time itself is none of a partner."""

    time: int
    is_excluded: bool


class _Last(NamedTuple):
    """The same as SQL, over a kept row."""

    text: str
    is_excluded: bool


def _ascending(conjuncts: Sequence[Fragment]) -> Iterator[tuple[Fragment, Fragment, bool]]:
    """The pairs of which ON says that the first one is not greater; true where it says that it is less."""
    for conjunct in conjuncts:
        whole, comparison = between(conjunct), compared(conjunct)
        if whole is not None:
            yield whole.lower, whole.time, False
            yield whole.time, whole.upper, False
        elif comparison is not None and comparison.operator in ("<", "<="):
            yield comparison.left, comparison.right, comparison.operator == "<"
        elif comparison is not None and comparison.operator in (">", ">="):
            yield comparison.right, comparison.left, comparison.operator == ">"


def dropped_at(time: int, lasts: Sequence[Last]) -> int:
    """The watermark at which Spark drops a row from the state of a join. All times are int64 microseconds.

    Spark computes in whole milliseconds. It drops rows one millisecond later than it could where the last time is
    included: a row at 5 s with partners up to 9 s is dropped at 9.001 s, though no row at 9 s may come after the
    watermark 9 s.

    >>> dropped_at(5_000_000, [Last(9_000_000, is_excluded=False)]), dropped_at(5_000_000, [Last(9_000_000, True)])
    (9001000, 9000000)
    >>> dropped_at(5_000_400, [Last(9_000_600, True)])
    9002000
    """
    width = max(-(-(last.time - time) // 1000) + (not last.is_excluded) for last in lasts)
    return (-(-time // 1000) + width) * 1000


def _between(since: str, until: str, *, excludes_since: bool, excludes_until: bool) -> str:
    """The times of the partners of a row.

    >>> for first, last in ((False, False), (False, True), (True, False), (True, True)):
    ...     print(_between("4", "9", excludes_since=first, excludes_until=last))
    from 4 to 9
    from 4 and before 9
    after 4 up to 9
    after 4 and before 9
    """
    up_to = "and before" if excludes_until else "up to" if excludes_since else "to"
    return f"{'after' if excludes_since else 'from'} {since} {up_to} {until}"


@dataclass(frozen=True)
class KeptInterval:
    """An INTERVAL JOIN of streams and its state."""

    sides: JoinSides
    stored: StoredJoin
    time_zone: str

    @cached_property
    def why_hidden(self) -> str:
        """The reason why the kept rows cannot be shown, empty if they can: their columns need the names by which ON
        qualifies them."""
        return next(filter(None, map(self._why_hidden, (LEFT, RIGHT))), "")

    def _why_hidden(self, side: str) -> str:
        joined, names = members(self.sides, side), self._names[side]
        if None in names:
            what = f"its {side} relation" if len(joined) == 1 else f"a relation that its {side} relation joins"
            return f"{what} has no name: give it an alias"
        if not self._fits(side):
            return (
                f"Spark keeps only a field of a struct of its {side} relation, under another name: name it in a "
                "subquery that is the relation, (SELECT s.f AS f, …)"
            )
        if len(joined) > 1 and (self._owners[side] is None or (side == RIGHT and self._renamed)):
            listed = " and ".join(filter(None, names))
            return f"Spark's state does not say which of their columns are of which of {listed}, which are joined"
        return ""

    @cached_property
    def _names(self) -> dict[str, list[str | None]]:
        """For each relation the name, as written, of each relation that it joins; None for one without a name."""
        tree = self.sides.tree
        found = {side: [tree.name_of(member) for member in members(self.sides, side)] for side in (LEFT, RIGHT)}
        return {side: [None if name is None else name.text for name in names] for side, names in found.items()}

    @cached_property
    def _owners(self) -> Mapping[str, list[int] | None]:
        """For each relation that is a join and each of its kept columns the relation that the column is of, by its
        number; None if that is not certain."""
        columns = {
            side: [
                (owner, name.lower())
                for owner, own in enumerate(names)
                for name in self.sides.rows(side, f"{own}.*").columns
                if not name.startswith(_OURS)
            ]
            for side, names in self._names.items()
            if len(names) > 1 and None not in names
        }
        return {side: owners([name.lower() for name in self._shown_columns(side)], of) for side, of in columns.items()}

    def _shown_columns(self, side: str) -> list[str]:
        return [name for name in self._stored_columns[side] if not name.startswith(_OURS)]

    @cached_property
    def _stored_columns(self) -> dict[str, list[str]]:
        return {side: self.stored.rows(side).columns for side in (LEFT, RIGHT)}

    def fits(self) -> bool:
        """Whether the columns of the state are those of the two relations: Spark keeps the columns that it needs."""
        stored = self._stored_columns.values()
        numbers = {match[1] for names in stored for name in names if (match := _NUMBERED.search(name))}
        if numbers and numbers != {str(self.sides.number)}:
            return False
        return self._fits(LEFT) and self._fits(RIGHT)

    def _fits(self, side: str) -> bool:
        own = Counter(name.lower() for name in self.sides.whole(side).columns)
        return Counter(name.lower() for name in self._shown_columns(side)) <= own

    @cached_property
    def keys(self) -> dict[str, tuple[Fragment, Fragment]]:
        """The expressions of the left and of the right relation that are equal, by the name of the left one."""
        pairs = [(c.left, c.right) for c in join_keys(self.sides, EQUAL)]
        pairs = [pair if self.sides.side_of(pair[0]) == LEFT else pair[::-1] for pair in pairs]
        return {column_name(left.text): (left, right) for left, right in pairs if self._is_no_time(left)}

    def rows(self, condition: Text, queries: Callable[[], Queries], show: ShowTime) -> Iterator[KeptRow]:
        """The rows of the keys that satisfy the condition, at most MAX_ROWS of each relation, in the order of their
        times; then those that come without a partner. Raises BindError if the condition cannot be computed from the
        keys."""
        padded: list[tuple[int, str, str]] = []
        for side in (LEFT, RIGHT):
            own = queries()
            found = own.run(self._query(side, condition, own)).toArrow()
            for fields in found.slice(0, MAX_ROWS).to_pylist():
                key, row = fields[_KEY], fields[_ROW]
                yield KeptRow(key, Fact(ROW, fields[_TIME], f"{side} row {row}, {self._why_kept(side, fields, show)}"))
                at = self._dropped_at(side, fields)
                if at is not None and not fields[HAS_PARTNER]:
                    unsure = ", unless a pair has had it" if fields[HAS_PARTNER] is None else ""
                    padded.append((at, key, f"{row} without a partner{unsure}"))
            if found.num_rows > MAX_ROWS:
                yield KeptRow(None, Fact(ROW, None, f"further {side} rows are kept"))
        for at, key, row in sorted(padded):
            yield KeptRow(key, not_yet(at, self.stored.watermark_us or 0, row, show))

    def _why_kept(self, side: str, fields: Mapping[str, Any], show: ShowTime) -> str:
        since, until, times = fields[_SINCE], fields[_UNTIL], "of the same time"
        if since is not None and self._range is not None:
            ends = self._range.excludes_lower, self._range.excludes_upper
            first, last = ends[::-1] if self.sides.side_of(self._range.time) == side else ends
            times = _between(show(since), show(until), excludes_since=first, excludes_until=last)
        return f"kept because a {other_side(side)} row {times} may be its partner"

    def _dropped_at(self, side: str, fields: Mapping[str, Any]) -> int | None:
        """When a row is dropped that the join then shows without a partner; None if it does not."""
        lasts = self._lasts.get(side, ())
        times = [Last(fields[f"{_LAST}{n}"], last.is_excluded) for n, last in enumerate(lasts)]
        return dropped_at(fields[_TIME], times) if times else None

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
        inner = self._of_several(side, queries) if len(self._names[side]) > 1 else self._of_one(side, queries)
        for bucket in (name for name in rows.columns if COPIES.fullmatch(name)):  # one of the copies of each row
            first = f"{bucket} <=> min({bucket}) OVER (PARTITION BY {_ROW})"
            inner = f"SELECT * FROM (SELECT *, {first} AS __sqlext_is_first FROM ({inner})) WHERE __sqlext_is_first"
        name = self.sides.names[side]
        keys = {key: self._text(pair[side == RIGHT], side) for key, pair in self.keys.items()}
        columns = [f"{text} AS {quoted(key)}" for key, text in keys.items()]
        lasts = {f"{_LAST}{n}": last.text for n, last in enumerate(self._lasts.get(side, ()))}
        times = {**dict(zip((_TIME, _SINCE, _UNTIL), self._bounds(side))), **lasts}
        columns += [f"{text} AS {at}" for at, text in times.items()]
        kept = f"SELECT {', '.join([*columns, _ROW, HAS_PARTNER])} FROM ({inner}) AS {quoted(name or '__sqlext_side')}"
        micros = [f"unix_micros(CAST({at} AS TIMESTAMP_LTZ)) AS {at}" for at in times]
        key = row_json(_struct({name: quoted(name) for name in keys})) if keys else "'{}'"
        shown_columns = ", ".join([*micros, _ROW, HAS_PARTNER, f"{key} AS {_KEY}"])
        return join(
            f"SELECT {shown_columns} FROM ({kept}) AS __kept WHERE (", condition,
            f") ORDER BY 1, {_ROW} LIMIT {MAX_ROWS + 1}",
        )  # fmt: skip

    def _of_one(self, side: str, queries: Queries) -> str:
        """The kept rows of one relation, and each as JSON."""
        shown = {name: quoted(name) for name in self._shown_columns(side)}
        if side == RIGHT and self._renamed:
            shown = {column_name(text): name for text, name in self._renamed.values()}
        rows = queries.name(self.stored.rows(side))
        return f"SELECT *, {row_json(_struct(shown))} AS {_ROW} FROM {rows}"

    def _of_several(self, side: str, queries: Queries) -> str:
        """The same of joined relations: a struct for each of them, by whose name ON qualifies a column, and the columns
        that one of them alone has."""
        rows, owners = self.stored.rows(side), self._owners[side]
        assert owners is not None
        numbered = {f"__sqlext_column{i}": name for i, name in enumerate(rows.columns)}
        shown = [(number, name) for number, name in numbered.items() if not name.startswith(_OURS)]
        names, often = self._names[side], Counter(name.lower() for _, name in shown)
        structs = {
            str(own): _struct({name: number for (number, name), of in zip(shown, owners) if of == owner})
            for owner, own in enumerate(names)
            if owner in owners
        }
        columns = [f"{text} AS {own}" for own, text in structs.items()]
        columns += [f"{number} AS {quoted(name)}" for number, name in shown if often[name.lower()] == 1]
        columns += [f"{number} AS {quoted(name)}" for number, name in numbered.items() if name.startswith(_OURS)]
        row = f"{row_json(_struct({unquoted(own): own for own in structs}))} AS {_ROW}"
        inner = f"SELECT {', '.join(columns)} FROM {queries.name(rows.toDF(*numbered))}"
        return f"SELECT *, {row} FROM ({inner})"

    def _bounds(self, side: str) -> tuple[str, str, str]:
        """The time of a row, and the first and the last time of its partners."""
        range_, times = self._range, self._times
        if range_ is None or times is None:
            return self._equal_time(side) or _NO_TIME, _NO_TIME, _NO_TIME
        time = self._text(times[side == RIGHT], side)
        lower, upper = (offset(bound, self.sides.source).constants for bound in (range_.lower, range_.upper))
        if self.sides.side_of(range_.time) == side:
            return time, self._moved(time, upper, -1), self._moved(time, lower, -1)
        return time, self._moved(time, lower, 1), self._moved(time, upper, 1)

    def _equal_time(self, side: str) -> str | None:
        """The time of a row, of a relation whose time ON compares by =; None if it compares none so."""
        for comparison in join_keys(self.sides, frozenset({"="})):
            of = {self.sides.side_of(operand): operand for operand in (comparison.left, comparison.right)}
            if all(has_watermark(self.sides, own, operand) for own, operand in of.items()):
                return self._text(of[side], side)
        return None

    @cached_property
    def _lasts(self) -> dict[str, tuple[_Last, ...]]:
        """The comparisons of ON by which Spark drops a row, for each relation whose rows the join then shows without a
        partner."""
        return {side: tuple(self._lasts_of(side)) for side in _PADDED.get(self.sides.clause.join_type, ())}

    def _lasts_of(self, side: str) -> Iterator[_Last]:
        equal = self._equal_time(side)
        if equal is not None:  # the time is a key of Spark's join, and it drops rows by their keys
            yield _Last(equal, is_excluded=True)
            return
        for less, more, is_excluded in _ascending(self.sides.clause.conjuncts):
            ends = offset(less, self.sides.source), offset(more, self.sides.source)
            of_other, of_own = (self._time_in(end, own) for end, own in zip(ends, (other_side(side), side)))
            if of_other is not None and of_own is not None:  # time of the other one ± constants <= own ± constants
                last = self._moved(self._text(of_own, side), ends[1].constants, 1)
                yield _Last(self._moved(last, ends[0].constants, -1), is_excluded)

    def _time_in(self, sum_: Offset, side: str) -> Fragment | None:
        """The event time of the relation in a sum of it and constants."""
        if len(sum_.others) != 1 or sum_.others[0].sign < 0:
            return None
        expression = sum_.others[0].expression
        return expression if has_watermark(self.sides, side, expression) else None

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


def _struct(fields: Mapping[str, str]) -> str:
    """SQL for a struct of these fields."""
    return f"named_struct({', '.join(f'{string_literal(name)}, {text}' for name, text in fields.items())})"


def owners(names: Sequence[str], columns: Sequence[tuple[int, str]]) -> list[int] | None:
    """The owner of each of `names`, which are some of `columns`, (owner, name), in their order; None if not certain.

    >>> owners(["k", "v", "k"], [(0, "k"), (0, "v"), (1, "k")]), owners(["k", "v"], [(0, "k"), (0, "v"), (1, "v")])
    ([0, 0, 1], None)
    """
    first, last = _first_owners(names, columns), _first_owners(names[::-1], columns[::-1])
    return first if first is not None and last is not None and first == last[::-1] else None


def _first_owners(names: Sequence[str], columns: Sequence[tuple[int, str]]) -> list[int] | None:
    """The same with the first columns that the names can be; None if they cannot be some of the columns."""
    rest = iter(columns)
    found = [next((owner for owner, of in rest if of == name), None) for name in names]
    return None if None in found else [owner for owner in found if owner is not None]


def kept_joins(joins: Sequence[JoinSides], stored: Sequence[StoredJoin], time_zone: str) -> list[KeptInterval] | None:
    """The joins, each with its state; None if their columns do not say which state is that of which join."""
    if (len(joins), len(stored)) == (1, 1):
        return [KeptInterval(joins[0], stored[0], time_zone)]
    if len(joins) != len(stored) or len(joins) > _MOST_JOINS:
        return None
    pairs = {(i, k): KeptInterval(a, b, time_zone) for i, a in enumerate(joins) for k, b in enumerate(stored)}
    fitting = {pair for pair, kept in pairs.items() if kept.fits()}
    orders = [order for order in permutations(range(len(stored))) if set(enumerate(order)) <= fitting]
    order = orders[0] if len(orders) == 1 else next((order for order in orders if order == _in_plan(joins)), None)
    return None if order is None else [pairs[pair] for pair in enumerate(order)]


def _in_plan(joins: Sequence[JoinSides]) -> tuple[int, ...] | None:
    """The number of each join in Spark's plan; None where the text does not say it, because of CTEs and views.

    Spark numbers outer joins before those in their relations, and left ones before right ones. It finds the state of
    a query that is started again by these numbers, so they stay what they are.
    """
    tree = joins[0].tree
    places = [(sides.clause.left.start, -sides.clause.whole.stop) for sides in joins]
    if any(sides.tree is not tree for sides in joins) or any(
        cte.definition.start <= start < cte.definition.stop for cte in tree.ctes for start, _ in places
    ):
        return None
    return tuple(sorted(places).index(place) for place in places)
