"""EXPLAIN MATCH of a join on time: how rows are paired."""

from __future__ import annotations

from sqlext.engine.streams.planner import Section
from sqlext.rewriter.joins.asof_sql import AsofJoin
from sqlext.rewriter.joins.interval_sql import RewrittenJoin
from sqlext.rewriter.joins.join_clause import NEAREST


def explained_asof(asof: AsofJoin) -> Section:
    """The section of an ASOF JOIN that is rewritten as Spark's own SQL."""
    keys = ", ".join(f"{key.left} {'<=>' if key.matches_null else '='} {key.right}" for key in asof.conditions.keys)
    left = "the left rows go through it" if asof.carried else "its matches are joined to the left relation"
    times = f"{asof.left_time} {asof.operator} {asof.right_time}"
    if asof.operator == NEAREST:
        times = f"{asof.left_time} nearest to {asof.right_time}"
    if asof.distance is not None and asof.distance.limit is not None:
        times += f" within {asof.distance.limit.written}"
    order = "sorted first by one number of their keys and times" if asof.presort else "sorted by keys and times"
    if asof.operator == NEAREST:
        order += ", and once more in the opposite order"
    lines = [
        "LEFT ASOF JOIN" if asof.is_left else "INNER ASOF JOIN: left rows without a partner are left out",
        f"left {asof.left}", f"right {asof.right}",
        f"nearest row by {times}, keys {keys or 'none: one task orders all rows'}",
        f"window: both sides in one order, {order}, which carries the last right row along; {left}",
    ]  # fmt: skip
    return _section(lines)


def explained_native() -> Section:
    """The section of an ASOF JOIN that this Spark itself supports."""
    return _section(["Spark's own ASOF JOIN: Spark runs the text as it is"])


def explained_interval(rewritten: RewrittenJoin) -> Section:
    """The section of an INTERVAL JOIN."""
    clause = rewritten.clause
    lines = [
        f"{clause.join_type} INTERVAL JOIN, line {clause.keyword.place.line}",
        f"left {clause.left.text}", f"right {clause.right.text}",
        *(f"{decision}: {why}" for decision, why in rewritten.reasons),
    ]  # fmt: skip
    return _section(lines)


def _section(lines: list[str]) -> Section:
    return Section(kind="Join", text=lambda: "\n".join(lines))
