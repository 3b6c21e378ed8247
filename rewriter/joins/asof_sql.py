"""Rewrites ASOF JOIN as Spark's own SQL: each left row with the nearest right row, in time n log n whatever the keys.

The rows of both sides are sorted together, and for each left row a window function returns the last right row. NEAREST
has a second window in the opposite order, and takes the nearer row of both. Lateral
subqueries, which Spark turns into a projection, give the columns of both relations their own names back.

Each side goes through the UNION ALL as one struct, and ties are one struct too. If a SELECT renames a column, Spark
infers that the old and the new column are equal, and repeats each constraint on a struct for each renamed column that
the struct contains: with n columns beside their struct, the optimizer makes 2^n constraints. Keys and times, which are
renamed, come before the structs for the same reason. Spark still reads only the fields of the left struct that the
query reads; the right rows are whole, because their columns order ties.

The window sorts by keys and time, and Spark compares rows one by one where the first key is equal. Rows that are nearly
in this order already are sorted in time n. So before the window they are sorted by one number, which begins with a hash
of the keys and ends with the time: Spark sorts by a single number with a radix sort. The window is partitioned by the
hash too, because the order of hashes is not the order of keys. Only types whose equal values have equal hashes have
this `Presort`; the window decides all that the number leaves open.

This renaming needs a left relation that has a name. For any other left relation, such as a chain of joins or the left
side of USING, only the keys and times go through the window. The right rows that the window finds are joined to the
left relation, which stays as it was written, with all its names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlext.rewriter.joins.join_clause import NEAREST
from sqlext.rewriter.text.splice import Text, TextLike, join, sql

_HASHES = 1 << 15
_TIME_BITS = 48  # a sort by the number is a sort by the hash, then by the lower bits of the time
_SUFFIXES = ("_before", "_after")  # of the two candidates of NEAREST
_FLIPPED = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}


@dataclass(frozen=True)
class Key:
    """`left = right`, or `left <=> right`."""

    left: Text
    right: Text
    matches_null: bool = False


@dataclass(frozen=True)
class TimeBound:
    """The condition `right time operator left`, which limits how far away the nearest row may be."""

    operator: str
    left: Text


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """The conditions of ON or USING.

    A left row that fails one of `left` has no partner; a right row that fails one of `right` is not a partner of any
    row.
    """

    keys: tuple[Key, ...] = ()
    left: tuple[Text, ...] = ()
    right: tuple[Text, ...] = ()
    bounds: tuple[TimeBound, ...] = ()

    @property
    def left_keys(self) -> list[Text]:
        return [key.left for key in self.keys]

    @property
    def right_keys(self) -> list[Text]:
        return [key.right for key in self.keys]

    def fits_left(self, *times: Text) -> Text:
        """The condition for a left row to have a partner: it holds `left`, and its keys and `times` are not NULL."""
        return _matchable([*times, *(key.left for key in self.keys if not key.matches_null)], self.left)

    def fits_right(self, *times: Text) -> Text:
        """The condition for a right row to be a partner, as `fits_left`."""
        return _matchable([*times, *(key.right for key in self.keys if not key.matches_null)], self.right)

    def same_keys(self, names: Sequence[str]) -> list[Text]:
        """The equalities of the left keys with right keys, which are the columns `names`."""
        named = zip(self.keys, names)
        return [join("(", key.left, f") {'<=>' if key.matches_null else '='} {name}") for key, name in named]

    def of_pairs(self, at: str) -> list[Text]:
        """The bounds of the right time, which is the column `at`, and the conditions on the left row."""
        bounds = (sql("{at} {operator} ({left})", at=at, operator=b.operator, left=b.left) for b in self.bounds)
        return [*bounds, *(join("(", condition, ")") for condition in self.left)]


def _matchable(operands: Sequence[Text], conditions: Sequence[Text]) -> Text:
    not_null: list[TextLike] = [join("(", text, ") IS NOT NULL") for text in operands]  # NULL compares with nothing
    parts = [*not_null, *(join("(", condition, ")") for condition in conditions)]
    return join(*parts, separator=" AND ") if parts else join("true")


@dataclass(frozen=True)
class Carried:
    """The left relation's name, as written, and its columns, quoted.

    `keys` maps each column that is a key to the number of the key. The window is partitioned by the keys, so Spark can
    apply a filter on one of them before the window.
    """

    name: str
    columns: tuple[str, ...]
    keys: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Limit:
    """The greatest distance. `value` is in the unit of the distance, `written` is the user's text; `micros` is the
    distance of timestamps in microseconds."""

    value: Text
    written: Text
    micros: int = 0


@dataclass(frozen=True)
class Distance:
    """The distance of two times: the difference of the `number` of each, which is an expression of the time `{}`.
    `limit` is None if any distance is allowed.
    """

    number: str
    limit: Limit | None = None


@dataclass(frozen=True)
class Presort:
    """The sort by hash and time before the window.

    `time_number` is an expression of type BIGINT or INT that grows with the time `{}`.
    """

    time_number: str


@dataclass(frozen=True, kw_only=True)
class AsofJoin:
    """`left [LEFT] ASOF JOIN right MATCH_CONDITION (left_time operator right_time) WITHIN … ON conditions`, bound.

    `name` is the right relation's name, as written, or "" if it has none. `using` are the names in USING, as written,
    which are keys of `conditions` too; `using_time` is the last name in USING if it is compared as the time of both
    relations. `right_columns` are the columns of the right relation, quoted; the tuple is empty if several columns have
    the same name. `ties` are the columns that order rows of one time; None means all columns. `own` is a prefix that no
    other name begins with. `carried` is the left relation if its rows go through the window; None if the right rows are
    joined to it. `presort` is None for types that it cannot sort, and without keys. `distance` is None unless there is
    a WITHIN or the operator is NEAREST. `takes_last`: of right rows with one time the largest is the partner, as
    `sqlext.asof_join` wants it, not the smallest.
    """

    left: Text
    right: Text
    name: str
    is_left: bool
    left_time: Text
    operator: str
    right_time: Text
    conditions: Conditions
    using: tuple[str, ...]
    using_time: str = ""
    right_columns: tuple[str, ...]
    ties: tuple[str, ...] | None
    own: str
    carried: Carried | None = None
    presort: Presort | None = None
    distance: Distance | None = None
    takes_last: bool = False

    @property
    def words(self) -> str:
        """The words of Spark's join."""
        return "LEFT JOIN" if self.is_left else "JOIN"

    @property
    def directions(self) -> tuple[str, ...]:
        """The comparisons whose partners are candidates: for NEAREST there are two of them."""
        return (">=", "<=") if self.operator == NEAREST else (self.operator,)


