"""Names in SQL text: how they are written, quoted and compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from sqlext.errors import ParseError
from sqlext.rewriter.text.fragments import Fragment, Name
from sqlext.rewriter.text.tokens import WORD, Token, tokenize

Parts = tuple[str, ...]

QUOTED_HINT = (
    'Spark reads "…" as a string: write the name in backticks, or SET spark.sql.ansi.doubleQuotedIdentifiers = true.'
)
_NOT_NAMES = frozenset({
    "SELECT", "FROM", "WHERE", "WITH", "VALUES", "TABLE", "LATERAL", "STREAM", "JOIN", "ON", "USING", "AS", "INTO",
    "SET", "UNION", "EXCEPT", "INTERSECT", "MINUS",
})  # fmt: skip


@dataclass(frozen=True)
class RelationName:
    """A name of up to three parts at characters `start` to `stop` (exclusive) of a text."""

    parts: Parts
    start: int
    stop: int


def tokens_of(text: str) -> tuple[Token, ...]:
    """The tokens of a text; none if a string or comment in it has no end, which Spark itself reports best."""
    try:
        return tokenize(text)
    except ParseError:
        return ()


def split_name(name: str) -> Parts:
    """The parts of a dotted name, without backticks.

    >>> split_name("`my db`.v")
    ('my db', 'v')
    """
    parsed = name_at(tokens_of(name), 0)
    return parsed.parts if parsed else (name,)


def quoted(name: str) -> str:
    """A name in backticks."""
    return "`" + name.replace("`", "``") + "`"


def quoted_if_needed(name: str) -> str:
    """A name as it is written in a statement.

    >>> quoted_if_needed("a"), quoted_if_needed("a b")
    ('a', '`a b`')
    """
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else quoted(name)


def unquoted(raw: str) -> str:
    """A name without its backticks."""
    return raw[1:-1].replace("``", "`") if raw.startswith("`") else raw


def quote(parts: Parts) -> str:
    """The parts of a name in backticks, with dots between them.

    >>> quote(("my db", "v"))
    '`my db`.`v`'
    """
    return ".".join(map(quoted, parts))


def repeated(names: Iterable[str]) -> frozenset[str]:
    """The names, in lower case, that occur more than once in `names`.

    >>> repeated(("k", "v", "K"))
    frozenset({'k'})
    """
    count = Counter(name.lower() for name in names)
    return frozenset(name for name in count if count[name] > 1)


def name_at(tokens: tuple[Token, ...], index: int) -> RelationName | None:
    """The dotted name that begins with token `index`, or None if none begins there."""
    parts: list[str] = []
    last = index
    while last < len(tokens) and tokens[last].is_name and tokens[last].word not in _NOT_NAMES:
        parts.append(unquoted(tokens[last].text))
        if last + 1 >= len(tokens) or tokens[last + 1].word != ".":
            return RelationName(tuple(parts), tokens[index].start, tokens[last].stop)
        last += 2
    return None


def name_of(source: str, token: Token) -> Name:
    """The name that a token of `source` is.

    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> [name_of("a `b c`", t).key for t in tokenize("a `b c`")]
    ['A', 'b c']
    """
    name = Name("", Fragment(source, token.start, token.stop), is_quoted=token.kind != WORD)
    return Name(name.text if name.is_quoted else name.text.upper(), name.fragment, name.is_quoted)


def column_name(text: str) -> str:
    """The name of the column if an expression is one, otherwise the expression.

    >>> column_name("e.`card no`"), column_name("upper(card)")
    ('card no', 'upper(card)')
    """
    name = only_column(text)
    return text if name is None else name


def only_column(text: str) -> str | None:
    """The name of the column that an expression is, without its qualifiers; None for another expression.

    >>> only_column("e.`a.b`"), only_column("((a))"), only_column("a + b")
    ('a.b', 'a', None)
    """
    tokens = tokens_of(text)
    while len(tokens) > 2 and tokens[0].text == "(" and tokens[-1].text == ")":
        tokens = tokens[1:-1]
    name = name_at(tokens, 0)
    return name.parts[-1] if name is not None and 2 * len(name.parts) - 1 == len(tokens) else None
