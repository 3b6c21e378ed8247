"""INTERVAL JOIN: Spark is asked what each part of ON reads and how wide ranges are; the join itself is Spark's own."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from pyspark.sql import DataFrame

from sqlext.engine import range_width, stream_join
from sqlext.engine.queries import Queries
from sqlext.errors import BindError
from sqlext.rewriter import range_errors
from sqlext.rewriter.asof_conditions import BOTH, LEFT, NEITHER, RIGHT
from sqlext.rewriter.buckets import FLOATS, INTEGERS, Fixed, domain
from sqlext.rewriter.clauses import Fragment
from sqlext.rewriter.interval_join import BoundRange, RewrittenJoin, bucket_join, copies_points, plain_join
from sqlext.rewriter.join_clauses import JoinClause
from sqlext.rewriter.splice import Source, Text, join
from sqlext.rewriter.time_range import TimeRange, comparisons, time_ranges
from sqlext.rewriter.tokens import tokenize

_EQUAL = frozenset({"="})


def rewrite(
    clause: JoinClause, number: int, source: Source, prefix: Text, queries: Queries, time_zone: str
) -> RewrittenJoin:
    """The join as text for Spark. `number` tells the joins of a statement apart; `prefix` is a WITH for its CTEs.

    May run a small job over both relations, where the ranges' width varies by row.
    Raises BindError where Spark finds fault with the same as a plain JOIN, or types do not fit; UnsupportedError.
    """
    return _Rewriting(clause, number, source, prefix, queries, time_zone).rewritten()


class _Rewriting:
    def __init__(self, clause: JoinClause, number: int, source: Source, prefix: Text, queries: Queries, time_zone: str):
        self.clause, self.number, self.source = clause, number, source
        self.prefix, self.queries, self.time_zone = prefix, queries, time_zone
        self.relations = {LEFT: self.text(clause.left), RIGHT: self.text(clause.right)}
        self.type_on = cache(self._type_on)

    def rewritten(self) -> RewrittenJoin:
        frame = self._plain()
        range_ = self._range()
        if frame.isStreaming:
            return stream_join.rewrite(self.clause, range_, frame)
        if range_ is None:
            return plain_join(self.clause, ("equality", "the time is a key of Spark's own join."))
        return self._in_buckets(range_)

    def text(self, fragment: Fragment) -> Text:
        return self.source.slice(fragment.start, fragment.stop)

    def _plain(self) -> DataFrame:
        """What is wrong with the plain JOIN of the same relations on the same condition is wrong with this one."""
        on = self.clause.on
        assert on is not None
        parts = (self.relations[LEFT], " JOIN ", self.relations[RIGHT], " ON ", self.text(on))
        return self.queries.run(join(self.prefix, "SELECT 1 FROM ", *parts))

    # which range

    def _range(self) -> TimeRange | None:
        """The first range of ON; None: it is `t = e`. Raises SqlExtError if there is neither."""
        found = next(filter(self._is_between_sides, time_ranges(self.clause.conjuncts)), None)
        if found is not None:
            return found
        equal = [c for _, c in comparisons(self.clause.conjuncts, _EQUAL) if self._are_opposite(c.left, c.right)]
        domains = [domain((self.type_of(c.left), self.type_of(c.right))) for c in equal]
        if any(of not in (None, INTEGERS, FLOATS) for of in domains):
            return None
        error = range_errors.half_range(self.clause, self.side_of, self._is_number)
        if error is None and not any(domains):
            error = range_errors.no_range(self.clause, self.side_of)
        if error is not None:
            raise error
        return None

    def _is_between_sides(self, range_: TimeRange) -> bool:
        side = self.side_of(range_.time)
        if side not in (LEFT, RIGHT):
            return False
        bounds = {self.side_of(range_.lower), self.side_of(range_.upper)}
        return bounds in ({_other(side)}, {_other(side), BOTH})

    def _are_opposite(self, a: Fragment, b: Fragment) -> bool:
        return {self.side_of(a), self.side_of(b)} == {LEFT, RIGHT}

    def _is_number(self, expression: Fragment) -> bool:
        return domain((self.type_of(expression),)) in (INTEGERS, FLOATS)

    def side_of(self, expression: Fragment) -> str:
        """Which relation alone can compute the expression: BOTH for constants, NEITHER if it needs both."""
        sides = [side for side in (LEFT, RIGHT) if self.type_on(side, expression) is not None]
        if len(sides) == 2 and any(token.text == "." for token in tokenize(expression.text)):
            raise BindError(
                "AMBIGUOUS_REFERENCE", f"{expression.text} can be read from either relation", place=expression.place,
                hint="give the relations other names than their columns have.",
            )  # fmt: skip
        return BOTH if len(sides) == 2 else sides[0] if sides else NEITHER

    def type_of(self, expression: Fragment) -> str:
        """The type of an expression that one of the relations computes."""
        return self.type_on(LEFT, expression) or self.type_on(RIGHT, expression) or "void"

    def _type_on(self, side: str, expression: Fragment) -> str | None:
        columns = join("SELECT (", self.text(expression), ") AS c FROM ")
        try:
            frame = self.queries.run(join(self.prefix, columns, self.relations[side]))
        except BindError:
            return None
        return frame.schema.fields[0].dataType.simpleString()

    # how rows find each other

    def _in_buckets(self, range_: TimeRange) -> RewrittenJoin:
        parts = (range_.time, range_.lower, range_.upper)
        types = tuple(self.type_of(part) for part in parts)
        of = domain(types)
        if of is None:
            raise range_errors.wrong_types(range_, types)
        time, lower, upper = (self.text(part) for part in parts)
        width = range_width.constant_width(range_, self.source, of, self.queries, self.time_zone)
        if width is not None and width.is_zero:
            equal = join("(", time, ") = (", lower, ")")
            return plain_join(self.clause, ("equality", "the range is one point."), equal)
        bound = BoundRange(time, lower, upper, self.side_of(range_.time) == LEFT, of)
        return bucket_join(self.clause, self.source, self._with_width(bound, width), self.number)

    def _with_width(self, bound: BoundRange, width: range_width.Width | None) -> BoundRange:
        """With buckets of the ranges' one width, or what a query over both relations tells of many."""
        if width is not None:
            fixed = Fixed(bound.of, width.bucket, width.reach)
            bound = replace(bound, fixed=fixed, is_exact=bound.of != FLOATS)
            if bound.is_exact or not copies_points(self.clause, bound):
                return bound
        points, ranges = (LEFT, RIGHT) if bound.time_is_left else (RIGHT, LEFT)
        spread = range_width.measure(bound, self.relations[points], self.relations[ranges], self.prefix, self.queries)
        return replace(bound, spread=spread)


def _other(side: str) -> str:
    return RIGHT if side == LEFT else LEFT
