"""The clauses of CREATE TABLE that Spark gets as they are written: PARTITIONED BY, CLUSTER BY, COMMENT and others."""

from __future__ import annotations

from sqlext.rewriter.text.cursor import Cursor
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.tokens import closing

# the words of a clause → what follows them
_GROUP, _TEXT = "a list in parentheses", "a string"
TABLE_CLAUSES = {
    ("PARTITIONED", "BY"): _GROUP,
    ("CLUSTER", "BY"): _GROUP,
    ("TBLPROPERTIES",): _GROUP,
    ("COMMENT",): _TEXT,
    ("LOCATION",): _TEXT,
}


def take_words(cursor: Cursor) -> tuple[str, ...] | None:
    """Move past the words of a clause of CREATE TABLE, and return them; None if none comes next."""
    return next((words for words in TABLE_CLAUSES if cursor.take(*words)), None)


def take_value(cursor: Cursor, start: int, words: tuple[str, ...]) -> Fragment:
    """Move past what follows the words of a clause, of which the first is token `start`. Returns the whole clause.
    Raises ParseError."""
    what = TABLE_CLAUSES[words]
    if what == _TEXT:
        if cursor.take_string() is None:
            raise cursor.expected(what)
    else:
        close = closing(cursor.tokens, cursor.index) if cursor.is_at("(") else None
        if close is None:
            raise cursor.expected(what)
        cursor.index = close + 1
    return cursor.fragment(start, cursor.index)
