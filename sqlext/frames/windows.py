"""`sqlext.windows`: windows of time of a DataFrame, and their firings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlext.errors import BindError
from sqlext.frames.arguments import Amount, Texts, amount_of, column_of, entries, one_of, sql_items, sql_of, text_of
from sqlext.rewriter.text.composed import Argument, Composed, Part, joined
from sqlext.sessions.composed_frames import input_name, run_composed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KINDS = {kind: kind.upper() for kind in ("tumble", "hop", "cumulate", "session")} | {"global": "GLOBAL_WINDOW"}
_COLUMNS, _OF_FIRINGS = ("window_start", "window_end"), ("window_firing", "window_timing", "window_rowtime")


def windows(
    df: DataFrame,
    kind: str,
    *,
    on: str | None = None,
    size: Amount | None = None,
    slide: Amount | None = None,
    step: Amount | None = None,
    gap: Amount | None = None,
    offset: Amount | None = None,
    group_by: Texts = (),
    aggregates: Mapping[str, str] | None = None,
    having: str | None = None,
    emit: str | None = None,
) -> DataFrame:
    """The windows of the rows of `df`: each row with the columns of its windows or, with `aggregates`, a row for each
    window and key, and with `emit` a row for each firing. Lazy, in batch and on a stream.

    `kind`: `"tumble"` (`size`), `"hop"` (`slide`, `size`), `"cumulate"` (`step`, `size`), `"session"` (`gap`) or
    `"global"`; `on`: the time column. Lengths are a `timedelta` or SQL text such as `"INTERVAL 5 MINUTES"`. `group_by`:
    the keys, a list of expressions or one text; `aggregates` has the expression of each result column; `having` is a
    condition on the rows of the result; `emit` is what follows EMIT, such as `"EARLY EVERY INTERVAL 1 MINUTE"`.

    The columns of the result are the keys, `window_start` and `window_end` (not of `"global"`), the aggregates, and
    with `emit` also `window_firing`, `window_timing` and `window_rowtime`.

    Raises the SqlExtError that the query would raise, whose place names the argument: `aggregates["total"]`.

    >>> import sqlext
    >>> values = "(TIMESTAMP '2026-01-01 10:00:10', 5), (TIMESTAMP '2026-01-01 10:01:30', 7)"
    >>> orders = spark.sql(f"SELECT * FROM VALUES {values} AS orders(ts, n)")
    >>> firings = sqlext.windows(
    ...     orders, "tumble", on="ts", size="INTERVAL 5 MINUTES", aggregates={"total": "sum(n)"}, emit="EVERY 1 ROWS"
    ... )
    >>> firings.select("window_start", "total", "window_timing").orderBy("total", "window_timing").show()
    +-------------------+-----+-------------+
    |       window_start|total|window_timing|
    +-------------------+-----+-------------+
    |2026-01-01 10:00:00|    5|        EARLY|
    |2026-01-01 10:00:00|   12|        EARLY|
    |2026-01-01 10:00:00|   12|      ON_TIME|
    +-------------------+-----+-------------+
    <BLANKLINE>
    """
    keys = sql_items("group_by", group_by)
    lengths = {"size": size, "slide": slide, "step": step, "gap": gap, "offset": offset}
    call = _call(df, kind, on, lengths, keys)
    if aggregates is None:
        for of, value in (("group_by", keys), ("having", having), ("emit", emit)):
            if value:
                raise BindError("ARGUMENT_VALUE", f"{of} is given without aggregates")
        return run_composed(Composed(("SELECT * FROM ", *call)), [df])
    grouped: list[tuple[Part, ...]] = [(key,) for key in keys]
    columns: list[tuple[Part, ...]] = [] if kind == "global" else [(name,) for name in _COLUMNS]
    values: list[tuple[Part, ...]] = [
        (sql_of(of, value), " AS ", Argument.name(of, name)) for of, name, value in entries("aggregates", aggregates)
    ]
    firings: list[tuple[Part, ...]] = [(name,) for name in _OF_FIRINGS] if emit is not None else []
    parts: list[Part] = ["SELECT ", *joined([*grouped, *columns, *values, *firings]), "\nFROM ", *call]
    parts += ["\nGROUP BY ", *joined([*grouped, *columns] or [("window_start",)])]
    if having is not None:
        parts += ["\nHAVING ", sql_of("having", having)]
    if emit is not None:
        parts += ["\nEMIT ", Argument.sql("emit", text_of("emit", emit), is_list=True)]
    return run_composed(Composed(tuple(parts)), [df])


def _call(
    df: DataFrame, kind: str, on: str | None, lengths: Mapping[str, Amount | None], keys: list[Argument]
) -> tuple[Part, ...]:
    """The call of the window function."""
    function = one_of("kind", kind, _KINDS)
    data: tuple[Part, ...] = (f"TABLE {input_name(0)}",)
    if kind == "session" and keys:
        data = (*data, " PARTITION BY ", *joined([(key,) for key in keys]))
    arguments: list[tuple[Part, ...]] = [("DATA => ", *data)]
    if on is not None:
        arguments.append(("TIMECOL => DESCRIPTOR(", column_of("on", on, df), ")"))
    arguments += [(f"{of.upper()} => ", amount_of(of, value)) for of, value in lengths.items() if value is not None]
    return f"{function}(", *joined(arguments), ")"