def flipped(operator: str) -> str:
    """The comparison with its operands exchanged; NEAREST stays as it is."""
    return _FLIPPED.get(operator, operator)


def is_backward(operator: str) -> bool:
    """Whether the partner of a left row is a right row before it, not after it."""
    return operator in (">=", ">")


def asof_sql(asof: AsofJoin, pairs: Text | None = None) -> Text:
    """The text that replaces the join in the user's FROM, from the left relation to the name of the right one.

    `pairs`: the relation of left rows with their partners that workers return (`asof_pairs_sql`), instead of a window.

    >>> l, r, l_time, r_time = map(join, ("bids q", "db.r", "q.t", "r.t"))
    >>> from dataclasses import replace
    >>> asof = AsofJoin(left=l, right=r, name="r", is_left=False, left_time=l_time, operator=">=", right_time=r_time,
    ...                 conditions=Conditions(), using=(), right_columns=("`t`",), ties=None, own="a")
    >>> print(asof_sql(replace(asof, carried=Carried("q", ("`t`",)))))
    (SELECT a_left, a_row FROM (
      SELECT a_side, a_time, a_left,
        last_value(a_row, true) OVER (ORDER BY a_time, a_side, a_row DESC ROWS UNBOUNDED PRECEDING) AS a_row
      FROM (
        SELECT 0 AS a_side, (r.t) AS a_time, struct(*) AS a_row, NULL AS a_left FROM db.r WHERE (r.t) IS NOT NULL
        UNION ALL
        SELECT 1 AS a_side, (q.t) AS a_time, NULL AS a_row, struct(q.`t`) AS a_left FROM bids q WHERE (q.t) IS NOT NULL
      )
    ) WHERE a_side = 1 AND a_row IS NOT NULL) AS a
    CROSS JOIN LATERAL (SELECT a.a_left.`t` AS `t`) AS q
    CROSS JOIN LATERAL (SELECT a.a_row.`t` AS `t`) AS r
    >>> print(asof_sql(replace(asof, is_left=True)))
    bids q LEFT JOIN (
    SELECT a_time, a_row FROM (
      SELECT a_side, a_time,
        last_value(a_row, true) OVER (ORDER BY a_time, a_side, a_row DESC ROWS UNBOUNDED PRECEDING) AS a_row,
        lag(a_side) OVER (ORDER BY a_time, a_side, a_row DESC) = 1
          AND lag(a_time) OVER (ORDER BY a_time, a_side, a_row DESC) = a_time AS a_seen
      FROM (
        SELECT 0 AS a_side, (r.t) AS a_time, struct(*) AS a_row FROM db.r WHERE (r.t) IS NOT NULL
        UNION ALL
        SELECT 1 AS a_side, (q.t) AS a_time, NULL AS a_row FROM bids q WHERE (q.t) IS NOT NULL
      )
    ) WHERE a_side = 1 AND a_row IS NOT NULL AND a_seen IS NOT TRUE
    ) AS a ON (q.t) = a_time
    CROSS JOIN LATERAL (SELECT a.a_row.`t` AS `t`) AS r
    """
    if asof.carried is not None:
        return _carried_sql(asof, asof.carried, pairs)
    nearest = _nearest(asof, pairs)
    if asof.using_time:
        return _using_time_sql(asof, nearest)
    return _using_sql(asof, nearest) if asof.using else _on_sql(asof, nearest)


