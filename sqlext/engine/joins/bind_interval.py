"""INTERVAL JOIN: Spark is asked what each part of ON reads and how wide ranges are; the join itself is Spark's own."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise

from pyspark.sql import DataFrame

from sqlext.engine.joins import bind_stream_join, range_width
from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.queries import Queries
from sqlext.errors import BindError, Place, UnsupportedError
from sqlext.rewriter.joins import join_conditions
from sqlext.rewriter.joins.interval_sql import BoundRange, RewrittenJoin, bucket_join, copies_points, plain_join
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.joins.join_conditions import BOTH, LEFT, RIGHT, TimeRange, comparisons, time_ranges
from sqlext.rewriter.joins.time_buckets import FLOATS, INTEGERS, Fixed, domain
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Source, Text, join
from sqlext.rewriter.text.tokens import index_at, tokenize
from sqlext.rewriter.tree.statement_tree import Tree

_EQUAL = frozenset({"="})


def rewrite(
    clause: JoinClause, number: int, tree: Tree, source: Source, prefix: Text, queries: Queries, time_zone: str
) -> RewrittenJoin:
    """The join as text for Spark. `number` tells the joins of a statement apart; `prefix` is a WITH for its CTEs.

    May run a small job over both relations, where the ranges' width varies by row.
    Raises BindError where Spark finds fault with the same as a plain JOIN, or types do not fit; UnsupportedError.
    """
    return _Rewriting(clause, number, tree, JoinSides(clause, source, prefix, queries), time_zone).rewritten()


class _Rewriting:
    def __init__(self, clause: JoinClause, number: int, tree: Tree, sides: JoinSides, time_zone: str):
        self.clause, self.number, self.tree = clause, number, tree
        self.sides, self.time_zone = sides, time_zone

    def rewritten(self) -> RewrittenJoin:
        self._check_no_proctime()
        frame = self._plain()
        range_ = self._range()
        if frame.isStreaming:
            return self._of_streams(range_)
        if range_ is None:
            return plain_join(self.clause, ("equality", "the time is a key of Spark's own join."))
        rewritten = self._in_buckets(range_)
        assert rewritten is not None
        return rewritten

    def _plain(self) -> DataFrame:
        """What is wrong with the plain JOIN of the same relations on the same condition is wrong with this one."""
        on = self.clause.on
        assert on is not None
        left, right = self.sides.relations[LEFT], self.sides.relations[RIGHT]
        try:
            return self.sides.select("1", join(left, " JOIN ", right, " ON ", self.sides.text(on)))
        except BindError as e:
            is_in_subquery = self.tree.tokens[index_at(self.tree.tokens, self.clause.keyword.start)].depth > 0
            if not is_in_subquery or not e.error_class.startswith("SQLEXT_UNRESOLVED_COLUMN"):
                raise
            hint = "a column of an outer query? INTERVAL JOIN cannot read it: compare with it in WHERE."
            raise e.with_(hint=hint) from None

    def _check_no_proctime(self) -> None:
        on = self.clause.on
        assert on is not None
        for token, after in pairwise(tokenize(on.text)):
            if (token.word, after.text) == ("PROCTIME", "("):
                raise UnsupportedError(
                    "PROCTIME", "INTERVAL JOIN takes the time of processing as a column with a watermark",
                    place=Place(on.source, on.start + token.start, on.start + token.stop),
                    hint="write FROM (SELECT *, current_timestamp() AS p FROM STREAM relation)"
                    " WATERMARK p DELAY OF INTERVAL 0 SECONDS AS alias.",
                )  # fmt: skip

    def _of_streams(self, range_: TimeRange | None) -> RewrittenJoin:
        streams = [side for side in (LEFT, RIGHT) if self.sides.rows(side, "1").isStreaming]
        in_buckets = partial(self._in_buckets, range_, is_stream=True) if range_ else lambda: None
        asked = bind_stream_join.Asked(self.clause, self.sides, in_buckets, self.number)
        return bind_stream_join.rewrite(asked, range_, streams)

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
        error = join_conditions.half_range(self.clause, self.sides.side_of, self._is_number)
        if error is None and not any(domains):
            error = join_conditions.no_range(self.clause, self.sides.side_of)
        if error is not None:
            raise error
        return None

    def _is_between_sides(self, range_: TimeRange) -> bool:
        side = self.sides.side_of(range_.time)
        if side not in (LEFT, RIGHT):
            return False
        bounds = {self.sides.side_of(range_.lower), self.sides.side_of(range_.upper)}
        return bounds in ({_other(side)}, {_other(side), BOTH})

    def _are_opposite(self, a: Fragment, b: Fragment) -> bool:
        return {self.sides.side_of(a), self.sides.side_of(b)} == {LEFT, RIGHT}

    def _is_number(self, expression: Fragment) -> bool:
        return domain((self.type_of(expression),)) in (INTEGERS, FLOATS)

    def type_of(self, expression: Fragment) -> str:
        """The type of an expression that one of the relations computes."""
        field = self.sides.field_on(LEFT, expression) or self.sides.field_on(RIGHT, expression)
        return field.dataType.simpleString() if field else "void"

    # how rows find each other

    def _in_buckets(self, range_: TimeRange, is_stream: bool = False) -> RewrittenJoin | None:
        """None: the ranges' width varies by row, and of a stream nothing can be measured."""
        parts = (range_.time, range_.lower, range_.upper)
        types = tuple(self.type_of(part) for part in parts)
        of = domain(types)
        if of is None:
            raise join_conditions.wrong_types(range_, types)
        time, lower, upper = (self.sides.text(part) for part in parts)
        width = range_width.constant_width(range_, self.sides.source, of, self.sides.queries, self.time_zone)
        if width is not None and width.is_zero:
            equal = join("(", time, ") = (", lower, ")")
            return plain_join(self.clause, ("equality", "the range is one point."), equal)
        is_left = self.sides.side_of(range_.time) == LEFT
        written = None if is_stream else range_
        bound = BoundRange(time=time, lower=lower, upper=upper, time_is_left=is_left, of=of, written=written)
        if width is not None:
            bound = replace(bound, fixed=Fixed(of, width.bucket, width.reach), is_exact=of != FLOATS)
        if width is None or (copies_points(self.clause, bound) and not bound.is_exact):
            if is_stream:
                return None
            bound = self._measured(bound)
        return bucket_join(self.clause, bound, self.number)

    def _measured(self, bound: BoundRange) -> BoundRange:
        """With what a query over both relations tells of the ranges' widths."""
        left, right = self.sides.relations[LEFT], self.sides.relations[RIGHT]
        points, ranges = (left, right) if bound.time_is_left else (right, left)
        spread = range_width.measure(bound, points, ranges, self.sides.prefix, self.sides.queries)
        return replace(bound, spread=spread)


def _other(side: str) -> str:
    return RIGHT if side == LEFT else LEFT
