"""What makes the rows of a query change while its sources stay: random functions, the current time, and what is read
from the session or from files."""

from __future__ import annotations

from collections.abc import Collection

from sqlext.rewriter.text.lexemes import string_value
from sqlext.rewriter.text.names import tokens_of, unquoted
from sqlext.rewriter.text.tokens import STRING
from sqlext.rewriter.tree.sources import RANDOM_FUNCTIONS

# They need no parentheses.
_BARE = frozenset({"CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_USER", "USER", "SESSION_USER",
                   "LOCALTIMESTAMP", "_METADATA"})  # fmt: skip
_CALLED = frozenset({
    "NOW", "CURDATE", "UNIX_TIMESTAMP", "CURRENT_DATABASE", "CURRENT_SCHEMA", "CURRENT_CATALOG", "CURRENT_TIMEZONE",
    "INPUT_FILE_NAME", "INPUT_FILE_BLOCK_START", "INPUT_FILE_BLOCK_LENGTH", "VERSION", "REFLECT", "TRY_REFLECT",
    "JAVA_METHOD", "CURRENT_PATH", "IDENTIFIER", "TABLE_CHANGES", "TABLE_CHANGES_BY_PATH", "MATCH_RULES",
})  # fmt: skip
_WORDS_OF_TIME = frozenset({"now", "today", "yesterday", "tomorrow"})
_FIXED = "a source at a fixed version"


def unstable_part(text: str, columns: Collection[str], functions: Collection[str]) -> str | None:
    """What in a query gives other rows from the same sources; None if nothing does.

    `columns`: the names of the columns of its sources, `functions`: those of the user's own functions, in lower case.

    >>> unstable_part("SELECT user, now(), rand FROM t", {"user"}, ()), unstable_part("SELECT user FROM t", (), ())
    ('now()', 'user')
    >>> unstable_part("SELECT f(k) FROM t VERSION AS OF 3", (), {"f"}), unstable_part("SELECT k FROM t", (), ())
    ("the user's function f", None)
    """
    tokens = tokens_of(text)
    for i, token in enumerate(tokens):
        word, following = token.word, [after.text for after in tokens[i + 1 : i + 3]]
        is_called = following[:1] == ["("]
        if token.kind == STRING and string_value(token.text).strip().lower() in _WORDS_OF_TIME:
            return token.text
        if word in ("VERSION", "TIMESTAMP") and [name.upper() for name in following] == ["AS", "OF"]:
            return _FIXED
        if word in _BARE and unquoted(token.text).lower() not in columns:
            return token.text
        if is_called and (word in _CALLED or word in RANDOM_FUNCTIONS):
            return f"{token.text}()"
        if word == "TABLESAMPLE":
            return token.text
        if is_called and token.is_name and unquoted(token.text).lower() in functions:
            return f"the user's function {token.text}"
    return None
