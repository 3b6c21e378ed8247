"""Checks the constant in WITHIN: no match is shorter than nothing."""

from __future__ import annotations

from sqlext.errors import BindError, UnsupportedError
from sqlext.expressions.spark_types import is_day_time, is_numeric, is_year_month
from sqlext.pattern.task.task import LiteralValue
from sqlext.rewriter.lowering.input_query import Context
from sqlext.rewriter.scalars.literals import shown_number
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import names_in
from sqlext.rewriter.text.splice import Text, join


def check_length(bound: Fragment, context: Context) -> None:
    """Raise BindError (WITHIN_TYPE) for a constant that is NULL, zero or negative; a column is a bound of each row."""
    if names_in(bound) & {name.lower() for name in context.relation.names}:
        return
    text = context.source.of(bound)
    try:
        (kind,) = context.relation.resolver.types([text])
        value, unit = _value(text, kind, context)
    except UnsupportedError:  # no duration: `within` reports it
        return
    if value is None or not float(value) > 0:
        shown = "NULL" if value is None else shown_number(float(value)) + unit
        raise BindError(
            "WITHIN_TYPE",
            f"WITHIN is {shown}, and it must be longer than nothing",
            place=bound.place,
            hint="write WITHIN INTERVAL 10 MINUTES, or WITHIN 600 if the ORDER BY key is a number.",
        )


def _value(text: Text, kind: str, context: Context) -> tuple[LiteralValue, str]:
    """The number of a constant and its unit; 1 where it is not known here."""
    resolver = context.relation.resolver
    if kind == "void":
        return None, ""
    if is_year_month(kind):
        return resolver.constant(join("CAST(CAST(", text, " AS INTERVAL MONTH) AS INT)")), " months"
    if is_day_time(kind):
        micros = resolver.constant(join("CAST(", text, " AS INTERVAL DAY TO SECOND)"))
        return (None if micros is None else float(micros) / 1e6), " seconds"
    return (resolver.constant(join("CAST(", text, " AS DOUBLE)")), "") if is_numeric(kind) else (1, "")
