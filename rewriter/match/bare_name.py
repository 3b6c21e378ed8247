"""A measure without AS, `FIRST(price) first_price`, as Oracle and Snowflake allow it."""

from __future__ import annotations

from sqlext.rewriter.text.tokens import Tokens

# An operand follows these words, so the word behind them is a column and does not begin a section.
BEFORE_OPERAND = frozenset([
    "ALL", "AND", "ANY", "AS", "BETWEEN", "BY", "CASE", "COLLATE", "DEFINE", "DISTINCT", "DIV", "ELSE", "ESCAPE",
    "FINAL", "FROM", "ILIKE", "IN", "INTERVAL", "IS", "LIKE", "MEASURES", "NOT", "OR", "REGEXP", "RLIKE", "RUNNING",
    "SOME", "THEN", "WHEN",
])  # fmt: skip
# Words that end an expression, so a measure that ends in one has no name.
_ENDS = frozenset(["CURRENT_DATE", "CURRENT_TIMESTAMP", "END", "FALSE", "NULL", "NULLS", "TRUE", "UNKNOWN"])
_UNITS = frozenset(["YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"])


def ends_in_name(measure: Tokens) -> bool:
    """Is the last token of a measure its name? An operand must end before it, which the caller tests.

    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> [ends_in_name(tokenize(text)) for text in ("SUM(x) total", "CASE WHEN a THEN b END", "ts + INTERVAL 1 DAY")]
    [True, False, False]
    """
    *expression, last = measure
    if not expression or not last.may_name or last.word in _ENDS | BEFORE_OPERAND:
        return False
    if last.word.rstrip("S") in _UNITS and any(token.word == "INTERVAL" for token in expression):
        return False
    return last.is_name or expression[-1].text == ")"
