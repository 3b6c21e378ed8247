"""The rows that FOR ROW chooses: how many are explained, and the messages about none, more, and a stream's."""

from __future__ import annotations

from sqlext.errors import Place, UnsupportedError
from sqlext.rewriter.text.tokens import tokenize

MAX_ROWS = 20  # that are explained


def no_row(written: str) -> str:
    """The sentence if the condition chooses no row.

    >>> print(no_row("price = NULL"))
    FOR ROW price = NULL chooses no row of the input. Nothing is equal to NULL: write price IS NULL.
    >>> print(no_row("lower(name) = NULL"))
    FOR ROW lower(name) = NULL chooses no row of the input.
    """
    return " ".join(filter(None, [f"FOR ROW {written} chooses no row of the input.", equal_to_null(written)]))


def equal_to_null(condition: str) -> str:
    """The sentence about a comparison by = with NULL in a condition; empty without one."""
    tokens = tokenize(condition)
    for column, sign, value in zip(tokens, tokens[1:], tokens[2:]):
        if column.is_name and sign.text in ("=", "==") and value.word == "NULL":
            return f"Nothing is equal to NULL: write {column.text} IS NULL."
    return ""


def more_rows(written: str) -> str:
    """The sentence if the condition chooses more than MAX_ROWS rows."""
    return f"FOR ROW {written} chooses more rows: the first {MAX_ROWS} are explained."


def no_stream(place: Place) -> UnsupportedError:
    """The error for the rows of a stream."""
    message = "WHY does not explain a stream: leave STREAM out to ask about the rows of the table"
    return UnsupportedError("WHY", message, place=place)
