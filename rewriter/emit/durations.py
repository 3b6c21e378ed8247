"""Binds the arguments of window functions and EMIT: time columns, durations in microseconds, and thresholds."""

from __future__ import annotations

import re

from sqlext.errors import BindError
from sqlext.expressions.spark_types import TIME_TYPES, is_numeric
from sqlext.pattern.task.task import LiteralValue
from sqlext.rewriter.conditions.condition_parts import TypeResolver
from sqlext.rewriter.scalars.literals import shown_number
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Source, Text, join


def duration(
    fragment: Fragment,
    source: Source,
    resolver: TypeResolver,
    *,
    least: int | None = 1,
    error_class: str = "WINDOW_DURATION",
) -> int:
    """The microseconds of a constant interval of days to seconds. Raises BindError with this `error_class`.

    `least`: the shortest duration that makes sense in microseconds: 1, 0, or None where it may also be negative.
    """
    text = source.of(fragment)
    if re.fullmatch(r"\d+\s+[A-Za-z]+", fragment.text):
        is_of_rows = fragment.text.upper().endswith(("ROW", "ROWS"))
        hint = "EVERY n ROWS is written without EARLY." if is_of_rows else f"write INTERVAL {fragment.text}."
        raise BindError(error_class, "a duration begins with INTERVAL", place=fragment.place, hint=hint)
    (kind,) = resolver.types([text])
    if kind == "void":
        raise _wrong_length(fragment, None, least, error_class)
    if not kind.startswith("interval ") or "year" in kind or "month" in kind:
        raise BindError(
            error_class,
            f"a duration is an interval of days, hours, minutes or seconds, not {kind}",
            place=fragment.place,
            hint="write INTERVAL '10' MINUTES.",
        )
    value = _constant(join("CAST(", text, " AS INTERVAL DAY TO SECOND)"), resolver)
    if value is None or (least is not None and value < least):
        raise _wrong_length(fragment, value, least, error_class)
    return int(value)


def _wrong_length(fragment: Fragment, micros: LiteralValue, least: int | None, error_class: str) -> BindError:
    """The error for a duration that is NULL, or too short."""
    shown = "NULL" if micros is None else f"{shown_number(float(micros) / 1e6)} seconds"
    needed = {1: "longer than nothing", 0: "nothing or longer"}.get(-1 if least is None else least, "an interval")
    return BindError(
        error_class,
        f"this duration is {shown}, and it must be {needed}",
        place=fragment.place,
        hint="write INTERVAL '10' MINUTES.",
    )


def time_type(fragment: Fragment, source: Source, resolver: TypeResolver) -> str:
    """The type of the column in DESCRIPTOR: timestamp, timestamp_ntz or date. Raises BindError: WINDOW_TIME."""
    (kind,) = resolver.types([source.of(fragment)])
    if kind not in TIME_TYPES:
        raise BindError(
            "WINDOW_TIME",
            f"DESCRIPTOR needs a timestamp or a date, not {kind}",
            place=fragment.place,
            hint="write TABLE (SELECT *, CAST(x AS TIMESTAMP) AS ts FROM t), DESCRIPTOR(ts).",
        )
    return kind


def as_timestamp(time: Text, kind: str) -> Text:
    """A time column of type `kind` as a timestamp. A date has no time zone, so its windows have none either."""
    return join("CAST(", time, " AS TIMESTAMP_NTZ)") if kind == "date" else time


def threshold(fragment: Fragment, source: Source, resolver: TypeResolver, *, is_positive: bool) -> float:
    """The value of a constant number ≥ 0, or > 0 if `is_positive`. Raises BindError: DELTA_THRESHOLD."""
    text = source.of(fragment)
    number_type(fragment, source, resolver, "DELTA_THRESHOLD")
    value = _constant(join("CAST(", text, " AS DOUBLE)"), resolver)
    if value is None or not value >= 0 or (is_positive and value == 0):
        bound = "above 0" if is_positive else "from 0 on"
        raise BindError(
            "DELTA_THRESHOLD",
            f"DELTA is a distance, so it is compared with a number {bound}",
            place=fragment.place,
            hint="write DELTA(v) > 0.5, or EVICT KEEP DELTA(v) < 0.5.",
        )
    return float(value)


def number_type(fragment: Fragment, source: Source, resolver: TypeResolver, error_class: str) -> str:
    """The type of a number. Raises BindError for an expression that is none."""
    (kind,) = resolver.types([source.of(fragment)])
    if not is_numeric(kind):
        raise BindError(
            error_class,
            f"DELTA is a difference of numbers, not of {kind}",
            place=fragment.place,
            hint="write DELTA(v) > 0.5; the number of a time is unix_micros(ts) / 1e6.",
        )
    return kind


def _constant(text: Text, resolver: TypeResolver) -> LiteralValue:
    try:
        return resolver.constant(text)
    except BindError as e:
        is_column = "UNRESOLVED_COLUMN" in e.error_class
        raise (e.with_(hint="write a constant: a column differs from row to row.") if is_column else e) from None
