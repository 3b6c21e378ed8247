"""Names in double quotes, for sessions with `spark.sql.ansi.doubleQuotedIdentifiers`."""

from __future__ import annotations

from sqlext.rewriter.text.names import tokens_of
from sqlext.rewriter.text.tokens import STRING


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
