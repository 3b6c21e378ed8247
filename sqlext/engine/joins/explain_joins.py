"""EXPLAIN MATCH of a join on time: how rows are paired."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlext.engine.planning.planner import Section
from sqlext.rewriter.joins.asof_sql import AsofJoin
from sqlext.rewriter.joins.join_clause import NEAREST, JoinClause
from sqlext.rewriter.joins.join_differences import join_differences

# Decision 38 has the measurements.
_NOT_THAT_OF_SPARK = (
    "Spark's own ASOF JOIN is not used: of several nearest rows it returns an arbitrary one, and it compares each left "
    "row with all right rows of its key"
)


HOW_WITH_TABLE = [
    "Spark's own join of a stream and a table, which is read anew for each micro-batch: each of its rows is the nearest"
    " one for a range of left times"
]


def how_pairs(asof: AsofJoin, why_read: str | None) -> list[str]:
    """How workers compute an ASOF JOIN of tables. `why_read`: why Spark reads the rows, as a clause of a sentence; None
    if a worker does."""
    how = "workers order and pair the rows of both sides, which Spark only shuffles by their keys"
    if why_read is None:
        how = "local: one worker reads the files of both tables, and pairs their rows with the threads of all cores"
    if asof.carried is None:
        how += "; the matches are joined to the left relation"
    read = ", ".join(asof.carried.columns if asof.carried else ("its keys and times",))
    columns = f"read of the left relation: {read}; of the right one: {', '.join(asof.right_columns)}"
    return [how, columns, *([f"Spark reads the rows: {why_read}"] if why_read else [])]


def how_window(asof: AsofJoin, why: str) -> list[str]:
    """How a window of Spark computes an ASOF JOIN of tables. `why`: the reason, as a clause of a sentence."""
    left = "the left rows go through it" if asof.carried else "its matches are joined to the left relation"
    order = "sorted first by one number of their keys and times" if asof.presort else "sorted by keys and times"
    if asof.operator == NEAREST:
        order += ", and once more in the opposite order"
    how = f"window: both sides in one order, {order}, which carries the last right row along; {left}"
    return [how, f"Spark's window, not workers: {why}"]


def how_streams(asof: AsofJoin) -> list[str]:
    """How an ASOF JOIN of two streams is computed, and what is kept."""
    kept = "of the right rows that have passed the last one of each key"
    if asof.operator == NEAREST:
        kept = "of the right rows that have passed those that an undecided left row may need, at least the last one"
    elif asof.operator in ("<=", "<"):
        kept = "the left rows that have not found their partner"
    return ["in a stateful operator, a step in each micro-batch", f"kept: the rows above the watermark, and {kept}"]


def explained_asof(
    clause: JoinClause, asof: AsofJoin, how: Sequence[str], *, without_keys: str = "orders", is_in_spark: bool = False
) -> Section:
    """The section of an ASOF JOIN: what is joined, `how`, and what its text may mean in another system.

    `without_keys`: what one task does with all rows if there are no keys; `is_in_spark`: this Spark has an ASOF JOIN
    of its own, which could compute it.
    """
    keys = ", ".join(f"{key.left} {'<=>' if key.matches_null else '='} {key.right}" for key in asof.conditions.keys)
    times = f"{asof.left_time} {asof.operator} {asof.right_time}"
    if asof.operator == NEAREST:
        times = f"{asof.left_time} nearest to {asof.right_time}"
    if asof.distance is not None and asof.distance.limit is not None:
        times += f" within {asof.distance.limit.written}"
    differences = join_differences(clause)
    lines = [
        "LEFT ASOF JOIN" if asof.is_left else "INNER ASOF JOIN: left rows without a partner are left out",
        f"left {asof.left}",
        f"right {asof.right}",
        f"nearest row by {times}, keys {keys or f'none: one task {without_keys} all rows'}",
        *how,
        *([_NOT_THAT_OF_SPARK] if is_in_spark else []),
        *(["== Differences ==", *differences] if differences else []),
    ]
    return _section(lines)


def explained_interval(clause: JoinClause, reasons: Iterable[tuple[str, str]]) -> Section:
    """The section of an INTERVAL JOIN. `reasons`: pairs (decision, why)."""
    lines = [
        f"{clause.join_type} INTERVAL JOIN, line {clause.keyword.place.line}",
        f"left {clause.left.text}",
        f"right {clause.right.text}",
        *(f"{decision}: {why}" for decision, why in reasons),
    ]
    return _section(lines)


def _section(lines: list[str]) -> Section:
    return Section(kind="Join", text=lambda: "\n".join(lines))
