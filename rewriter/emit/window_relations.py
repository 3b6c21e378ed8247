"""Rewrites window table functions with Spark's own `window` and `session_window`, arithmetic and OVER windows."""

from __future__ import annotations

from collections.abc import Mapping

from sqlext.expressions.spark_types import LTZ
from sqlext.operators.emit.parts import CUMULATE, GLOBAL, HOP, SESSION
from sqlext.rewriter.emit.window_tvf import WindowTvf
from sqlext.rewriter.text.splice import Source, Text, TextLike, join

WINDOW = "__window"  # Spark's own column: a struct of start and end, which carries the watermark
_BEFORE_END = "INTERVAL '0.000001' SECOND"
WINDOW_KEYS = ("window_start", "window_end", "window_time")


def windowed(call: WindowTvf, source: Source, durations: Mapping[str, int], time: Text | None) -> Text:
    """The rows of the data with the columns `window_start`, `window_end` and `window_time`, as a subquery.

    `durations` are in microseconds; `time` is the column in DESCRIPTOR, None for GLOBAL_WINDOW.
    """
    data = source.of(call.data)
    if call.kind == GLOBAL or time is None:
        nulls = ", ".join(f"CAST(NULL AS {LTZ}) AS {name}" for name in WINDOW_KEYS)
        return join(f"(SELECT *, {nulls} FROM ", data, ")")
    if call.kind == SESSION:
        return _sessions(call, source, data, durations["GAP"], time)
    rows = join("(SELECT *, ", spark_window(call, durations, time), f" AS {WINDOW} FROM ", data, ")")
    start, end = f"{WINDOW}.start", f"{WINDOW}.end"
    if call.kind == CUMULATE:
        step, size = (_duration(durations[name]) for name in ("STEP", "SIZE"))
        ends = f"filter(sequence({start} + {step}, {start} + {size}, {step}), __end -> __end > "
        rows = join("(SELECT *, explode(", ends, time, ")) AS __end FROM ", rows, ")")
        return _named(rows, start, "__end", f"{WINDOW}, __end")
    if call.kind == HOP and durations["SLIDE"] > durations["SIZE"]:  # A row may be in no window.
        end = f"({start} + {_duration(durations['SIZE'])})"
        rows = join("(SELECT * FROM ", rows, " WHERE ", time, f" < {end})")
    return _named(rows, start, end, WINDOW)


def spark_window(call: WindowTvf, durations: Mapping[str, int], time: TextLike) -> Text:
    """Spark's own function for the windows of a row.

    Its windows have the whole SIZE for CUMULATE, and the length of the slide for HOP if the slide is the longer one.
    """
    if call.kind == SESSION:
        return join("session_window(", time, f", '{durations['GAP']} microseconds')")
    size = durations["SIZE"]
    slide = durations["SLIDE"] if call.kind == HOP else size
    offset = durations.get("OFFSET", 0) % slide
    length = max(size, slide)
    return join("window(", time, f", '{length} microseconds', '{slide} microseconds', '{offset} microseconds')")


def _duration(micros: int) -> str:
    """A SQL interval of `micros` microseconds that does not depend on the session's time zone.

    Spark would add INTERVAL '1' DAY as a calendar day of that time zone.
    """
    return f"make_interval(0, 0, 0, 0, 0, 0, {micros // 10**6}.{micros % 10**6:06d})"


def _named(rows: Text, start: str, end: str, hidden: str) -> Text:
    columns = f"{start} AS window_start, {end} AS window_end, {end} - {_BEFORE_END} AS window_time"
    return join(f"(SELECT * EXCEPT ({hidden}), {columns} FROM ", rows, ")")


def _sessions(call: WindowTvf, source: Source, data: Text, gap: int, time: Text) -> Text:
    """The rows with their sessions; a session begins at a row that is more than the gap later than the row before."""
    keys = [source.of(key) for key in call.partition_by]
    by = join(join(*keys, separator=", "), ", ") if keys else Text()
    partition = join("PARTITION BY ", join(*keys, separator=", "), " ") if keys else Text()
    in_order = join("(", partition, "ORDER BY ", time, ")")
    begins = join("IF(", time, " <= lag(", time, ") OVER ", in_order, f" + {_duration(gap)}, 0, 1) AS __begins")
    rows = join("(SELECT *, ", begins, " FROM ", data, " WHERE ", time, " IS NOT NULL)")
    rows = join("(SELECT *, sum(__begins) OVER ", in_order, " AS __session FROM ", rows, ")")
    whole = join("(PARTITION BY ", by, "__session)")
    start = join("min(", time, ") OVER ", whole)
    end = join("max(", time, ") OVER ", whole, f" + {_duration(gap)}")
    columns = join(start, " AS window_start, ", end, " AS window_end, ", end, f" - {_BEFORE_END} AS window_time")
    return join("(SELECT * EXCEPT (__begins, __session), ", columns, " FROM ", rows, ")")
