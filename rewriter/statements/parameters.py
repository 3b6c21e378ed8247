"""Binds parameters: markers in an extended statement become typed SQL literals.

Spark cannot bind them: fragments of the statement move into helper relations, where Spark would count each `?` from the
start again. With Delta's extension, Spark 4.2 also drops all parameters (delta-io/delta issue 7640).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, Union

from sqlext.errors import BindError, Place, all_of
from sqlext.rewriter.text.splice import Edit
from sqlext.rewriter.text.tokens import NUMBER, QUOTED, STRING, WORD, Tokens, tokenize
from sqlext.rewriter.tree.keywords import ends_operand, is_at

Arguments = Union[Mapping[str, Any], Sequence[Any], None]

# `:x` is a parameter in `select :x`, but a path into a variant in `col:x`. A colon after a word begins a parameter only
# if the word is one of these, or one of those below, which are also names of columns.
_BEFORE_PARAMETER = frozenset([
    "ALL", "AND", "ANY", "AS", "ASC", "BETWEEN", "BY", "CASE", "DESC", "DISTINCT", "DIV", "ELSE", "ESCAPE", "EXCEPT",
    "FOR", "FROM", "FULL", "HAVING", "ILIKE", "IN", "INCLUSIVE", "INTERVAL", "IS", "JOIN", "LIKE", "LIMIT", "NOT", "OF",
    "OFFSET", "ON", "OR", "QUALIFY", "REGEXP", "RETURN", "RLIKE", "ROWS", "RANGE", "SELECT", "SET", "SOME", "THEN",
    "TO", "UNION", "USING", "VALUES", "WHEN", "WHERE", "WITHIN",
])  # fmt: skip
_AFTER_EXPRESSION = frozenset({"MEASURES", "PLACING"})  # words that follow an expression, as no column does
_PHRASES = (
    ("MATCH_RECOGNIZE", "(", "MEASURES"), ("EARLY", "EVERY"), ("AFTER", "DELAY"), ("ALLOW", "LATENESS"),
    ("KEEP", "LAST"), ("IDLE", "AFTER"), ("TRIM", "(", "BOTH"), ("TRIM", "(", "LEADING"), ("TRIM", "(", "TRAILING"),
    ("|>", "EXTEND"), ("|>", "AGGREGATE"),
)  # fmt: skip

# How a user passes the value of a named parameter. Its field is the name.
_WAY = ContextVar("_WAY", default='spark.sql(text, {{"{}": …}})')


@contextmanager
def passed_by(way: str) -> Iterator[None]:
    """Within this context hints say that a named parameter is passed by `way`, whose field `{}` is its name."""
    token = _WAY.set(way)
    try:
        yield
    finally:
        _WAY.reset(token)


def how_to_pass(name: str) -> str:
    """
    >>> how_to_pass("day")
    'write spark.sql(text, {"day": …}).'
    """
    return f"write {_WAY.get().format(name)}."


@dataclass(frozen=True)
class Marker:
    """A `?` (name None) or `:name` at characters `start` to `stop` (exclusive)."""

    name: str | None
    start: int
    stop: int


def bind(text: str, args: Arguments, skip: Iterable[tuple[int, int]] = ()) -> tuple[Edit, ...]:
    """The edits that replace all markers of a statement with literals.

    `args` is a list for `?`, a dict for `:name`, as in `spark.sql(text, args)`. `skip` are character ranges without
    markers, the bodies of PATTERN. Raises BindError for all markers together: MISSING_ARGUMENT, ARGUMENT_TYPE. As in
    Spark, arguments that no marker names are ignored.

    >>> bind("SELECT x:path FROM t WHERE a > :lo AND b = :who", {"lo": 5, "who": "me"})
    (Edit(start=31, stop=34, replacement='5'), Edit(start=43, stop=47, replacement="'me'"))
    """

    def edit(each: tuple[int, Marker]) -> Edit:
        position, marker = each
        try:
            value = literal(_argument(marker, position, args))
        except BindError as e:
            raise e.with_(place=Place(text, marker.start, marker.stop)) from None
        return Edit(marker.start, marker.stop, _spaced(text, marker, value))

    return tuple(all_of(enumerate(markers(tokenize(text), tuple(skip))), edit))


def _argument(marker: Marker, position: int, args: Arguments) -> Any:
    if marker.name is None:
        if isinstance(args, Mapping) or args is None:
            hint = f"name the parameter, :name in the text, and {how_to_pass('name')}"
            raise BindError("MISSING_ARGUMENT", "? needs a list of arguments, and there is none", hint=hint)
        if position >= len(args):
            raise BindError("MISSING_ARGUMENT", f"this is ? number {position + 1}, and there are {len(args)} arguments")
        return args[position]
    names = list(args) if isinstance(args, Mapping) else []
    if isinstance(args, Mapping) and marker.name in args:
        return args[marker.name]
    close = get_close_matches(marker.name, names, n=1)
    listed = f"the arguments are {', '.join(map(str, names))}." if names else how_to_pass(marker.name)
    hint = f"did you mean :{close[0]}?" if close else listed
    raise BindError("MISSING_ARGUMENT", f'no argument is called "{marker.name}"', hint=hint)


def markers(tokens: Tokens, skip: tuple[tuple[int, int], ...] = ()) -> Iterator[Marker]:
    """All markers of a statement, in order, except those in strings, in format fields `{df:x}` and in `skip`.

    >>> text = "SELECT a:b, :c, {d:e}, f[0]:g, h::int, ':i', ?"
    >>> [m.name for m in markers(tokenize(text))]
    ['c', None]
    """
    braces = 0
    for i, token in enumerate(tokens):
        if token.kind in (WORD, QUOTED, STRING, NUMBER) or any(start <= token.start < stop for start, stop in skip):
            continue
        braces += token.text.count("{") - token.text.count("}")
        if braces > 0:
            continue
        if token.text == "?":
            yield Marker(None, token.start, token.stop)
        elif token.text == ":" and _is_parameter(tokens, i):
            yield Marker(tokens[i + 1].text, token.start, tokens[i + 1].stop)


def _is_parameter(tokens: Tokens, i: int) -> bool:
    if i + 1 == len(tokens) or tokens[i + 1].kind != WORD:
        return False
    before = tokens[i - 1] if i else None
    if before is None:
        return True
    if before.kind == WORD:
        is_member = i > 1 and tokens[i - 2].text == "."
        return not is_member and (before.word in _BEFORE_PARAMETER or _ends_phrase(tokens, i))
    return before.kind not in (QUOTED, STRING, NUMBER) and before.text not in (")", "]", "}", "?")


def _ends_phrase(tokens: Tokens, i: int) -> bool:
    """Whether the word before the colon at token i is a keyword here, after which an expression begins."""
    if any(is_at(tokens, i - len(phrase), *phrase) for phrase in _PHRASES if len(phrase) <= i):
        return True
    follows = i > 1 and ends_operand(tokens, i - 2) and tokens[i - 2].word != "ALL"
    return follows and tokens[i - 1].word in _AFTER_EXPRESSION


def _spaced(text: str, marker: Marker, sql: str) -> str:
    """The literal, with a space where it would merge with its neighbour, as -1 would in `a-?` and 1 in `?AND`."""
    before, after = text[marker.start - 1 : marker.start], text[marker.stop : marker.stop + 1]
    lead = " " if before.isalnum() or before in ("_", "-", "`", "'", '"') else ""
    trail = " " if after.isalnum() or after in ("_", "'", '"') else ""
    return f"{lead}{sql}{trail}"


# literals


def literal(value: Any) -> str:
    """A Python value as a Spark SQL literal of the type that PySpark's `lit` gives it.

    A string with a quote, a backslash or a brace is written as its UTF-8 bytes, which mean the same whatever
    spark.sql.parser.escapedStringLiterals, spark.sql.ansi.doubleQuotedIdentifiers and str.format do to such text.
    A datetime is a TIMESTAMP; a naive one is in Python's local time zone, as for `lit`.

    Raises BindError (ARGUMENT_TYPE) for other types and for values without a literal.

    >>> [literal(v) for v in (None, True, 5, 2**40, 1.5, "it", b"a", Decimal("1.50"), [1, "x"])]
    ['NULL', 'TRUE', '5', '1099511627776L', '1.5D', "'it'", "X'61'", '1.50BD', "array(1, 'x')"]
    """
    if value is None:
        return "NULL"
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value)
    if type(value).__module__ == "numpy":
        return literal(value.tolist())
    raise BindError(
        "ARGUMENT_TYPE",
        f"a {type(value).__module__}.{type(value).__qualname__} cannot be an argument",
        hint="None, bool, int, float, str, bytes, Decimal, date, datetime, timedelta, list and dict can.",
    )


def _int(value: int) -> str:
    if -(2**31) <= value < 2**31:
        return str(value)
    if -(2**63) <= value < 2**63:
        return f"{value}L"
    return _decimal(Decimal(value))


def _float(value: float) -> str:
    if math.isfinite(value):
        return f"{float(value)!r}D"
    name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return f"CAST('{name}' AS DOUBLE)"


def _decimal(value: Decimal) -> str:
    digits = format(value, "f") if value.is_finite() else ""
    if not digits or len(digits.replace(".", "").lstrip("-0")) > 38:
        raise BindError("ARGUMENT_TYPE", f"{value} has no DECIMAL of at most 38 digits")
    return f"{digits}BD"


def _str(value: str) -> str:
    if any(c in value for c in "'\\{}"):
        return f"CAST(X'{value.encode().hex().upper()}' AS STRING)"
    return f"'{value}'"


def _datetime(value: datetime) -> str:
    if value != value:  # pandas.NaT is a datetime
        return "NULL"
    try:
        utc = value.astimezone(timezone.utc)
    except OverflowError:
        raise BindError("ARGUMENT_TYPE", f"{value!r} is not a time between the years 1 and 9999 in UTC") from None
    return f"TIMESTAMP_LTZ '{utc.isoformat(sep=' ', timespec='microseconds')}'"


def _timedelta(value: timedelta) -> str:
    sign = "-" if value < timedelta(0) else ""
    size = abs(value)
    minutes, seconds = divmod(size.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"INTERVAL '{sign}{size.days} {hours:02}:{minutes:02}:{seconds:02}.{size.microseconds:06}' DAY TO SECOND"


def _mapping(value: Mapping[Any, Any]) -> str:
    return f"map({', '.join(f'{literal(k)}, {literal(v)}' for k, v in value.items())})"


# The first kind that fits is used. The order matters because a bool is an int, and a datetime is a date.
_WRITERS: tuple[tuple[Any, Any], ...] = (
    (bool, lambda v: "TRUE" if v else "FALSE"),
    (int, _int),
    (float, _float),
    (str, _str),
    (Decimal, _decimal),
    (datetime, _datetime),
    (date, lambda v: f"DATE '{v.isoformat()}'"),
    (timedelta, _timedelta),
    ((bytes, bytearray), lambda v: f"X'{bytes(v).hex().upper()}'"),
    ((list, tuple), lambda v: f"array({', '.join(map(literal, v))})"),
    (Mapping, _mapping),
)
