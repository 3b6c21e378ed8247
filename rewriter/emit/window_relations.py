"""Rewrites window table functions with Spark's own `window` and `session_window`, arithmetic and OVER windows."""

from __future__ import annotations

from collections.abc import Mapping

from sqlext.expressions.spark_types import LTZ
from sqlext.operators.emit.parts import CUMULATE, GLOBAL, HOP, SESSION
from sqlext.rewriter.emit.window_tvf import WindowTvf
from sqlext.rewriter.text.splice import Source, Text, TextLike, sql

WINDOW = "__window"  # Spark's own column: a struct of start and end, which carries the watermark
_BEFORE_END = "INTERVAL '0.000001' SECOND"
WINDOW_KEYS = ("window_start", "window_end", "window_time")


def windowed(call: WindowTvf, source: Source, durations: Mapping[str, int], time: Text | None) -> Text:
    """The rows of the data with the columns `window_start`, `window_end` and `window_time`, as a subquery.

    `durations` are in microseconds; `time` is the column in DESCRIPTOR, None for GLOBAL_WINDOW.
    """
    data = source.of(call.data)
    if call.kind == GLOBAL or time is None:
        nulls = [f"CAST(NULL AS {LTZ}) AS {name}" for name in WINDOW_KEYS]
        return sql("(SELECT *, {nulls} FROM {data})", nulls=nulls, data=data)
    if call.kind == SESSION:
        return _sessions(call, source, data, durations["GAP"], time)
    windows = spark_window(call, durations, time)
    rows = sql("(SELECT *, {windows} AS {name} FROM {data})", windows=windows, name=WINDOW, data=data)
    start, end = f"{WINDOW}.start", f"{WINDOW}.end"
    if call.kind == CUMULATE:
        step, size = (_duration(durations[name]) for name in ("STEP", "SIZE"))
        ends = sql("sequence({start} + {step}, {start} + {size}, {step})", start=start, step=step, size=size)
        rows = sql(
            "(SELECT *, explode(filter({ends}, __end -> __end > {time})) AS __end FROM {rows})",
            ends=ends, time=time, rows=rows,
        )  # fmt: skip
        return _named(rows, start, "__end", f"{WINDOW}, __end")
    if call.kind == HOP and durations["SLIDE"] > durations["SIZE"]:  # A row may be in no window.
        end = f"({start} + {_duration(durations['SIZE'])})"
        rows = sql("(SELECT * FROM {rows} WHERE {time} < {end})", rows=rows, time=time, end=end)
    return _named(rows, start, end, WINDOW)


def spark_window(call: WindowTvf, durations: Mapping[str, int], time: TextLike) -> Text:
    """Spark's own function for the windows of a row.

    Its windows have the whole SIZE for CUMULATE, and the length of the slide for HOP if the slide is the longer one.
    """
    if call.kind == SESSION:
        return sql("session_window({time}, '{gap} microseconds')", time=time, gap=durations["GAP"])
    size = durations["SIZE"]
    slide = durations["SLIDE"] if call.kind == HOP else size
    offset = durations.get("OFFSET", 0) % slide
    return sql(
        "window({time}, '{length} microseconds', '{slide} microseconds', '{offset} microseconds')",
        time=time, length=max(size, slide), slide=slide, offset=offset,
    )  # fmt: skip


def _duration(micros: int) -> str:
    """A SQL interval of `micros` microseconds that does not depend on the session's time zone.

    Spark would add INTERVAL '1' DAY as a calendar day of that time zone.
    """
    return f"make_interval(0, 0, 0, 0, 0, 0, {micros // 10**6}.{micros % 10**6:06d})"


def _named(rows: Text, start: TextLike, end: TextLike, hidden: str) -> Text:
    return sql("(SELECT * EXCEPT ({hidden}), {keys} FROM {rows})", hidden=hidden, keys=_keys(start, end), rows=rows)


def _keys(start: TextLike, end: TextLike) -> Text:
    """The columns WINDOW_KEYS."""
    template = "{start} AS window_start, {end} AS window_end, {end} - {least} AS window_time"
    return sql(template, start=start, end=end, least=_BEFORE_END)


def _sessions(call: WindowTvf, source: Source, data: Text, gap: int, time: Text) -> Text:
    """The rows with their sessions; a session begins at a row that is more than the gap later than the row before."""
    keys = [source.of(key) for key in call.partition_by]
    partition = sql("PARTITION BY {keys} ", keys=keys) if keys else ""
    order, apart = sql("({by}ORDER BY {time})", by=partition, time=time), _duration(gap)
    begins = sql("IF({time} <= lag({time}) OVER {order} + {apart}, 0, 1)", time=time, order=order, apart=apart)
    rows = sql("(SELECT *, {x} AS __begins FROM {data} WHERE {time} IS NOT NULL)", x=begins, data=data, time=time)
    rows = sql("(SELECT *, sum(__begins) OVER {order} AS __session FROM {rows})", order=order, rows=rows)
    whole = sql("(PARTITION BY {keys})", keys=[*keys, "__session"])
    start = sql("min({time}) OVER {whole}", time=time, whole=whole)
    end = sql("max({time}) OVER {whole} + {apart}", time=time, whole=whole, apart=apart)
    return _named(rows, start, end, "__begins, __session")
