"""Patterns of times as other systems write them, such as `to_date(x, 'YYYY-MM-DD')`, which Spark accepts as texts and
refuses, or reads as something else, when it computes a row."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlext.expressions.function import PATTERN_FUNCTIONS
from sqlext.rewriter.text.tokens import STRING, Tokens, closing

_OF_NUMBERS_TOO = frozenset({"to_char", "to_varchar"})
_FUNCTIONS = PATTERN_FUNCTIONS | _OF_NUMBERS_TOO | {"to_timestamp_ltz", "to_timestamp_ntz"}
_LETTERS_OF_SPARK = frozenset("GyDMLdQqEFahKkHmsSVzOXxZ")
# The fields of Oracle, Snowflake and Postgres, longer ones first.
_FIELDS = {
    "MONTH": "MMMM", "YYYY": "yyyy", "HH24": "HH", "HH12": "hh", "MON": "MMM", "DAY": "EEEE", "FF3": "SSS",
    "FF6": "SSSSSS", "YY": "yy", "MM": "MM", "DD": "dd", "DY": "E", "HH": "HH", "MI": "mm", "SS": "ss", "AM": "a",
    "PM": "a",
}  # fmt: skip
_FIELD = re.compile(rf"mm|{'|'.join(_FIELDS)}|[A-Z]", re.IGNORECASE)


def time_pattern_warnings(tokens: Tokens) -> Iterator[str]:
    """Sentences about the patterns in calls of Spark's functions that Spark does not read as they are meant.

    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> text = "to_date(s, 'YYYY-MM-DD') < to_char(t, 'HH24:MI') || date_format(t, 'yyyy-MM-DD HH:mm') || to_char(n, '9MI')"
    >>> for sentence in time_pattern_warnings(tokenize(text)):
    ...     print(sentence)
    Spark does not read the pattern 'YYYY-MM-DD' of to_date: write 'yyyy-MM-dd'.
    In the pattern 'yyyy-MM-DD HH:mm' of date_format D is the day of the year: write 'yyyy-MM-dd HH:mm'.
    """  # noqa: E501
    for i in range(len(tokens) - 1):
        name = tokens[i].text.lower()
        if name not in _FUNCTIONS or tokens[i + 1].text != "(":
            continue
        stop = closing(tokens, i + 1)
        if stop is not None and tokens[stop - 1].kind == STRING and tokens[stop - 2].text == ",":
            yield from _warning(name, tokens[stop - 1].text[1:-1])


def _warning(name: str, pattern: str) -> Iterator[str]:
    letters = set(re.findall("[A-Za-z]", re.sub(r"'+[^']*'+", "", pattern)))
    if name in _OF_NUMBERS_TOO and not letters & {"Y", "y"}:
        return
    instead = _FIELD.sub(_field_of_spark, pattern)
    is_clear = "'" not in pattern and set(re.findall("[A-Za-z]", instead)) <= _LETTERS_OF_SPARK
    hint = f"write '{instead}'" if is_clear else "its letters are in Spark's documentation of datetime patterns"
    if not letters <= _LETTERS_OF_SPARK:
        yield f"Spark does not read the pattern '{pattern}' of {name}: {hint}."
    elif {"D", "M"} <= letters and "d" not in letters:
        yield f"In the pattern '{pattern}' of {name} D is the day of the year: {hint}."


def _field_of_spark(field: re.Match[str]) -> str:
    """The field in Spark's letters. `mm` is the month after a year, else the minute."""
    word, before = field[0], field.string[: field.start()]
    if word == "mm":
        return "MM" if re.search(r"y\W?$", before, re.IGNORECASE) else "mm"
    return _FIELDS.get(word.upper(), word)