def hidden_columns(asof: AsofJoin) -> Mapping[str, tuple[str, ...]]:
    """The columns that the rewritten join adds, by the name of their relation, for `stars.hide`."""
    names = Names(asof)
    if asof.carried is not None:
        return {"": (*names.shown, names.row)}
    if asof.using_time:
        return {}
    return {asof.name: (names.time,)} if asof.using else {"": names.nearest}


class Names:
    """The names of the computed columns.

    `carried` are the left columns in the struct `left`. `lefts` contains this struct, unless all columns are keys.
    `of_left` are the further columns of left rows in the window: the struct, their bounds, and whether they can have a
    partner at all. `tie_values` computes the `ties`.
    """

    def __init__(self, asof: AsofJoin):
        own = asof.own
        self.side, self.time, self.row, self.at, self.seen, self.left, self.hash = (
            f"{own}_{word}" for word in ("side", "time", "row", "at", "seen", "left", "hash")
        )
        self.ties = (f"{own}_tie",) if asof.ties else ()
        self.tie_values = tuple(f"struct({', '.join(asof.ties or ())}) AS {name}" for name in self.ties)
        self.keys = tuple(f"{own}_key{i}" for i in range(len(asof.conditions.keys)))
        self.at_if_any = (self.at,) if asof.conditions.bounds or asof.distance else ()
        self.nearest = (self.time, *self.keys, *self.at_if_any, self.row)
        columns, keys = (asof.carried.columns, asof.carried.keys) if asof.carried else ((), {})
        self.carried = tuple(c for c in columns if c not in keys)
        self.lefts = (self.left,) if self.carried else ()
        self.shown = (*(self.keys[i] for i in keys.values()), *self.lefts)
        self.values = {c: self.keys[keys[c]] if c in keys else f"{self.left}.{c}" for c in columns}
        self.fits = f"{own}_fits"
        self.bounds = tuple(f"{own}_bound{i}" for i in range(len(asof.conditions.bounds)))
        is_padded = asof.is_left and asof.carried is not None
        of_carried = (*self.lefts, *self.bounds) if asof.carried else ()
        self.of_left = (*of_carried, self.fits) if is_padded else of_carried


