"""INTERVAL JOIN: Spark determines what each part of ON reads and how wide the ranges are; the join itself is Spark's
own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Union

from pyspark.sql import DataFrame

from sqlext.engine.joins import range_width
from sqlext.engine.joins.bind_stream_join import bind_stream_join, join_keys
from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.joins.local_interval import LocalInterval
from sqlext.engine.queries.queries import with_outer_hint
from sqlext.errors import BindError, Place, UnsupportedError
from sqlext.operators.interval.plan import LOWER, TIME, UPPER
from sqlext.rewriter.joins import join_conditions
from sqlext.rewriter.joins.interval_sql import BoundRange, RewrittenJoin, bucket_join, copies_points, plain_join
from sqlext.rewriter.joins.join_conditions import BOTH, LEFT, RIGHT, TimeRange, comparisons, other_side, time_ranges
from sqlext.rewriter.joins.time_buckets import FLOATS, INTEGERS, Fixed, domain
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Edit, Text, join
from sqlext.rewriter.text.tokens import tokenize

# Buckets of twice the width of the range took 4 to 21 % less time than buckets of its width, with 0.3 to 93 partners
# a row. Buckets of four times its width took less with 14 partners, and more with 35 or more.
_CELLS = 2
_CELLS_OF_STREAM = 1  # stored in checkpoints: the state is divided by the bucket


# Returns the join by one worker that reads the files of both relations, or the reason why Spark reads the rows.
ByWorker = Callable[[TimeRange, Mapping[str, Text]], Union[LocalInterval, str]]


def bind_interval(sides: JoinSides, time_zone: str) -> RewrittenJoin:
    """The join as text for Spark. `time_zone`: the session's time zone.

    May run a small job over both relations, if the width of the ranges varies by row. Raises the BindError that a plain
    JOIN would raise, BindError for types that do not fit, and UnsupportedError.
    """
    bound = _IntervalBinder(sides, time_zone, None).bind()
    assert isinstance(bound, RewrittenJoin)
    return bound


def bind_range(sides: JoinSides, time_zone: str) -> tuple[TimeRange, bool]:
    """The range of the join, which is one point for `t = e`, and whether a relation is a stream. Raises as
    `bind_interval`."""
    return _IntervalBinder(sides, time_zone, None).bind_range()


def bind_local_or_interval(sides: JoinSides, time_zone: str, by_worker: ByWorker) -> RewrittenJoin | LocalInterval:
    """The join by a worker, or the result of `bind_interval` with the reason."""
    return _IntervalBinder(sides, time_zone, by_worker).bind()


class _IntervalBinder:
    def __init__(self, sides: JoinSides, time_zone: str, by_worker: ByWorker | None):
        self.clause, self.sides, self.time_zone, self.by_worker = sides.clause, sides, time_zone, by_worker

    def bind(self) -> RewrittenJoin | LocalInterval:
        bound = self._bound()
        return _with_filters(self.sides, bound) if isinstance(bound, RewrittenJoin) else bound

    def _checked(self) -> DataFrame:
        """The plain join, after all checks of ON but that of the range."""
        self._check_no_proctime()
        self.sides.check_scalar()
        rows = self._plain_join()
        if self.clause.on is not None:
            self.sides.check_spellings(self.clause.on)
        return rows

    def bind_range(self) -> tuple[TimeRange, bool]:
        rows = self._checked()
        range_ = self._range() or self._point()
        types = tuple(self.type_of(part) for part in (range_.time, range_.lower, range_.upper))
        if domain(types) is None:
            raise join_conditions.wrong_types(range_, types)
        return range_, rows.isStreaming

    def _point(self) -> TimeRange:
        """The range that `t = e` is, where t is a time of the right relation or, if no key is one, any key."""
        equal = comparisons(self.clause.conjuncts, frozenset({"="}))
        side_of = self.sides.side_of
        keys = [(conjunct, c) for conjunct, c in equal if {side_of(c.left), side_of(c.right)} == {LEFT, RIGHT}]
        domains = [domain((self.type_of(c.left), self.type_of(c.right))) for _, c in keys]
        times = [key for key, of in zip(keys, domains) if of not in (None, INTEGERS, FLOATS)]
        conjunct, c = (times or [key for key, of in zip(keys, domains) if of is not None])[0]
        time, end = (c.right, c.left) if side_of(c.right) == RIGHT else (c.left, c.right)
        return TimeRange(time=time, lower=end, upper=end, conjuncts=(conjunct,))

    def _bound(self) -> RewrittenJoin | LocalInterval:
        rows = self._checked()
        range_ = self._range()
        if rows.isStreaming:
            streams = [side for side in (LEFT, RIGHT) if self.sides.whole(side).isStreaming]
            in_buckets = partial(self._in_buckets, range_, is_stream=True) if range_ else lambda: None
            return bind_stream_join(self.sides, range_, streams, in_buckets, self.time_zone)
        if range_ is None:
            return plain_join(self.clause, ("equality", "the time is a key of Spark's own join."))
        local: LocalInterval | str = ""
        if self.by_worker is not None:
            local = self.by_worker(range_, dict(zip((TIME, LOWER, UPPER), self._times(range_))))
        if isinstance(local, LocalInterval):
            return local
        rewritten = self._in_buckets(range_)
        assert rewritten is not None  # None is returned only for streams
        reasons = (("read", f"Spark reads the rows: {local}."),) if local else ()
        return replace(rewritten, reasons=(*rewritten.reasons, *reasons))

    def _times(self, range_: TimeRange) -> tuple[Text, Text, Text]:
        """The time of a range, and its ends."""
        lower, upper = (bound_text(self.sides, bound) for bound in (range_.lower, range_.upper))
        return self.sides.text(range_.time), lower, upper

    def _plain_join(self) -> DataFrame:
        """The plain JOIN of the same relations on the same condition; its errors are errors of this join, too."""
        on = self.clause.on
        assert on is not None
        left, right = self.sides.relations[LEFT], self.sides.relations[RIGHT]
        try:
            return self.sides.select("1", join(left, " JOIN ", right, " ON ", self.sides.text(on)))
        except BindError as e:
            if not self.sides.is_in_subquery:
                raise
            hint = "is it a column of an outer query? INTERVAL JOIN cannot read it: compare with it in WHERE."
            raise with_outer_hint(e, hint) from None

    def _check_no_proctime(self) -> None:
        on = self.clause.on
        assert on is not None
        for token, after in pairwise(tokenize(on.text)):
            if (token.word, after.text) == ("PROCTIME", "("):
                raise UnsupportedError(
                    "PROCTIME",
                    "INTERVAL JOIN reads the time of arrival from a column with a watermark",
                    place=Place(on.source, on.start + token.start, on.start + token.stop),
                    hint="write FROM (SELECT *, current_timestamp() AS p FROM STREAM relation)"
                    " WATERMARK p DELAY OF INTERVAL 0 SECONDS AS alias.",
                )

    # which range

    def _range(self) -> TimeRange | None:
        """The first range of ON; None if ON has `t = e` instead. Raises SqlExtError if it has neither."""
        range_ = range_between(self.sides)
        if range_ is not None:
            return range_
        equal = join_keys(self.sides, frozenset({"="}))
        domains = [domain((self.type_of(c.left), self.type_of(c.right))) for c in equal]
        if any(of not in (None, INTEGERS, FLOATS) for of in domains):
            return None
        error = join_conditions.half_range(self.clause, self.sides.side_of, self._is_number)
        if error is None and not any(domains):
            error = join_conditions.no_range(self.clause, self.sides.side_of)
        if error is not None:
            raise error
        return None

    def _is_number(self, expression: Fragment) -> bool:
        return domain((self.type_of(expression),)) in (INTEGERS, FLOATS)

    def type_of(self, expression: Fragment) -> str:
        """The type of an expression that one of the relations computes."""
        field = self.sides.field_on(LEFT, expression) or self.sides.field_on(RIGHT, expression)
        return field.dataType.simpleString() if field else "void"

    # how rows are paired

    def _in_buckets(self, range_: TimeRange, *, is_stream: bool = False) -> RewrittenJoin | None:
        """The join on buckets; None for a stream if the width of the ranges varies by row, which cannot be measured."""
        parts = (range_.time, range_.lower, range_.upper)
        types = tuple(self.type_of(part) for part in parts)
        of = domain(types)
        if of is None:
            raise join_conditions.wrong_types(range_, types)
        time, lower, upper = self._times(range_)
        width = range_width.constant_width(range_, self.sides.source, of, self.sides.queries, self.time_zone)
        if width is not None and width.is_zero:
            equal = join("(", time, ") = (", lower, ")")
            return plain_join(self.clause, ("equality", "the range is one point."), equal)
        is_left = self.sides.side_of(range_.time) == LEFT
        written = None if is_stream else range_
        bound = BoundRange(time=time, lower=lower, upper=upper, time_is_left=is_left, of=of, written=written)
        if width is not None:
            cells = _CELLS_OF_STREAM if is_stream else _CELLS
            bound = replace(bound, fixed=Fixed(of, width.cell, width.reach, cells), is_exact=of != FLOATS)
        if width is None or (copies_points(self.clause, bound) and not bound.is_exact):
            if is_stream:
                return None
            bound = self._measured(bound)
        return bucket_join(self.clause, bound, self.sides.number)

    def _measured(self, bound: BoundRange) -> BoundRange:
        """The range with the widths that a query over both relations measures."""
        left, right = self.sides.relations[LEFT], self.sides.relations[RIGHT]
        points, ranges = (left, right) if bound.time_is_left else (right, left)
        spread = range_width.measure(bound, points, ranges, self.sides.prefix, self.sides.queries)
        return replace(bound, spread=spread)


def _with_filters(sides: JoinSides, rewritten: RewrittenJoin) -> RewrittenJoin:
    """The join, in whose ON the conditions on one relation alone are filters that lose no row of it."""
    on = sides.clause.on
    if on is None or any((edit.start, edit.stop) == (on.start, on.stop) for edit in rewritten.edits):
        return rewritten  # an anti join of streams, whose ON is another one
    begins, ends = [], []
    for conjunct in sides.clause.conjuncts:
        if any(token.word == "SELECT" for token in tokenize(conjunct.text)):
            continue  # no scan evaluates a subquery
        able = [side for side in (LEFT, RIGHT) if sides.field_on(side, conjunct) is not None]
        if len(able) != 1:
            continue
        text = sides.text(conjunct)
        before, written, after = str(sides.filter(able[0], text)).rpartition(str(text))
        assert written, "a filter ends with its condition"
        begins.append(Edit(conjunct.start, conjunct.start, before))
        ends.append(Edit(conjunct.stop, conjunct.stop, after))
    return replace(rewritten, edits=(*ends, *rewritten.edits, *begins))


def range_between(sides: JoinSides) -> TimeRange | None:
    """The first range of ON whose time is of one relation, and whose bounds are of the other one; None without one."""
    return next((range_ for range_ in time_ranges(sides.clause.conjuncts) if _is_between(sides, range_)), None)


def _is_between(sides: JoinSides, range_: TimeRange) -> bool:
    side = sides.side_of(range_.time)
    if side not in (LEFT, RIGHT):
        return False
    other = other_side(side)
    return {sides.side_of(range_.lower), sides.side_of(range_.upper)} in ({other}, {other, BOTH})


def bound_text(sides: JoinSides, bound: Fragment) -> Text:
    """A bound of the range. Beyond the last value of its type it is NULL, like the bound of a row without a time."""
    return join_conditions.checked_sum(bound, sides.source, sides.text) or sides.text(bound)
