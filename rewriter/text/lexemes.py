"""The words of a scalar expression, with bound parameters in their places."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.splice import Source
from sqlext.rewriter.text.tokens import QUERY_STARTS, tokenize

# The words that begin a subquery after a parenthesis in an expression. MAP and REDUCE begin queries too, but in an
# expression they are functions.
SUBQUERY_STARTS = QUERY_STARTS - {"MAP", "REDUCE"}  # which are functions where an expression may be
BEFORE_ALL_COLUMNS = frozenset({"(", ",", ".", "SELECT", "DISTINCT"})  # after an operand * multiplies
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[0-3][0-7]{2}|.)", re.DOTALL)
_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


@dataclass(frozen=True, kw_only=True)
class Lexeme:
    """Characters `start` to `stop` (exclusive) of the user's text; `raw` is the literal of a bound parameter.

    `declared_at`: if this is the parameter of a lambda, the place where this parameter is declared, else None.
    """

    raw: str
    start: int
    stop: int
    is_parameter: bool = False
    declared_at: int | None = None

    @property
    def word(self) -> str:
        return self.raw.upper() if self.declared_at is None else ""

    @property
    def is_name(self) -> bool:
        """Whether this can be an identifier, other than the parameter of a lambda."""
        return not self.is_literal and self.declared_at is None and (self.raw[0] in "`_" or self.raw[0].isalpha())

    @property
    def is_literal(self) -> bool:
        return self.is_parameter or self.raw[0].isdigit() or self.raw[-1] in "'\""  # also r'…' and X'…'


def variable_key(raw: str) -> str:
    """The key by which names of pattern variables are compared."""
    return unquoted(raw) if raw.startswith("`") else raw.upper()


def lexemes(fragment: Fragment, source: Source | None = None) -> list[Lexeme]:
    """The words of a fragment; a literal like `3L` is one lexeme, and so is each replacement of `source`."""
    text = fragment.source
    result: list[Lexeme] = []
    edits = source.edits if source else ()
    for token in tokenize(fragment.text):
        start, stop = fragment.start + token.start, fragment.start + token.stop
        edit = next((e for e in edits if e.start <= start < e.stop), None)
        declared_at = None if token.declared_at is None else fragment.start + token.declared_at
        lexeme = Lexeme(raw=text[start:stop], start=start, stop=stop, declared_at=declared_at)
        if edit is not None:
            lexeme = Lexeme(raw=str(edit.replacement), start=edit.start, stop=edit.stop, is_parameter=True)
        if not result or result[-1].start != lexeme.start:
            result.append(lexeme)
    return result


def names_in(fragment: Fragment) -> set[str]:
    """All names in a fragment, in lower case, whatever they refer to."""
    return {unquoted(x.raw).lower() for x in lexemes(fragment) if x.is_name}


def string_literal(text: str) -> str:
    """Text as a literal in Spark SQL.

    >>> print(string_literal("it's"))
    'it\\'s'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def string_value(raw: str) -> str:
    """The text of a literal in quotes, in which two quotes are one and a backslash escapes, or of `r'…'`.

    >>> string_value("'it''s'"), string_value(string_literal("it's")), string_value("r'it'")
    ("it's", "it's", 'it')
    """
    if raw[0] in "rR":
        return raw[2:-1]
    return _ESCAPE.sub(_escaped, raw[1:-1].replace(raw[0] * 2, raw[0]))


def _escaped(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "uU" and len(code) > 1:
        return chr(int(code[1:], 16))
    if len(code) == 3:
        return chr(int(code, 8))
    return _ESCAPES.get(code, code)
