"""A join on time as EXPLAIN MATCH ANALYZE counts it: which rows may have a partner, equal keys, and one range of time
for each row of one relation.

ASOF JOIN has a range, too: `l.t >= r.t WITHIN INTERVAL 1 HOUR` is the hour before the left time. Its partner is the
nearest right row in this range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlext.engine.joins.bind_asof import bind_asof
from sqlext.engine.joins.bind_interval import bound_text, range_between
from sqlext.engine.joins.join_sides import JoinSides
from sqlext.errors import BindError
from sqlext.rewriter.joins.asof_sql import AsofJoin, Key, is_backward
from sqlext.rewriter.joins.join_clause import NEAREST
from sqlext.rewriter.joins.join_conditions import BOTH, LEFT, RIGHT, compared, other_side
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Text, TextLike, join

TIMESTAMP, LOCAL, DATE, NUMBER, TEXT = "timestamp", "timestamp_ntz", "date", "number", "text"
# Integers or numbers that grow with a time of each kind, and the text of a time, by its number.
_NUMBERS = {
    TIMESTAMP: "unix_micros(CAST(({}) AS TIMESTAMP_LTZ))",
    LOCAL: "timestampdiff(MICROSECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', CAST(({}) AS TIMESTAMP_NTZ))",
    DATE: "unix_date({})",
}
_SHOWN = {
    TIMESTAMP: "CAST(timestamp_micros({}) AS STRING)",
    LOCAL: "CAST(convert_timezone(current_timezone(), 'UTC', CAST(timestamp_micros({}) AS TIMESTAMP_NTZ)) AS STRING)",
    DATE: "CAST(date_from_unix_date(CAST({} AS INT)) AS STRING)",
}


@dataclass(frozen=True)
class Condition:
    """A member of ON: its text for Spark, and as the user wrote it."""

    sql: Text
    written: str


@dataclass(frozen=True)
class End:
    """An end of the range: an expression of the relation that has the ranges; `is_excluded`: SQL for whether the end
    itself is not in the range."""

    sql: Text
    is_excluded: TextLike = "FALSE"


@dataclass(frozen=True, kw_only=True)
class JoinShape:
    """`own`: the conditions on one relation alone; `keys`: the equalities; `others`: further conditions on pairs.

    `points`: the relation whose `time` must be in the range from `lower` to `upper` of a row of the other relation; an
    end that is None does not limit the range. `time` is None if the equalities and `others` are all that is compared.
    `kind`: how times are measured, see `number`; `written`: the time as the user wrote it. `needs`: the expressions of
    each relation that must not be NULL, besides keys.
    """

    relations: Mapping[str, Text]
    own: Mapping[str, tuple[Condition, ...]]
    keys: tuple[Key, ...]
    others: tuple[Condition, ...] = ()
    points: str = RIGHT
    time: Text | None = None
    lower: End | None = None
    upper: End | None = None
    kind: str = NUMBER
    written: str = ""
    needs: Mapping[str, tuple[Text, ...]] = field(default_factory=dict)

    @property
    def ranges(self) -> str:
        """The relation that has the ranges."""
        return other_side(self.points)

    @property
    def is_empty(self) -> TextLike:
        """SQL over a row of `ranges` for whether no time can be in its range."""
        if self.lower is None or self.upper is None:
            return "FALSE"
        low, high = self.lower, self.upper
        either = join("(", low.is_excluded, " OR ", high.is_excluded, ")")
        return join("(", is_reversed(low.sql, high.sql), " OR (", low.sql, " = ", high.sql, " AND ", either, "))")

    @property
    def is_reversed(self) -> TextLike:
        """SQL over a row of `ranges` for whether its range ends before it begins."""
        both = self.lower, self.upper
        return "FALSE" if both[0] is None or both[1] is None else is_reversed(both[0].sql, both[1].sql)

    def shown(self, number: str) -> str:
        """SQL for the text of a time, from its number."""
        return _SHOWN.get(self.kind, "CAST({} AS STRING)").format(number)


def number(kind: str, time: Text) -> Text:
    """SQL for the number of a time: microseconds or days since 1970, or the time itself.

    >>> print(number(DATE, join("r.d")))
    unix_date(r.d)
    """
    before, after = _NUMBERS.get(kind, "({})").split("{}")
    return join(before, time, after)


def reach_of(asof: AsofJoin, kind: str) -> Text | None:
    """SQL for the distance that WITHIN allows between times of a kind; None without WITHIN."""
    limit = asof.distance.limit if asof.distance is not None else None
    if limit is None:
        return None
    return join(str(limit.micros)) if kind in (TIMESTAMP, LOCAL) else limit.value


def is_reversed(low: Text, high: Text) -> Text:
    """SQL for whether the bounds of a range are in the wrong order, from their numbers."""
    return join("(", low, ") > (", high, ")")


def shape_of(sides: JoinSides) -> JoinShape:
    """The shape of a join that Spark has accepted."""
    return _asof(sides, bind_asof(sides).asof) if sides.clause.kind == "ASOF" else _interval(sides)


# ASOF JOIN


def _asof(sides: JoinSides, asof: AsofJoin) -> JoinShape:
    clause = sides.clause
    written = {str(sides.text(c)): c.in_line for c in clause.conjuncts}
    own = {
        side: tuple(Condition(c, written.get(str(c), str(c))) for c in conditions)
        for side, conditions in ((LEFT, asof.conditions.left), (RIGHT, asof.conditions.right))
    }
    kind = _kind(sides, {LEFT: asof.left_time, RIGHT: asof.right_time})
    lower, upper = _ends(asof, kind)
    return JoinShape(
        relations=sides.relations,
        own=own,
        keys=asof.conditions.keys,
        time=number(kind, asof.right_time),
        lower=lower,
        upper=upper,
        kind=kind,
        written=str(asof.right_time),
        needs={LEFT: (asof.left_time, *(b.left for b in asof.conditions.bounds)), RIGHT: (asof.right_time,)},
    )


def _ends(asof: AsofJoin, kind: str) -> tuple[End | None, End | None]:
    """The ends of the range in which the right time must be."""
    time = number(kind, asof.left_time)
    reach = reach_of(asof, kind)
    far = [None if reach is None else End(join("(", time, f" {sign} ", reach, ")")) for sign in "-+"]
    if asof.operator == NEAREST:
        return far[0], far[1]
    near = End(time, _excludes(asof.operator))
    backward = is_backward(asof.operator)
    outer = far[0] if backward else far[1]
    for bound in asof.conditions.bounds:
        end = End(number(kind, bound.left), _excludes(bound.operator))
        outer = end if outer is None else _narrower(outer, end, "greatest" if backward else "least")
    return (outer, near) if backward else (near, outer)


def _excludes(operator: str) -> str:
    return "TRUE" if operator in (">", "<") else "FALSE"


def _narrower(a: End, b: End, function: str) -> End:
    """The narrower one of two ends; `function`: greatest or least."""
    narrow = join(f"{function}(", a.sql, ", ", b.sql, ")")
    excluded = [join("(", end.sql, " = ", narrow, " AND ", end.is_excluded, ")") for end in (a, b)]
    return End(narrow, join("(", join(*excluded, separator=" OR "), ")"))


# INTERVAL JOIN


def _interval(sides: JoinSides) -> JoinShape:
    range_ = range_between(sides)
    own: dict[str, tuple[Condition, ...]] = {LEFT: (), RIGHT: ()}
    keys: list[Key] = []
    others: list[Condition] = []
    for conjunct in sides.clause.conjuncts:
        if range_ is not None and conjunct in range_.conjuncts:
            continue
        side, key = _side(sides, conjunct), _key(sides, conjunct)
        if side is not None:
            own[side] += (_condition(sides, conjunct),)
        elif key is not None:
            keys.append(key)
        else:
            others.append(_condition(sides, conjunct))
    shape = JoinShape(relations=sides.relations, own=own, keys=tuple(keys), others=tuple(others))
    if range_ is None:
        return shape
    points = sides.side_of(range_.time)
    ranges = other_side(points)
    time, (lower, upper) = sides.text(range_.time), (bound_text(sides, b) for b in (range_.lower, range_.upper))
    of = {points: [time], ranges: [lower, upper]}
    kind = _kind(sides, {side: texts[0] for side, texts in of.items()})
    return replace(
        shape,
        points=points,
        time=number(kind, time),
        lower=End(number(kind, lower), str(range_.excludes_lower).upper()),
        upper=End(number(kind, upper), str(range_.excludes_upper).upper()),
        kind=kind,
        written=range_.time.in_line,
        needs={side: tuple(texts) for side, texts in of.items()},
    )


def _side(sides: JoinSides, conjunct: Fragment) -> str | None:
    """The relation that alone can compute a condition; None if it takes both, or is ambiguous."""
    try:
        side = sides.side_of(conjunct)
    except BindError:
        return None
    return LEFT if side == BOTH else side if side in (LEFT, RIGHT) else None


def _key(sides: JoinSides, conjunct: Fragment) -> Key | None:
    """The equality of an expression of each relation, if their values can be put into one column."""
    comparison = compared(conjunct)
    if comparison is None or comparison.operator not in ("=", "<=>"):
        return None
    both = comparison.left, comparison.right
    if _side(sides, both[0]) == RIGHT:
        both = both[1], both[0]
    if (_side(sides, both[0]), _side(sides, both[1])) != (LEFT, RIGHT):
        return None
    types = [_type(sides, side, sides.text(part)) for side, part in zip((LEFT, RIGHT), both)]
    if types[0] != types[1] and "string" in types:
        return None  # Spark compares them as numbers, and would put them into one column as texts
    return Key(sides.text(both[0]), sides.text(both[1]), matches_null=comparison.operator == "<=>")


def _condition(sides: JoinSides, conjunct: Fragment) -> Condition:
    return Condition(sides.text(conjunct), conjunct.in_line)


# both


def _kind(sides: JoinSides, times: Mapping[str, Text]) -> str:
    """The kind of the times of a join: the type as which Spark compares them."""
    types = {_type(sides, side, time).partition("(")[0] for side, time in times.items()}
    kind = next((kind for kind in (TIMESTAMP, LOCAL, DATE) if kind in types), NUMBER)
    return TEXT if "string" in types else kind


def _type(sides: JoinSides, side: str, expression: Text) -> str:
    return sides.rows(side, join("(", expression, ") AS c")).schema.fields[0].dataType.simpleString()
