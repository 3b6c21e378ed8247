"""EXPLAIN MATCH ANALYZE of a join on time: Spark counts where rows of both relations are lost."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import Row

from sqlext.engine.joins.bind_interval import bind_interval
from sqlext.engine.joins.join_queries import (
    limited_keys_query,
    of_keys,
    others_query,
    pairs_query,
    side_query,
    some_keys_query,
)
from sqlext.engine.joins.join_report import JoinReport, NearestTime, SideReport
from sqlext.engine.joins.join_shape import DATE, LOCAL, TIMESTAMP, Condition, JoinShape, shape_of
from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.reports.counts import Verdicts, verdicts
from sqlext.engine.reports.shown_values import interval, shown_text
from sqlext.rewriter.joins.join_conditions import LEFT, RIGHT
from sqlext.rewriter.text.fragments import in_line
from sqlext.rewriter.text.splice import Edit, Text, join

_KEYS_SHOWN = 3


def analyze_join(sides: JoinSides, time_zone: str, limit: int | None) -> JoinReport:
    """The report about a join, whose relations Spark reads twice to three times. `time_zone`: the session's time zone;
    `limit`: the most different keys to compare."""
    began = time.monotonic()
    shape, clause = shape_of(sides), sides.clause
    pairs = _row(sides, pairs_query(shape, sides.prefix, limit))
    reports = {side: _side(sides, shape, side, pairs) for side in (LEFT, RIGHT)}
    number, of_others = int(pairs["pairs"]), tuple[Verdicts, ...]()
    if shape.others and number:
        where = _where_limited(sides, shape, limit)
        pairs_text = join(_joined(sides, shape, time_zone, "INNER"), where)
        others = _row(sides, others_query(shape, sides.prefix, pairs_text))
        number, of_others = int(others["kept"]), _verdicts(shape.others, others)
        semi = join(sides.prefix, "SELECT count(*) AS met FROM ", _joined(sides, shape, time_zone, "LEFT SEMI"), where)
        reports[LEFT] = replace(reports[LEFT], met=int(_row(sides, semi)["met"]))
    return JoinReport(
        kind=clause.kind,
        join_type=clause.join_type,
        line=clause.keyword.place.line,
        left=reports[LEFT],
        right=reports[RIGHT],
        ranges=shape.ranges,
        has_keys=bool(shape.keys),
        has_range=shape.time is not None,
        same_key=int(pairs["same_key"]),
        in_range=int(pairs["pairs"]),
        pairs=number,
        keys=int(pairs["keys"]),
        largest=int(pairs["largest"]),
        others=of_others,
        miss=_miss(shape, pairs),
        limit=limit if shape.keys else None,
        seconds=time.monotonic() - began,
    )


def _row(sides: JoinSides, query: Text) -> Row:
    return sides.queries.run(query).collect()[0]


def _side(sides: JoinSides, shape: JoinShape, side: str, pairs: Row) -> SideReport:
    row = _row(sides, side_query(shape, side, sides.prefix))
    what = "points" if side == shape.points else "ranges"
    some_keys: Sequence[Row] = ()
    if shape.keys and row["compared"] and not pairs["same_key"]:
        some_keys = sides.queries.run(some_keys_query(shape, side, sides.prefix, _KEYS_SHOWN)).collect()
    return SideReport(
        rows=row["rows"],
        null_key=row["null_key"],
        null_time=row["null_time"],
        conditions=_verdicts(shape.own[side], row),
        able=row["able"],
        empty=row["empty"],
        reversed=row["reversed"],
        compared=row["compared"],
        here=int(pairs[f"{what}_here"]),
        met=int(pairs[f"{what}_met"]),
        some_keys=tuple(f"({_named(shape, side, key)})" for (key,) in some_keys),
    )


def _verdicts(conditions: Sequence[Condition], row: Row) -> tuple[Verdicts, ...]:
    return verdicts((condition.written for condition in conditions), row.asDict())


def _where_limited(sides: JoinSides, shape: JoinShape, limit: int | None) -> Text:
    """WHERE, which keeps the rows of the keys that are compared; empty without a limit."""
    if limit is None or not shape.keys:
        return join()
    keys = sides.queries.name(sides.queries.run(limited_keys_query(shape, sides.prefix, limit)))
    return join(" WHERE ", of_keys(shape, keys))


def _joined(sides: JoinSides, shape: JoinShape, time_zone: str, join_type: str) -> Text:
    """INTERVAL JOIN as SQL. An INNER join leaves out `shape.others`: the report counts the pairs that they refuse."""
    clause = replace(sides.clause, join_type=join_type)
    of_type = JoinSides(
        clause, number=sides.number, tree=sides.tree, source=sides.source, prefix=sides.prefix, queries=sides.queries
    )
    edits = [edit for edit in bind_interval(of_type, time_zone).edits if edit.start != clause.keyword.start]
    edits.append(Edit(clause.words.start, clause.words.stop, "JOIN" if join_type == "INNER" else f"{join_type} JOIN"))
    if join_type == "INNER":
        written = {condition.written for condition in shape.others}
        others = (c for c in clause.conjuncts if c.in_line in written)
        edits += [Edit(c.start, c.stop, "TRUE") for c in others]
    return sides.source.edited(edits).of(clause.whole)


def _miss(shape: JoinShape, pairs: Row) -> NearestTime | None:
    if pairs["miss"] is None:
        return None
    far = pairs["miss"]
    shown = (
        interval(int(far)) if shape.kind in (TIMESTAMP, LOCAL) else f"{far:g}" if isinstance(far, float) else str(far)
    )
    if shape.kind == DATE:
        shown += " day" if far == 1 else " days"
    return NearestTime(
        far=shown,
        is_before=pairs["is_before"],
        is_zero=not far,
        time=f"{shape.written} = {shown_text(pairs['time'], shape.kind)}",
        end=shown_text(pairs["low" if pairs["is_before"] else "high"], shape.kind),
        row=_named(shape, shape.ranges, pairs["named"]),
    )


def _named(shape: JoinShape, side: str, values: Sequence[Row]) -> str:
    """The keys of a row of a relation, by their typed texts."""
    names = (in_line(key.left if side == LEFT else key.right) for key in shape.keys)
    return ", ".join(f"{name} = {shown_text(*value)}" for name, value in zip(names, values))
