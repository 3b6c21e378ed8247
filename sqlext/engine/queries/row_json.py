"""SQL for a row as JSON, as reports show it: with its columns that are NULL, and with all digits of its times."""

from __future__ import annotations

from sqlext.rewriter.text.splice import Text, TextLike, join

# Spark writes a fraction of a second with always as many digits. These two signs, of which no text of a user is full,
# are around the time of day, from which the zeros after milliseconds are then left out.
_BEGIN, _END = "\ue001", "\ue000"
_TIME = f"yyyy-MM-dd{_BEGIN}HH:mm:ss.SSSSSS{_END}"
_OPTIONS = f"map('ignoreNullFields', 'false', 'timestampFormat', '{_TIME}XXX', 'timestampNTZFormat', '{_TIME}')"
_DIGITS = f"{_BEGIN}([0-9:]+[.][0-9]{{3}}(?:[0-9]{{3}})??)(?:000)?{_END}"  # lazy: six digits only if they are needed


def row_json(row: TextLike) -> Text:
    """SQL for a struct as JSON. `to_json` alone leaves out what is NULL, and ends times after milliseconds.

    >>> str(row_json("struct(a.*)")).partition(", map")[0]
    'regexp_replace(to_json(struct(a.*)'
    """
    return join("regexp_replace(to_json(", row, f", {_OPTIONS}), '{_DIGITS}', 'T$1')")
