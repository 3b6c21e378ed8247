"""`sqlext.asof_join` and `sqlext.interval_join`: joins on time of two DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlext.errors import BindError, UnsupportedError
from sqlext.frames.arguments import Amount, Texts, amount_of, column_of, entries, names_of, one_of, sql_of
from sqlext.rewriter.text.composed import Argument, Composed, Part, joined
from sqlext.rewriter.text.names import quoted, repeated
from sqlext.sessions.composed_frames import input_name, run_composed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_DIRECTIONS = {"backward": ">", "forward": "<", "nearest": "NEAREST"}
_ASOF_TYPES = {"left": "LEFT", "inner": "INNER"}
_INTERVAL_TYPES = {
    "inner": "INNER", "left": "LEFT", "right": "RIGHT", "full": "FULL", "outer": "FULL",
    "semi": "LEFT SEMI", "anti": "LEFT ANTI",
}  # fmt: skip
_SUFFIXES = ("_x", "_y")


def asof_join(
    left: DataFrame,
    right: DataFrame,
    *,
    on: str | None = None,
    left_on: str | None = None,
    right_on: str | None = None,
    by: Texts | None = None,
    left_by: Texts | None = None,
    right_by: Texts | None = None,
    direction: str = "backward",
    tolerance: Amount | None = None,
    allow_exact_matches: bool = True,
    how: str = "left",
    suffixes: Sequence[str | None] = _SUFFIXES,
) -> DataFrame:
    """Each row of `left` with the one row of `right` that is nearest in time: ASOF JOIN with the arguments of pandas'
    `merge_asof`. Lazy, in batch and on streams, and never quadratic; neither side need be sorted.

    `on`: the time column of both, or `left_on` and `right_on`; `by`: the columns that must be equal, or `left_by` and
    `right_by`. `direction`: `"backward"` is the last right row at or before the left time, `"forward"` the first one at
    or after it, `"nearest"` the one with the least distance. `tolerance`: the greatest distance, included, as a
    `timedelta`, a number or SQL text such as `"INTERVAL 5 MINUTES"`. Without `allow_exact_matches` a right row with the
    same time is no partner. Of right rows with one time the last one is taken, of `"forward"` the first one: their
    columns are compared from left to right. `how`: `"left"` keeps left rows without a partner, `"inner"` does not.
    `suffixes` are appended to columns that both sides have, None to leave the name; a column of `on` or `by` that has
    the same name on both sides is there once, with the value of the left row.

    Raises the SqlExtError that the join would raise, and BindError (ARGUMENT_VALUE, UNKNOWN_COLUMN) about arguments.

    >>> import sqlext
    >>> trades = spark.createDataFrame([("ACME", 3), ("ACME", 9)], "symbol STRING, ts INT")
    >>> quotes = spark.createDataFrame([("ACME", 1, 98), ("ACME", 2, 99)], "symbol STRING, ts INT, bid INT")
    >>> sqlext.asof_join(trades, quotes, on="ts", by="symbol", tolerance=5).orderBy("ts").show()
    +------+---+----+
    |symbol| ts| bid|
    +------+---+----+
    |  ACME|  3|  99|
    |  ACME|  9|NULL|
    +------+---+----+
    <BLANKLINE>
    """
    sides = sides_of(left, right, on, left_on, right_on, by, left_by, right_by)
    select = sides.select(["on", "by"], suffixes)
    return join_sides(sides, select, direction, tolerance, how, allow_exact_matches=allow_exact_matches)


def join_sides(
    sides: Sides,
    select: Sequence[Part],
    direction: str,
    tolerance: Amount | None,
    how: str,
    *,
    allow_exact_matches: bool,
    equals: str = "=",
) -> DataFrame:
    """The ASOF JOIN of two sides. `equals`: the operator of keys, `=` or `<=>`."""
    comparison = one_of("direction", direction, _DIRECTIONS)
    join_type = one_of("how", how, _ASOF_TYPES)
    times: tuple[Part, ...] = ("l.", sides.left_on, ", r.", sides.right_on)
    if comparison == "NEAREST":
        if not allow_exact_matches:
            raise UnsupportedError(
                "ASOF_TYPES",
                "direction='nearest' with allow_exact_matches=False is not built",
                hint="join backward and forward, both without exact matches, and take the nearer one.",
            )
        condition: tuple[Part, ...] = ("NEAREST (", *times, ")")
    else:
        operator = f" {comparison}{'=' if allow_exact_matches else ''} r."
        condition = ("l.", sides.left_on, operator, sides.right_on)
    parts: list[Part] = [*select, *sides.relations(f"{join_type} ASOF JOIN")]
    parts += ["  MATCH_CONDITION (", *condition, ")"]
    if tolerance is not None:
        parts += [" WITHIN ", amount_of("tolerance", tolerance)]
    if sides.keys:
        parts += ["\n  ON ", *sides.equalities(equals)]
    return run_composed(Composed(tuple(parts)), [sides.left, sides.right], takes_last=direction != "forward")


def interval_join(
    left: DataFrame,
    right: DataFrame,
    *,
    lower: Amount,
    upper: Amount,
    on: str | None = None,
    left_on: str | None = None,
    right_on: str | None = None,
    by: Texts | None = None,
    left_by: Texts | None = None,
    right_by: Texts | None = None,
    condition: str | None = None,
    aggregate: Mapping[str, str] | None = None,
    prevailing: bool = False,
    how: str | None = None,
    suffixes: Sequence[str | None] = _SUFFIXES,
) -> DataFrame:
    """Each row of `left` with every row of `right` in a range of time around it: INTERVAL JOIN. Lazy, in batch and on
    streams, and never quadratic in the rows of a key.

    `on`: the time column of both, or `left_on` and `right_on`; a right row is a partner if its time is between the left
    time plus `lower` and the left time plus `upper`, both included. They are a `timedelta`, a number, or SQL text, in
    which the left row is `l`: `"INTERVAL -5 MINUTES"`, `"l.ttl"`. `by`: the columns that must be equal, or `left_by`
    and `right_by`; `condition`: another condition on pairs, in which the left row is `l` and the right one `r`. `how`:
    `"inner"`, the default, `"left"`, `"right"`, `"full"` (`"outer"`), `"semi"` or `"anti"`. `suffixes` are as in
    `asof_join`; the times of both sides are kept.

    `aggregate` has the expression of each result column: the result is then each left row once, with aggregates of its
    partners, without their pairs; `how` is `"left"`, the default, or `"inner"`. With `prevailing`, the last right row
    before the range is a partner, too.

    Raises the SqlExtError that the join would raise, whose place names the argument, and BindError about arguments.

    >>> import sqlext
    >>> orders = spark.createDataFrame([(1, 10), (2, 20)], "id INT, ts INT")
    >>> parcels = spark.createDataFrame([(1, 13), (2, 29)], "id INT, ts INT")
    >>> sqlext.interval_join(orders, parcels, on="ts", by="id", lower=0, upper=5, suffixes=("", "_sent")).show()
    +---+---+-------+
    | id| ts|ts_sent|
    +---+---+-------+
    |  1| 10|     13|
    +---+---+-------+
    <BLANKLINE>
    """
    sides = sides_of(left, right, on, left_on, right_on, by, left_by, right_by)
    join_type = one_of("how", how or ("inner" if aggregate is None else "left"), _INTERVAL_TYPES)
    conditions: list[tuple[Part, ...]] = [sides.equalities()] if sides.keys else []
    time: tuple[Part, ...] = ("l.", sides.left_on)
    ends = (*time, " + (", amount_of("lower", lower), ") AND ", *time, " + (", amount_of("upper", upper), ")")
    conditions.append(("r.", sides.right_on, " BETWEEN ", *ends))
    if condition is not None:
        conditions.append(("(", sql_of("condition", condition), ")"))
    if aggregate is not None:
        select: tuple[Part, ...] = ("SELECT *\n",)
    elif join_type in ("LEFT SEMI", "LEFT ANTI"):
        select = ("SELECT l.*\n",)
    else:
        select = sides.select(["by"], suffixes, join_type)
    on_all = joined(conditions, "\n    AND ")
    parts = (*select, *sides.relations(f"{join_type} INTERVAL JOIN"), "  ON ", *on_all)
    return run_composed(Composed((*parts, *_aggregates(aggregate, prevailing=prevailing))), [left, right])


def _aggregates(aggregate: Mapping[str, str] | None, *, prevailing: bool) -> tuple[Part, ...]:
    """AGGREGATE of an INTERVAL JOIN."""
    if aggregate is None:
        if prevailing:
            raise BindError("ARGUMENT_VALUE", "prevailing is given without aggregate")
        return ()
    items: list[tuple[Part, ...]] = [
        (sql_of(of, value), " AS ", Argument.name(of, name)) for of, name, value in entries("aggregate", aggregate)
    ]
    return ("\n  AGGREGATE (", *joined(items), ")", " INCLUDING PREVAILING" if prevailing else "")


@dataclass(frozen=True, kw_only=True)
class Sides:
    """Two DataFrames, called l and r, with their times and their pairs of equal columns."""

    left: DataFrame
    right: DataFrame
    left_on: Argument
    right_on: Argument
    keys: list[tuple[Argument, Argument]]

    def relations(self, join: str) -> tuple[Part, ...]:
        return (f"FROM {input_name(0)} AS l {join} {input_name(1)} AS r\n",)

    def equalities(self, equals: str = "=") -> tuple[Part, ...]:
        return joined([("l.", left, f" {equals} r.", right) for left, right in self.keys], " AND ")

    def select(self, shared: Iterable[str], suffixes: Sequence[str | None], join_type: str = "") -> tuple[Part, ...]:
        """SELECT with the columns of both sides. Pairs of the arguments `shared` with one name are there once; where
        right rows may have no partner, with the value of the side that there is."""
        pairs = [*(self.keys if "by" in shared else []), *([(self.left_on, self.right_on)] if "on" in shared else [])]
        once = {left.written.lower() for left, right in pairs if left.written.lower() == right.written.lower()}
        rights = [column for column in self.right.columns if quoted(column).lower() not in once]
        both = repeated([*self.left.columns, *rights])
        items, names = [], []
        for alias, columns, suffix in (("l", self.left.columns, suffixes[0]), ("r", rights, suffixes[1])):
            for column in columns:
                value = f"{alias}.{quoted(column)}"
                if join_type in ("RIGHT", "FULL") and quoted(column).lower() in once:
                    value = f"coalesce({value}, r.{quoted(column)})"
                names.append(column + (suffix or "") if column.lower() in both else column)
                items.append(f"{value} AS {quoted(names[-1])}")
        if repeated(names):
            message = f"both sides have a column {min(repeated(names))} with suffixes {tuple(suffixes)!r}"
            raise BindError("ARGUMENT_VALUE", message, hint='write suffixes=("", "_right").')
        return (f"SELECT {', '.join(items)}\n",)


def sides_of(
    left: DataFrame,
    right: DataFrame,
    on: str | None,
    left_on: str | None,
    right_on: str | None,
    by: Texts | None,
    left_by: Texts | None,
    right_by: Texts | None,
) -> Sides:
    """Raises BindError (ARGUMENT_VALUE, ARGUMENT_TYPE, UNKNOWN_COLUMN)."""
    times = _pairs(left, right, "on", on, left_on, right_on)
    if len(times) != 1:
        raise BindError("ARGUMENT_VALUE", "on, or left_on and right_on, name one time column of each DataFrame")
    keys = _pairs(left, right, "by", by, left_by, right_by)
    return Sides(left=left, right=right, left_on=times[0][0], right_on=times[0][1], keys=keys)


def _pairs(
    left: DataFrame, right: DataFrame, of: str, both: Texts | None, lefts: Texts | None, rights: Texts | None
) -> list[tuple[Argument, Argument]]:
    """The columns of both sides that an argument names, `on` or `by`."""
    if both is not None and (lefts is not None or rights is not None):
        raise BindError("ARGUMENT_VALUE", f"{of} is given, and so is left_{of} or right_{of}: one of them is enough")
    left_of, right_of = (f"left_{of}", f"right_{of}") if both is None else (of, of)
    left_names = names_of(left_of, lefts if both is None else both)
    right_names = names_of(right_of, rights if both is None else both)
    if len(left_names) != len(right_names):
        raise BindError("ARGUMENT_VALUE", f"left_{of} and right_{of} name the same number of columns")
    of_left = [column_of(*name, left) for name in left_names]
    of_right = [column_of(*name, right) for name in right_names]
    return list(zip(of_left, of_right))