def _carried_sql(asof: AsofJoin, carried: Carried, pairs: Text | None) -> Text:
    """The join whose left rows go through the window with all their columns; Spark drops columns that are not read."""
    names = Names(asof)
    row = names.row
    bounds = [f"{names.at} {b.operator} {name}" for b, name in zip(asof.conditions.bounds, names.bounds)]
    bounds += _within(asof, names)
    of_window = [] if pairs is not None else [names.fits] if asof.is_left else [f"{names.row} IS NOT NULL"]
    where = [] if pairs is not None else [f"{names.side} = 1"]
    conditions = [*of_window, *bounds]
    if asof.is_left and conditions:
        row = f"IF({_all(conditions)}, {names.row}, NULL) AS {names.row}"
    elif not asof.is_left:
        where += conditions
    return sql(
        "(SELECT {shown} FROM (\n{partners}\n){where}) AS {own}\n{left}\n{right}",
        shown=[*names.shown, row], partners=_partners(asof, names) if pairs is None else pairs, where=_where(where),
        own=asof.own, left=left_relation(asof, carried), right=right_relation(asof),
    )  # fmt: skip


def left_relation(asof: AsofJoin, carried: Carried) -> str:
    """The left row's columns under their relation's name."""
    columns = ", ".join(f"{asof.own}.{value} AS {column}" for column, value in Names(asof).values.items())
    return f"CROSS JOIN LATERAL (SELECT {columns}) AS {carried.name}"


def right_relation(asof: AsofJoin) -> str:
    """The right row's columns under their relation's name.

    Each column is named, because Spark 4.2 fails to analyse a star over a UNION whose types it has to widen.
    """
    row = f"{asof.own}.{Names(asof).row}"
    fields = ", ".join(f"{row}.{column} AS {column}" for column in asof.right_columns)
    return f"CROSS JOIN LATERAL (SELECT {fields or f'{row}.*'}) AS {asof.name or f'{asof.own}_right'}"


def _on_sql(asof: AsofJoin, nearest: Text) -> Text:
    names, conditions = Names(asof), asof.conditions
    same_time = sql("({left}) = {time}", left=asof.left_time, time=names.time)
    criteria = [same_time, *conditions.same_keys(names.keys), *conditions.of_pairs(names.at)]
    return sql(
        "{left} {words} (\n{nearest}\n) AS {own} ON {criteria}\n{right}",
        left=asof.left, words=asof.words, nearest=nearest, own=asof.own, criteria=join(*criteria, separator=" AND "),
        right=right_relation(asof),
    )  # fmt: skip


def _using_sql(asof: AsofJoin, nearest: Text) -> Text:
    """The join with Spark's own USING, which coalesces the columns.

    The time must be equal too, so it gets the same name on both sides.
    """
    names = Names(asof)
    return sql(
        "{left} CROSS JOIN LATERAL (SELECT ({left_time}) AS {time}) AS {own}_left {words} "
        "(SELECT {row}.*, {time} FROM (\n{nearest}\n)) AS {right} USING ({columns})",
        left=asof.left, left_time=asof.left_time, time=names.time, own=asof.own, words=asof.words, row=names.row,
        nearest=nearest, right=asof.name or f"{asof.own}_right", columns=[*asof.using, names.time],
    )  # fmt: skip


def _using_time_sql(asof: AsofJoin, nearest: Text) -> Text:
    """The join with Spark's own USING, where the last name in USING is the time.

    Each right row gets the time of the left rows whose nearest row it is, so that Spark's USING finds it.
    """
    names = Names(asof)
    return sql(
        "{left} {words} (SELECT {row}.* EXCEPT ({name}), {time} AS {name} FROM (\n{nearest}\n)) AS {right} "
        "USING ({columns})",
        left=asof.left, words=asof.words, row=names.row, name=asof.using_time or "", time=names.time, nearest=nearest,
        right=asof.name or f"{asof.own}_right", columns=[*asof.using, asof.using_time or ""],
    )  # fmt: skip


