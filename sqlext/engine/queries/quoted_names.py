"""Sessions in which `"a"` is a name: `spark.sql.ansi.doubleQuotedIdentifiers` and ANSI mode are on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from sqlext.engine.queries.session_settings import is_on
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.errors import SqlExtError
from sqlext.rewriter.statements.scan import might_be_extended
from sqlext.rewriter.text.names import tokens_of
from sqlext.rewriter.text.tokens import STRING

_SETTINGS = (("spark.sql.ansi.doubleQuotedIdentifiers", "false"), ("spark.sql.ansi.enabled", "true"))


@contextmanager
def names_in_backticks(call: SqlCall) -> Iterator[SqlCall]:
    """The call with backticks in place of double quotes around names, as the rest of the package expects.

    Offsets stay the same, and errors that are raised in the `with` block show the text as it was written. A text
    without words of the extended language is left as it is.
    """
    text = in_backticks(call.text) if _has_quoted_names(call) else call.text
    try:
        yield replace(call, text=text)
    except SqlExtError as error:
        if error.place is None or error.place.text != text:  # the error is about another text, such as that of a view
            raise
        raise error.in_text(call.text) from None


def _has_quoted_names(call: SqlCall) -> bool:
    if '"' not in call.text or not might_be_extended(call.text):
        return False
    return all(is_on(call.spark, name, default=default) for name, default in _SETTINGS)


def in_backticks(text: str) -> str:
    """The text with backticks around every name in double quotes. All offsets stay the same: blanks follow a shorter
    name. A name with a backtick in it is left as it is.

    >>> in_backticks('''SELECT "a b".v, 'it "is"' FROM "t""u" x''')
    'SELECT `a b`.v, \\'it "is"\\' FROM `t"u`  x'
    """
    pieces, end = [], 0
    for token in tokens_of(text):
        if token.kind == STRING and token.text[0] == '"' and "`" not in token.text:
            name = "`" + token.text[1:-1].replace('""', '"') + "`"
            pieces += [text[end : token.start], name.ljust(len(token.text))]
            end = token.stop
    return "".join([*pieces, text[end:]])
