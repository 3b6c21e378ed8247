"""The values of parameters as they are written on a command line: the form of a text determines its type."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

_FORMS: tuple[tuple[str, Callable[[str], Any]], ...] = (
    (r"[+-]?\d+", int),
    (r"[+-]?(\d+\.\d*|\.\d+)", Decimal),
    (r"(?i:true|false)", lambda v: v.lower() == "true"),
    (r"\d{4}-\d\d-\d\d", date.fromisoformat),
    (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d{6})?)?", datetime.fromisoformat),
    (r"'.*'", lambda v: v[1:-1]),
)


def typed_value(text: str) -> Any:
    """The value that a text represents: integers, decimals, true, false, dates, timestamps; 'quotes' force text.

    Raises ValueError for a date that does not exist.

    >>> [typed_value(t) for t in ("-3", "1.50", "true", "2026-01-31", "'3'", "north")]
    [-3, Decimal('1.50'), True, datetime.date(2026, 1, 31), '3', 'north']
    """
    parse = next((parse for form, parse in _FORMS if re.fullmatch(form, text, re.DOTALL)), str)
    return parse(text)
