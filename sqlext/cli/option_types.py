"""The types of options: each function reads the text of an option, and raises ArgumentTypeError for a wrong one."""

from __future__ import annotations

import argparse
from typing import Any

from sqlext.sessions.typed_values import typed_value


def row_count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rows")
    return int(text)


def port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, a number up to 65535")
    return int(text)


def minutes(text: str) -> float:
    """A number of minutes.

    >>> minutes("0.5")
    0.5
    """
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of minutes")
    return number


def named_text(text: str) -> tuple[str, str]:
    """The name and the text of `name=text`.

    >>> named_text("day=2026-01-31")
    ('day', '2026-01-31')
    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def setting(text: str) -> tuple[str, str]:
    """The name and the value of a setting of Spark or of sqlext.

    >>> setting("spark.sql.shuffle.partitions=4")
    ('spark.sql.shuffle.partitions', '4')
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or " " in name.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE, such as spark.sql.shuffle.partitions=4")
    return name.strip(), value


def parameter(text: str) -> tuple[str, Any]:
    """The name and the value of `name=value`; the form of the value decides its type.

    >>> [parameter(t)[1] for t in ("n=-3", "x=1.50", "b=true", "d=2026-01-31", "t='3'", "u=north")]
    [-3, Decimal('1.50'), True, datetime.date(2026, 1, 31), '3', 'north']
    """
    name, value = named_text(text)
    try:
        return name, typed_value(value)
    except ValueError as error:  # for example 2026-02-30
        raise argparse.ArgumentTypeError(f"{value!r}: {error}") from None