def _nearest(asof: AsofJoin, pairs: Text | None) -> Text:
    """The nearest right row for each key and time of the left relation that has one."""
    names = Names(asof)
    if pairs is not None:
        template = "SELECT {columns} FROM (\n{pairs}\n){where}"
        return sql(template, columns=names.nearest, pairs=pairs, where=_where(_within(asof, names)))
    window = _window(asof, names, asof.directions[0])
    seen = (
        f"lag({names.side}) OVER ({window}) = 1\n"
        f"      AND lag({names.time}) OVER ({window}) = {names.time} AS {names.seen}"
    )
    where = [f"{names.side} = 1", f"{names.row} IS NOT NULL", f"{names.seen} IS NOT TRUE", *_within(asof, names)]
    partners = _partners(asof, names, seen)
    template = "SELECT {columns} FROM (\n{partners}\n){where}"
    return sql(template, columns=names.nearest, partners=partners, where=_where(where))


def _all(conditions: Sequence[str]) -> str:
    return " AND ".join(conditions)


def _where(conditions: Sequence[str]) -> str:
    return f" WHERE {_all(conditions)}" if conditions else ""


def _partners(asof: AsofJoin, names: Names, *computed: str) -> Text:
    """The rows of both relations, of which the left ones have their partners, with the columns `computed`."""
    columns = (names.side, names.time, *names.keys, *names.of_left)
    return _with_last(asof, names, columns, _presorted(asof, names, _rows(asof, names)), *computed)


def _with_last(asof: AsofJoin, names: Names, columns: Sequence[str], rows: Text, *computed: str) -> Text:
    """The `columns` of the rows, the columns that windows compute of them, and the partner of each left row.

    For NEAREST these are first the last right row before it and the first one after it, then the nearer one; of two
    with the same distance it is the earlier one.
    """
    carried = (*names.at_if_any, names.row)
    if asof.distance is None or asof.operator != NEAREST:
        return _last(asof, names, columns, rows, *computed, suffixes=("",))
    before, after = (f"{names.at}{suffix}" for suffix in _SUFFIXES)
    to_before, _ = differences(asof.distance, names.time, before)
    _, to_after = differences(asof.distance, names.time, after)
    # A difference that overflows is NULL. No two of them do, because all times are within one range.
    is_before = (
        f"{before} IS NOT NULL AND ({after} IS NULL OR coalesce({to_before} <= {to_after}, {to_before} IS NOT NULL))"
    )
    chosen = (f"IF({is_before}, {name}{_SUFFIXES[0]}, {name}{_SUFFIXES[1]}) AS {name}" for name in carried)
    own = (names.seen,) if computed else ()
    return join(
        "  SELECT " + ",\n    ".join((", ".join((*columns, *own)), *chosen)) + "\n  FROM (\n",
        _last(asof, names, columns, rows, *computed, suffixes=_SUFFIXES),
        "\n  )",
    )


def _last(
    asof: AsofJoin, names: Names, columns: Sequence[str], rows: Text, *computed: str, suffixes: Sequence[str]
) -> Text:
    """The columns, with the last right row of each direction; its names end with the suffix of the direction."""
    last = (
        f"last_value({name}, true) OVER ({_window(asof, names, operator)} ROWS UNBOUNDED PRECEDING) AS {name}{suffix}"
        for operator, suffix in zip(asof.directions, suffixes)
        for name in (*names.at_if_any, names.row)
    )
    selected = ",\n    ".join((", ".join(columns), *last, *computed))
    return join(f"  SELECT {selected}\n  FROM (\n", rows, "\n  )")


def differences(distance: Distance, time: str, at: str) -> tuple[str, str]:
    """The distance of the right time `at` before the left time, and after it; NULL if it overflows."""
    numbers = distance.number.format(time), distance.number.format(at)
    return f"try_subtract({', '.join(numbers)})", f"try_subtract({', '.join(reversed(numbers))})"


def _within(asof: AsofJoin, names: Names) -> list[str]:
    """The condition that the right time is within the limit."""
    if asof.distance is None or asof.distance.limit is None:
        return []
    before, after = differences(asof.distance, names.time, names.at)
    difference = before if is_backward(asof.operator) else after
    if asof.operator == NEAREST:
        difference = f"IF({names.at} <= {names.time}, {before}, {after})"
    return [f"{difference} <= {asof.distance.limit.value}"]


