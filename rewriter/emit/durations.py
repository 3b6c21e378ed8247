"""The arguments of window functions and EMIT: time columns, durations in microseconds, and thresholds."""

from __future__ import annotations

from sqlext.errors import BindError
from sqlext.rewriter.match.condition_parts import TypeResolver
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Source, join


def duration(
    fragment: Fragment,
    source: Source,
    resolver: TypeResolver,
    is_positive: bool = True,
    error_class: str = "WINDOW_DURATION",
) -> int:
    """The microseconds of a constant interval of days to seconds. Raises BindError: `error_class`."""
    text = source.slice(fragment.start, fragment.stop)
    (kind,) = resolver.types([text])
    if not kind.startswith("interval ") or "year" in kind or "month" in kind:
        raise BindError(error_class, f"a duration is an interval of days, hours, minutes or seconds, not {kind}",
                        place=fragment.place, hint="write INTERVAL '10' MINUTES.")  # fmt: skip
    (value,) = resolver.constants([join("CAST(", text, " AS INTERVAL DAY TO SECOND)")])
    if value is None or (is_positive and value <= 0):
        raise BindError(error_class, "this duration must be longer than nothing", place=fragment.place,
                        hint="write INTERVAL '10' MINUTES.")  # fmt: skip
    return int(value)


def time_type(fragment: Fragment, source: Source, resolver: TypeResolver) -> str:
    """The type of the column in DESCRIPTOR: timestamp, timestamp_ntz or date. Raises BindError: WINDOW_TIME."""
    (kind,) = resolver.types([source.slice(fragment.start, fragment.stop)])
    if kind not in ("timestamp", "timestamp_ntz", "date"):
        raise BindError(
            "WINDOW_TIME", f"DESCRIPTOR needs a timestamp or a date, not {kind}", place=fragment.place,
            hint="write TABLE (SELECT *, CAST(x AS TIMESTAMP) AS ts FROM t), DESCRIPTOR(ts).",
        )  # fmt: skip
    return kind


def threshold(fragment: Fragment, source: Source, resolver: TypeResolver) -> float:
    """The value of a constant number. Raises BindError: DELTA_THRESHOLD."""
    text = source.slice(fragment.start, fragment.stop)
    (value,) = resolver.constants([join("CAST(", text, " AS DOUBLE)")])
    if value is None:
        raise BindError("DELTA_THRESHOLD", "DELTA is compared with a number", place=fragment.place)
    return float(value)
