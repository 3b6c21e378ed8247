"""Values of rows and operands, as SQL writes them: 'NULL' is a text, and NULL is none. Pure.

`shown` writes values that Python has, `shown_text` those that Spark has cast by `typed_text`.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from sqlext.engine.reports.counts import short
from sqlext.errors import SqlExtError
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.scalar_tree import Constant, call
from sqlext.expressions.spark_types import TIME_TYPES
from sqlext.expressions.values import from_arrow
from sqlext.rewriter.text.splice import Text, TextLike, join

_TEXTS = ("string", "char", "varchar")  # also with a length or a collation
_UNITS = (("DAY", 86_400_000_000), ("HOUR", 3_600_000_000), ("MINUTE", 60_000_000), ("SECOND", 1_000_000))


def shown(value: Any, spark_type: str, settings: ExecutionSettings) -> str:
    """A value in the representation of `expressions.values`.

    >>> settings = ExecutionSettings(is_ansi=True, time_zone="UTC")
    >>> shown(None, "int", settings), shown("it's", "string", settings), shown(20516, "date", settings)
    ('NULL', "'it''s'", "DATE '2026-03-04'")
    """
    if value is None:
        return "NULL"
    try:
        text = call("CAST", (Constant(value, spark_type),), settings, "string")
        written = str(text.value) if isinstance(text, Constant) else str(value)
    except SqlExtError:  # a type that has no text
        written = str(value)
    return shown_text(written, spark_type)


def shown_cell(column: pa.Array, spark_type: str, row: int, settings: ExecutionSettings) -> str:
    """The value of a column on a row."""
    try:
        return shown(from_arrow(column.slice(row, 1), spark_type)[0], spark_type, settings)
    except SqlExtError:
        return str(column[row].as_py())


def typed_text(value: TextLike, most: int | None = None) -> Text:
    """SQL for a value as `shown_text` reads it, a struct of its text and its type. `most`: characters that are needed.

    >>> print(typed_text("v"))
    struct(CAST((v) AS STRING) AS text, typeof(v) AS spark_type)
    """
    text = join("CAST((", value, ") AS STRING)")
    text = text if most is None else join("left(", text, f", {most})")
    return join("struct(", text, " AS text, typeof(", value, ") AS spark_type)")


def shown_text(text: str | None, spark_type: str) -> str:
    """A value of a type, by the text to which it is cast.

    >>> shown_text(None, "string"), shown_text("NULL", "string"), shown_text("", "string"), shown_text("1.50", "double")
    ('NULL', "'NULL'", "''", '1.50')
    >>> print(shown_text("a\\nb", "string"), shown_text("2026-03-04", "date"))
    'a\\nb' DATE '2026-03-04'
    """
    if text is None:
        return "NULL"
    written = short(text)
    if spark_type.startswith(_TEXTS):
        return "'" + written.replace("'", "''") + "'"
    if spark_type in TIME_TYPES:
        return f"{'DATE' if spark_type == 'date' else 'TIMESTAMP'} '{written}'"
    return written or "''"


def interval(us: int) -> str:
    """A day-time interval in the largest unit that needs no fraction, or in seconds.

    >>> interval(90_000_000), interval(7_200_000_000), interval(1_500_000), interval(0)
    ("INTERVAL '90' SECOND", "INTERVAL '2' HOUR", "INTERVAL '1.5' SECOND", "INTERVAL '0' SECOND")
    """
    for unit, size in _UNITS if us else _UNITS[-1:]:
        if us % size == 0:
            return f"INTERVAL '{us // size}' {unit}"
    sign, rest = ("-", -us) if us < 0 else ("", us)
    seconds, fraction = divmod(rest, 1_000_000)
    return f"INTERVAL '{sign}{seconds}.{f'{fraction:06}'.rstrip('0')}' SECOND"


def shown_name(expression: str) -> str:
    """The expression, without backticks where a name needs none.

    >>> shown_name("`card`"), shown_name("e.`card no`")
    ('card', 'e.`card no`')
    """
    return re.sub(r"`([A-Za-z_]\w*)`", r"\1", expression)