def _window(asof: AsofJoin, names: Names, operator: str) -> str:
    """The window in which the partner of a left row is the last right row before it, or after it.

    Among right rows of the same time, the one that is taken comes last.
    """
    partition = (names.hash, *names.keys) if asof.presort else names.keys
    parts = f"PARTITION BY {', '.join(partition)} " if partition else ""
    direction = "" if is_backward(operator) else " DESC"
    takes_equal = operator in (">=", "<=")
    ties = (names.row,) if asof.ties is None else names.ties
    of_tie = "" if asof.takes_last else " DESC"
    keys = [names.time + direction, names.side + ("" if takes_equal else " DESC"), *(tie + of_tie for tie in ties)]
    return f"{parts}ORDER BY {', '.join(keys)}"


def _presorted(asof: AsofJoin, names: Names, rows: Text) -> Text:
    """The rows, sorted as `Presort` says.

    Each column is named, because Spark 4.2 fails to analyse a star over a UNION whose types it has to widen.
    """
    if asof.presort is None:
        return rows
    time = asof.presort.time_number.format(names.time)
    bits = f"{'' if is_backward(asof.directions[0]) else '~'}{time} & {(1 << _TIME_BITS) - 1}"
    columns = [names.side, names.time, *names.keys, *names.at_if_any, names.row, *names.ties, *names.of_left]
    return sql(
        "    SELECT {columns},\n      CAST(pmod(xxhash64({keys}), {hashes}) AS INT) AS {hash} FROM (\n{rows}\n    ) "
        "DISTRIBUTE BY {keys} SORT BY shiftleft(CAST({hash} AS BIGINT), {n}) + ({bits})",
        columns=columns, keys=names.keys, hashes=_HASHES, hash=names.hash, rows=rows, n=_TIME_BITS, bits=bits,
    )  # fmt: skip


def _rows(asof: AsofJoin, names: Names) -> Text:
    """The right rows (side 0), then the left rows (side 1), without rows that match nothing, except for the rows that a
    LEFT JOIN carries. Left rows that are not carried have only their keys and times."""
    conditions = asof.conditions
    fits = conditions.fits_left(asof.left_time)
    columns = [_columns("1", asof.left_time, conditions.left_keys, names)]
    columns += [join(f"NULL AS {name}") for name in (*names.at_if_any, names.row, *names.ties)]
    is_padded = False
    if asof.carried is not None:
        fields = ", ".join(f"{asof.carried.name}.{column}" for column in names.carried)
        columns += [join(f"struct({fields}) AS {name}") for name in names.lefts]
        columns += [join("(", bound.left, f") AS {name}") for bound, name in zip(conditions.bounds, names.bounds)]
        is_padded = asof.is_left
    if is_padded:
        columns.append(join("(", fits, f") AS {names.fits}"))
    left = sql("    SELECT {columns} FROM {left}", columns=columns, left=asof.left)
    left = left if is_padded else join(left, " WHERE ", fits)
    return join(_right_rows(asof, names), left, separator="\n    UNION ALL\n")


def _right_rows(asof: AsofJoin, names: Names) -> Text:
    conditions = asof.conditions
    at = [sql("({time}) AS {at}", time=asof.right_time, at=name) for name in names.at_if_any]
    more = (f"struct(*) AS {names.row}", *names.tie_values, *(f"NULL AS {name}" for name in names.of_left))
    return sql(
        "    SELECT {columns} FROM {right} WHERE {fits}",
        columns=[_columns("0", asof.right_time, conditions.right_keys, names), *at, *more], right=asof.right,
        fits=conditions.fits_right(asof.right_time),
    )  # fmt: skip


def _columns(side: str, time: Text, keys: list[Text], names: Names) -> Text:
    named = [join("(", text, f") AS {name}") for text, name in zip((time, *keys), (names.time, *names.keys))]
    return join(f"{side} AS {names.side}", *named, separator=", ")
