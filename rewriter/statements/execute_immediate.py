"""Reads EXECUTE IMMEDIATE and IDENTIFIER(…), where statements and names are given as values, from tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlext.rewriter.heads.statement import Statement
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import tokens_of
from sqlext.rewriter.text.tokens import STRING, Token, Tokens, closing, is_at, split_at_commas, without_semicolons


@dataclass(frozen=True, kw_only=True)
class ExecuteImmediate(Statement):
    """`EXECUTE IMMEDIATE query [INTO variable, …] [USING value [AS name], …]`, each part as written.

    `names` has one entry for each value: its name, or None for a value without a name.
    """

    query: str
    into: str
    values: tuple[str, ...]
    names: tuple[str | None, ...]


def parse_execute_immediate(text: str) -> ExecuteImmediate | None:
    """The parts of EXECUTE IMMEDIATE; None for all other text.

    >>> parse_execute_immediate("EXECUTE IMMEDIATE 'SELECT :a + :b' INTO x USING f(1, 2) AS a, 3 b").values
    ('f(1, 2)', '3')
    """
    tokens = without_semicolons(tokens_of(text))
    if not is_at(tokens, 0, "EXECUTE", "IMMEDIATE"):
        return None
    into = next((i for i, t in enumerate(tokens) if t.word == "INTO" and t.depth == 0), None)
    using = next((i for i, t in enumerate(tokens) if t.word == "USING" and t.depth == 0), len(tokens))
    query_stop = using if into is None else into
    if query_stop <= 2:
        return None
    values = list(_values(text, tokens, using + 1))
    return ExecuteImmediate(
        query=_text(text, tokens, 2, query_stop),
        into="" if into is None else _text(text, tokens, into + 1, using),
        values=tuple(value for value, _ in values),
        names=tuple(name for _, name in values),
    )


def _values(text: str, tokens: Tokens, lo: int) -> Iterator[tuple[str, str | None]]:
    """The values after USING, which may be in parentheses, with their names."""
    hi = len(tokens)
    if is_at(tokens, lo, "(") and closing(tokens, lo) == hi - 1:
        lo, hi = lo + 1, hi - 1
    for start, stop in split_at_commas(tokens, lo, hi) if lo < hi else ():
        last, name = stop, None
        if stop - start > 1 and tokens[stop - 1].is_name and _ends_value(tokens[stop - 2]):
            name, last = tokens[stop - 1].text.strip("`"), stop - 1
            last -= tokens[last - 1].word == "AS"
        yield _text(text, tokens, start, last), name


def _ends_value(token: Token) -> bool:
    """Whether a name that follows this token can be an alias."""
    return token.word in ("AS", ")", "]") or token.kind not in ("symbol", "word") or token.is_name


def _text(text: str, tokens: Tokens, lo: int, hi: int) -> str:
    return Fragment.of_tokens(text, tokens, lo, hi).text if lo < hi else ""


def identifiers(text: str, args: Any) -> Iterator[tuple[Fragment, str]]:
    """Each IDENTIFIER(…) whose argument is a string or a named parameter, and the name that it is replaced by.

    >>> [(f.text, name) for f, name in identifiers("SELECT * FROM IDENTIFIER(:t), identifier('db.u')", {"t": "v"})]
    [('IDENTIFIER(:t)', 'v'), ("identifier('db.u')", 'db.u')]
    """
    tokens = tokens_of(text)
    for i in range(len(tokens)):
        if not is_at(tokens, i, "IDENTIFIER", "("):
            continue
        close = closing(tokens, i + 1) or len(tokens)
        inside = tokens[i + 2 : close]
        value: Any = None
        if len(inside) == 1 and inside[0].kind == STRING:
            value = inside[0].text[1:-1]
        elif len(inside) == 2 and inside[0].text == ":" and isinstance(args, Mapping):
            value = args.get(inside[1].text)
        if isinstance(value, str):
            yield Fragment.of_tokens(text, tokens, i, close + 1), value
