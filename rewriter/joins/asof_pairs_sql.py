"""The SQL of an ASOF JOIN that workers compute: the rows that they read, and the relation that they return.

Rows of both relations arrive together. Each has values of its own relation only, so a column of values belongs to both
relations where their types are equal: half as much is shuffled and sent. Of the right relation, workers need the
columns that the query reads, and the columns before the last of these, which decide ties: right rows that are equal up
to that column give the same result.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlext.operators.asof.plan import (
    KEY,
    LEFT,
    OF_LEFT,
    OF_RIGHT,
    RIGHT,
    SIDE,
    TIME,
    VALUE,
    WITHOUT_PARTNER,
    PairsPlan,
)
from sqlext.operators.rows.columns import IS_ABLE
from sqlext.rewriter.joins.asof_sql import AsofJoin, Names
from sqlext.rewriter.text.shuffle import distribute_by
from sqlext.rewriter.text.splice import Text, TextLike, join
from sqlext.rewriter.text.where import where


@dataclass(frozen=True)
class Value:
    """A value that a row carries to the workers: the column `shown` of the result, computed as `text`. Only values with
    equal `type_` are in one column; None: with no other value."""

    shown: str
    text: TextLike
    type_: Hashable | None = None


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """The join that workers compute.

    `asof`: the join with only the columns of both relations that the query reads. `lefts`, `rights`: the values of the
    rows. `ties`: the values of `rights` that order right rows with equal times. `shown`: the values in the result.
    """

    asof: AsofJoin
    lefts: tuple[Value, ...]
    rights: tuple[Value, ...]
    ties: tuple[str, ...]
    shown: tuple[str, ...]


def asof_pairs(
    asof: AsofJoin,
    types: Mapping[str, Mapping[str, Hashable]],
    unread: Mapping[str, Collection[str]],
    equal: Collection[str] = (),
) -> Pairs:
    """The values that workers need. `types`: the types of the columns, quoted, of LEFT and RIGHT; `unread`: those of
    them that the query does not read; `equal`: the right columns that are equal in rows with the same key and time.

    At least one column of each relation is read, because Spark has no relation without columns.
    """
    names = Names(asof)
    lefts: list[Value] = []
    if asof.carried is not None:
        columns = _read(asof.carried.columns, unread.get(LEFT, ()), asof.carried.keys)
        qualifier = f"{asof.carried.name}."
        lefts = [Value(f"{LEFT}{i}", qualifier + c, types[LEFT][c]) for i, c in enumerate(columns)]
        lefts += [Value(name, bound.left) for name, bound in zip(names.bounds, asof.conditions.bounds)]
        asof = replace(asof, carried=replace(asof.carried, columns=columns, keys={}))
    every = asof.right_columns
    read = _read(every, unread.get(RIGHT, ()), equal)
    last = max(every.index(column) for column in read)
    decisive = [c for c in every[: last + 1] if (asof.ties is None or c in asof.ties) and c not in equal]
    qualifier = f"{asof.name}." if asof.name else ""
    rights = [
        Value(f"{RIGHT}{i}", qualifier + column, types[RIGHT][column])
        for i, column in enumerate(every)
        if column in read or column in decisive
    ]
    ties = tuple(f"{RIGHT}{every.index(column)}" for column in decisive)
    shown = tuple(f"{RIGHT}{every.index(column)}" for column in read)
    rights += [Value(name, asof.right_time) for name in names.at_if_any]
    asof = replace(asof, right_columns=read)
    return Pairs(asof=asof, lefts=tuple(lefts), rights=tuple(rights), ties=ties, shown=(*shown, *names.at_if_any))


def _read(columns: tuple[str, ...], unread: Collection[str], keys: Collection[str]) -> tuple[str, ...]:
    """The columns that are read; if there are none, one of the keys, which workers need in any case."""
    return tuple(column for column in columns if column not in unread) or (*keys, *columns)[:1]


def rows_sql(pairs: Pairs) -> Text:
    """The rows of both relations, all rows of a key in one task: SIDE, TIME, the keys, and the values.

    >>> l, r, l_time, r_time, l_key, r_key = map(join, ("bids b", "asks", "b.t", "asks.t", "b.k", "asks.k"))
    >>> from sqlext.rewriter.joins.asof_sql import Carried, Conditions, Key
    >>> asof = AsofJoin(left=l, right=r, name="asks", is_left=False, left_time=l_time, operator=">=", right_time=r_time,
    ...                 conditions=Conditions(keys=(Key(l_key, r_key),)), using=(), right_columns=("`k`", "`p`"),
    ...                 ties=None, own="a", carried=Carried("b", ("`k`", "`id`", "`x`")))
    >>> types = {LEFT: {"`k`": "string", "`id`": "int", "`x`": "int"}, RIGHT: {"`k`": "string", "`p`": "int"}}
    >>> unread = {LEFT: ["`k`", "`x`"], RIGHT: ["`k`"]}
    >>> print(rows_sql(asof_pairs(asof, types, unread, equal=["`k`"])))
    SELECT __side, __time, __key0, __value0 FROM (
      SELECT 0Y AS __side, (asks.t) AS __time, (asks.k) AS __key0, asks.`p` AS __value0
      FROM asks WHERE (asks.t) IS NOT NULL AND (asks.k) IS NOT NULL
      UNION ALL
      SELECT 1Y AS __side, (b.t) AS __time, (b.k) AS __key0, b.`id` AS __value0
      FROM bids b WHERE (b.t) IS NOT NULL AND (b.k) IS NOT NULL
    ) DISTRIBUTE BY __key0, 0
    """
    asof, conditions = pairs.asof, pairs.asof.conditions
    fits = conditions.fits_left(asof.left_time)
    pads = asof.is_left and asof.carried is not None
    side = join("IF(", fits, f", {OF_LEFT}Y, {WITHOUT_PARTNER}Y)") if pads else join(f"{OF_LEFT}Y")
    columns = _columns(pairs)
    count = len({*columns[LEFT].values(), *columns[RIGHT].values()})
    nothing: dict[str, TextLike] = {f"{VALUE}{i}": "NULL" for i in range(count)}
    rights = {**nothing, **{columns[RIGHT][value.shown]: value.text for value in pairs.rights}}
    lefts = {**nothing, **{columns[LEFT][value.shown]: value.text for value in pairs.lefts}}
    right = _selected({SIDE: f"{OF_RIGHT}Y"}, asof.right_time, conditions.right_keys, rights)
    left = _selected({SIDE: side}, asof.left_time, conditions.left_keys, lefts)
    keys = _keys(asof)
    # Each column is named, because Spark 4.2 fails to analyse a star over a UNION whose types it has to widen.
    names = ", ".join((SIDE, TIME, *keys, *nothing))
    return join(
        f"SELECT {names} FROM (\n  ", right, "\n  FROM ", asof.right, " WHERE ",
        conditions.fits_right(asof.right_time),
        "\n  UNION ALL\n  ", left, "\n  FROM ", asof.left, join() if pads else join(" WHERE ", fits),
        f"\n) {distribute_by(keys)}",
    )  # fmt: skip


def sides_sql(pairs: Pairs) -> tuple[Text, Text]:
    """The rows of the left and of the right relation, for a worker that reads each of them by itself: IS_ABLE, if there
    are rows without a partner, TIME, the keys, and the values under their own names."""
    asof, conditions = pairs.asof, pairs.asof.conditions
    own = [join(*(join("(", c, ")") for c in some), separator=" AND ") for some in (conditions.left, conditions.right)]
    wheres = [join(" ", where(condition)) if condition.pieces else join() for condition in own]
    able: dict[str, TextLike] = {}
    if asof.is_left and conditions.left:
        able, wheres[0] = {IS_ABLE: join("(", own[0], ")")}, join()
    left = _selected(able, asof.left_time, conditions.left_keys, {v.shown: v.text for v in pairs.lefts})
    right = _selected({}, asof.right_time, conditions.right_keys, {v.shown: v.text for v in pairs.rights})
    return join(left, " FROM ", asof.left, wheres[0]), join(right, " FROM ", asof.right, wheres[1])


def sides_plan(pairs: Pairs) -> PairsPlan:
    """What a worker does with the rows of `sides_sql`."""
    values = {LEFT: pairs.lefts, RIGHT: pairs.rights}
    keys = zip(_keys(pairs.asof), pairs.asof.conditions.keys)
    plan = _plan(pairs, {side: {v.shown: v.shown for v in of_side} for side, of_side in values.items()})
    return replace(plan, null_safe=tuple(name for name, key in keys if key.matches_null))


def worker_plan(pairs: Pairs) -> PairsPlan:
    """What workers do with the rows."""
    return _plan(pairs, _columns(pairs))


def _plan(pairs: Pairs, columns: Mapping[str, Mapping[str, str]]) -> PairsPlan:
    asof = pairs.asof
    names = Names(asof)
    of_left = dict(columns[LEFT])
    if asof.carried is None:
        of_left = dict(zip((names.time, *names.keys), (TIME, *_keys(asof))))
    elif asof.distance is not None:
        of_left[names.time] = TIME
    return PairsPlan(
        operator=asof.operator,
        keys=_keys(asof),
        ties=tuple(columns[RIGHT][name] for name in pairs.ties),
        of_left=of_left,
        of_right={name: columns[RIGHT][name] for name in pairs.shown},
        is_left=asof.is_left and asof.carried is not None,
        is_once=asof.carried is None,
        takes_last=asof.takes_last,
    )


def relation_sql(pairs: Pairs, result: str) -> Text:
    """The relation that `asof_sql` reads, from the relation `result` of the workers: the left row, if it is carried,
    and its partner are a struct each."""
    asof = pairs.asof
    names = Names(asof)
    lefts = dict(zip(names.carried, (value.shown for value in pairs.lefts)))
    rights = dict(zip(asof.right_columns, pairs.shown))
    structs = {names.left: lefts, names.row: rights} if asof.carried is not None else {names.row: rights}
    columns = [name for name in worker_plan(pairs).of_left if name not in lefts.values()]
    columns += names.at_if_any
    for struct, fields in structs.items():
        columns.append(f"struct({', '.join(f'{shown} AS {name}' for name, shown in fields.items())}) AS {struct}")
    return join(f"SELECT {', '.join(columns)} FROM {result}")


def _columns(pairs: Pairs) -> dict[str, dict[str, str]]:
    """The columns of the values of LEFT and RIGHT, by the names of the values in the result."""
    places: dict[tuple[Hashable, int], str] = {}
    result: dict[str, dict[str, str]] = {}
    for side, values in ((LEFT, pairs.lefts), (RIGHT, pairs.rights)):
        counts: dict[Hashable, int] = {}
        result[side] = {}
        for value in values:
            kind = (side, value.shown) if value.type_ is None else value.type_
            counts[kind] = counts.get(kind, 0) + 1
            result[side][value.shown] = places.setdefault((kind, counts[kind]), f"{VALUE}{len(places)}")
    return result


def _keys(asof: AsofJoin) -> tuple[str, ...]:
    return tuple(f"{KEY}{i}" for i in range(len(asof.conditions.keys)))


def _selected(first: Mapping[str, TextLike], time: Text, keys: Sequence[Text], values: Mapping[str, TextLike]) -> Text:
    named: dict[str, TextLike] = {**first, TIME: join("(", time, ")")}
    named.update({f"{KEY}{i}": join("(", key, ")") for i, key in enumerate(keys)})
    named.update(values)
    return join("SELECT ", join(*(join(text, f" AS {name}") for name, text in named.items()), separator=", "))
