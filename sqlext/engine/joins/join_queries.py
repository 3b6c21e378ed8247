"""The queries with which EXPLAIN MATCH ANALYZE counts a join on time. Pure: a shape in, SQL out.

Pairs are counted, not made. The times of one relation and the ends of the ranges of the other one are put into one
order for each key; the ranges that are open at a time are its partners. So a join of n rows takes time n log n, however
many pairs it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlext.engine.joins.join_shape import TEXT, End, JoinShape
from sqlext.engine.reports.counts import all_true, verdict_columns
from sqlext.engine.reports.shown_values import typed_text
from sqlext.rewriter.joins.asof_sql import Key
from sqlext.rewriter.joins.join_conditions import LEFT
from sqlext.rewriter.scalars.row_filter import evaluated
from sqlext.rewriter.text.splice import Text, TextLike, join, sql

# The order of events at one place: an end that excludes its place closes before the times there, and opens after them.
_CLOSES_BEFORE, _OPENS, _TIME, _CLOSES, _OPENS_AFTER = range(5)
_NAMED = "ARRAY<STRUCT<text: STRING, spark_type: STRING>>"


def side_query(shape: JoinShape, side: str, prefix: Text) -> Text:
    """One row of counts over one relation.

    `rows`; `null_key`: rows with a NULL in a key that does not match NULL; `null_time`; t, f, n (TRUE, FALSE, NULL) of
    each condition on the relation alone; `able`: rows that may have a partner; `empty`: ranges that contain nothing;
    `reversed`: ranges that end before they begin; `compared`: the able rows whose range is not empty.
    """
    columns: list[TextLike] = ["count(*) AS rows"]
    columns.append(sql("count_if({x}) AS null_key", x=_any_null(_key_texts(shape, side))))
    columns.append(sql("count_if({x}) AS null_time", x=_any_null(shape.needs.get(side, ()))))
    columns += verdict_columns(condition.sql for condition in shape.own[side])
    columns.append(sql("count_if({x}) AS able", x=_is_able(shape, side)))
    empty, reversed_ = (shape.is_empty, shape.is_reversed) if side == shape.ranges else ("FALSE", "FALSE")
    columns.append(sql("count_if({x}) AS empty", x=empty))
    columns.append(sql("count_if({x}) AS reversed", x=reversed_))
    columns.append(sql("count_if({x}) AS compared", x=_is_compared(shape, side)))
    return sql("{prefix}SELECT {all}\nFROM {rows}", prefix=prefix, all=columns, rows=shape.relations[side])


def pairs_query(shape: JoinShape, prefix: Text, limit: int | None = None) -> Text:
    """One row of counts over all keys, of the rows that may have a partner.

    `keys`: different keys; `points`, `ranges`: the rows of both relations; `same_key`: pairs with equal keys;
    `ranges_here`, `points_here`: rows with a row of the same key; `pairs`: those whose time is in the range, too;
    `ranges_met`, `points_met`: rows in such a pair; `largest`: the most rows of a key. Of all rows that have a row of
    the same key and no time in their range, the nearest miss: `miss`, how far it is, `is_before`, whether the time is
    before the range, as texts `time`, `low` and `high`, and as typed texts `named`, the keys. `limit`: the most keys,
    the same ones each time.
    """
    keyed = keys_query(shape, limit)
    columns = [
        "count(*) AS keys",
        *(f"coalesce(sum({name}), 0) AS {name}" for name in ("points", "ranges", "pairs", "ranges_met", "points_met")),
        "coalesce(sum(points * ranges), 0) AS same_key",
        "coalesce(sum(IF(points > 0, ranges, 0)), 0) AS ranges_here",
        "coalesce(sum(IF(ranges > 0, points, 0)), 0) AS points_here",
        "coalesce(max(points + ranges), 0) AS largest",
        "min(nearest) AS nearest",
    ]
    whole = sql("SELECT {columns} FROM (\n{keyed}\n)", columns=columns, keyed=keyed)
    shown = [f"{shape.shown(f'nearest.{name}')} AS {name}" for name in ("`time`", "low", "high")]
    own = [f"nearest.{name} AS {name}" for name in ("miss", "is_before", "named")]
    return sql("{prefix}SELECT *, {own} FROM (\n{whole}\n)", prefix=prefix, own=[*own, *shown], whole=whole)


def keys_query(shape: JoinShape, limit: int | None = None) -> Text:
    """The counts of `pairs_query` for each key, which is in the columns k0, k1, …"""
    keys = [f"k{i}" for i in range(len(shape.keys))]
    by = f"PARTITION BY {', '.join(keys)} " if keys else ""
    order = f"{by}ORDER BY far, pos, kind"
    reverse = f"{by}ORDER BY far DESC, pos DESC, kind DESC"
    passed = "ROWS UNBOUNDED PRECEDING"
    point = f"IF(kind = {_TIME}, pos, NULL)"
    events = _events(shape)
    if limit is not None and keys:
        events = _of_some_keys(events, keys, limit)
    placed = sql(
        "SELECT *, sum(delta) OVER ({order} {passed}) AS open, last_value({point}, true) OVER ({order} {passed}) AS "
        "last, last_value({point}, true) OVER ({reverse} {passed}) AS next FROM (\n{events}\n)",
        order=order, passed=passed, point=point, reverse=reverse, events=events,
    )  # fmt: skip
    is_range = f"kind IN ({_CLOSES_BEFORE}, {_CLOSES})"
    met = "coalesce(last > low OR (last = low AND NOT low_excluded), low IS NULL AND last IS NOT NULL)"
    columns = [
        *keys,
        f"count_if(kind = {_TIME}) AS points",
        f"count_if({is_range}) AS ranges",
        f"sum(IF(kind = {_TIME}, open, 0)) AS pairs",
        f"count_if({is_range} AND {met}) AS ranges_met",
        f"count_if(kind = {_TIME} AND open > 0) AS points_met",
        f"min(CASE WHEN {is_range} AND NOT ({met}) AND (last IS NOT NULL OR next IS NOT NULL) THEN {_miss(shape)} END)"
        " AS nearest",
    ]
    grouped = f"\nGROUP BY {', '.join(keys)}" if keys else ""
    return sql("SELECT {columns} FROM (\n{placed}\n){grouped}", columns=columns, placed=placed, grouped=grouped)


def limited_keys_query(shape: JoinShape, prefix: Text, limit: int) -> Text:
    """The keys that `pairs_query` compares under a limit, in the columns __key0, __key1, …"""
    keys = [f"k{i}" for i in range(len(shape.keys))]
    named = [f"{key} AS __key{i}" for i, key in enumerate(keys)]
    events = _of_some_keys(_events(shape), keys, limit)
    return sql("{prefix}SELECT DISTINCT {named} FROM ({events})", prefix=prefix, named=named, events=events)


def of_keys(shape: JoinShape, keys: str) -> Text:
    """A condition on the left rows of the join: they have one of the `keys`, a table as `limited_keys_query` has it."""
    equal = (sql("chosen.__key{i} <=> ({left})", i=i, left=key.left) for i, key in enumerate(shape.keys))
    same = join(*equal, separator=" AND ")
    return sql("EXISTS (SELECT 1 FROM {keys} AS chosen WHERE {same})", keys=keys, same=same)


def _of_some_keys(events: Text, keys: Sequence[str], limit: int) -> Text:
    return sql(
        "WITH events AS (\n{events}\n  ) SELECT * FROM events WHERE {key} IN (SELECT hash FROM "
        "(SELECT DISTINCT {key} AS hash FROM events) ORDER BY hash LIMIT {limit})",
        events=events, key=f"xxhash64({', '.join(keys)})", limit=limit,
    )  # fmt: skip


def _miss(shape: JoinShape) -> str:
    """SQL for the nearest time beside a range: how far it is, and where."""
    if shape.kind == TEXT or shape.time is None:  # a distance of texts is not known
        numbers = "miss DOUBLE, is_before BOOLEAN, `time` DOUBLE, low DOUBLE, high DOUBLE"
        return f"CAST(NULL AS STRUCT<{numbers}, named {_NAMED}>)"
    before, after = "try_subtract(low, last)", "try_subtract(next, high)"
    is_before = f"coalesce({before} <= {after}, next IS NULL)"
    time = f"IF({is_before}, last, next)"
    return f"struct(least({before}, {after}) AS miss, {is_before} AS is_before, {time} AS `time`, low, high, named)"


def others_query(shape: JoinShape, prefix: Text, pairs: TextLike) -> Text:
    """One row: `kept`, the pairs on which all other conditions hold, and t, f, n of each of them. `pairs`: the join
    without the other conditions."""
    others = [condition.sql for condition in shape.others]
    columns = [sql("count_if({x}) AS kept", x=all_true(others)), *verdict_columns(others)]
    return sql("{prefix}SELECT {columns}\nFROM {pairs}", prefix=prefix, columns=columns, pairs=pairs)


def some_keys_query(shape: JoinShape, side: str, prefix: Text, number: int) -> Text:
    """The first keys of a relation, as typed texts, of the rows that are compared."""
    return sql(
        "{prefix}SELECT DISTINCT {named} AS key FROM {rows} WHERE {is_compared} ORDER BY key LIMIT {number}",
        prefix=prefix, named=_named(shape, side), rows=shape.relations[side], is_compared=_is_compared(shape, side),
        number=number,
    )  # fmt: skip


# rows


def _key_texts(shape: JoinShape, side: str) -> list[Text]:
    """The keys of a relation that may not be NULL."""
    return [_of(key, side) for key in shape.keys if not key.matches_null]


def _of(key: Key, side: str) -> Text:
    return key.left if side == LEFT else key.right


def _any_null(texts: Sequence[Text]) -> TextLike:
    return join(*(join("(", text, ") IS NULL") for text in texts), separator=" OR ") if texts else "FALSE"


def _is_able(shape: JoinShape, side: str) -> Text:
    """Whether a row may have a partner: conditions on it alone hold, and it has its keys and times."""
    null = _any_null([*_key_texts(shape, side), *shape.needs.get(side, ())])
    own = (evaluated(condition.sql) for condition in shape.own[side])
    return join(*own, join("NOT (", null, ")"), separator=" AND ")


def _is_compared(shape: JoinShape, side: str) -> Text:
    """Whether a row may have a partner, and its range, if it has one, is not empty."""
    able = _is_able(shape, side)
    return join(able, " AND NOT ", shape.is_empty) if side == shape.ranges else able


def _named(shape: JoinShape, side: str) -> Text:
    """SQL for the keys of a row, as typed texts."""
    texts = (typed_text(_of(key, side)) for key in shape.keys)
    return sql("CAST(array({texts}) AS {named})", texts=[*texts], named=_NAMED)


# events


def _events(shape: JoinShape) -> Text:
    return join(*_kinds_of_events(shape), separator="\n  UNION ALL\n")


def _kinds_of_events(shape: JoinShape) -> Iterator[Text]:
    """The times, and the beginnings and the ends of the ranges.

    The columns: the keys, `far` (-1 and 1 for an end that does not limit the range), `pos`, `kind`, `delta`: how many
    ranges open; of the end of a range also `low`, `low_excluded`, `high` and the name of its row.
    """
    nothing = f"CAST(NULL AS {'STRING' if shape.kind == TEXT else 'BIGINT'})"
    time = nothing if shape.time is None else shape.time
    columns: list[TextLike] = [
        *_keys(shape, shape.points),
        "0 AS far",
        join(time, " AS pos"),
        f"{_TIME} AS kind",
        "0 AS delta",
    ]
    columns += [f"{nothing} AS low", "FALSE AS low_excluded", f"{nothing} AS high", "NULL AS named"]
    yield _select(columns, shape, shape.points)
    keys = _keys(shape, shape.ranges)
    low, low_excluded, high, high_excluded = (*_sql(shape.lower, nothing), *_sql(shape.upper, nothing))
    opens = sql("IF({excluded}, {after}, {at})", excluded=low_excluded, after=_OPENS_AFTER, at=_OPENS)
    far = "0" if shape.lower else "-1"
    columns = [*keys, f"{far} AS far", join(low, " AS pos"), join(opens, " AS kind"), "1 AS delta"]
    yield _select([*columns, nothing, "FALSE", nothing, "NULL"], shape, shape.ranges)
    closes = sql("IF({excluded}, {before}, {at})", excluded=high_excluded, before=_CLOSES_BEFORE, at=_CLOSES)
    far = "0" if shape.upper else "1"
    columns = [*keys, f"{far} AS far", join(high, " AS pos"), join(closes, " AS kind"), "-1 AS delta"]
    columns += [join(low, " AS low"), join(low_excluded, " AS low_excluded"), join(high, " AS high")]
    yield _select([*columns, join(_named(shape, shape.ranges), " AS named")], shape, shape.ranges)


def _keys(shape: JoinShape, side: str) -> list[Text]:
    return [join("(", _of(key, side), f") AS k{i}") for i, key in enumerate(shape.keys)]


def _sql(end: End | None, nothing: str) -> tuple[TextLike, TextLike]:
    return (nothing, "FALSE") if end is None else (end.sql, end.is_excluded)


def _select(columns: Sequence[TextLike], shape: JoinShape, side: str) -> Text:
    where = _is_compared(shape, side)
    return sql("    SELECT {all} FROM {rows} WHERE {where}", all=columns, rows=shape.relations[side], where=where)
