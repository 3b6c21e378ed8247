"""WHERE in texts for Spark."""

from __future__ import annotations

import re

from sqlext.rewriter.text.splice import Text, TextLike, join

_NAME_IN_PARENTHESES = re.compile(r"\(\s*(\w+|`(?:[^`]|``)+`)\s*\)")


def where(condition: TextLike) -> Text:
    """WHERE and a condition, so that it filters. Spark reads a name in parentheses, as in `FROM t WHERE (a)`, as the
    alias WHERE of the relation and the name of its column.

    >>> str(where("(a)")), str(where("(a) = 1"))
    ('WHERE a', 'WHERE (a) = 1')
    """
    text = join(condition)
    name = _NAME_IN_PARENTHESES.fullmatch(str(text).strip())
    if name is None:
        return join("WHERE ", text)
    start = str(text).index(name[1])
    return join("WHERE ", text.part(start, start + len(name[1])))
