"""The tokens of a statement, with exact offsets: a thin layer over sqlglot's Spark tokenizer.

It removes the differences between sqlglot 26 and 30. In some of these versions `ORDER BY` and `?::` are one token, `3L`
is three tokens at one place, and everything after SHOW, EXPLAIN or CALL is one string. Comments and hints are dropped.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import attrgetter

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError

from sqlext.errors import ParseError, Place
from sqlext.rewriter.text.scopes import ARROW, parameters_of_lambdas

WORD, QUOTED, STRING, NUMBER, SYMBOL = "word", "quoted", "string", "number", "symbol"
OPENING, CLOSING = frozenset("([{"), frozenset(")]}")
GAP = r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)"  # blanks and comments, for regular expressions over whole texts (DOTALL)
QUERY_STARTS = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "MAP", "REDUCE"})
# The words that Spark's tokenizer knows, for highlighting; several words may be one of them: "ORDER BY".
SPARK_KEYWORDS = frozenset(word for word in Spark.tokenizer_class.KEYWORDS if word.replace(" ", "").isidentifier())
SPARK_TYPES = frozenset(
    word for word in SPARK_KEYWORDS if Spark.tokenizer_class.KEYWORDS[word] in Spark.parser_class.TYPE_TOKENS
) - {"INTERVAL", "NULL", "UNION", "UNKNOWN"}

_COMMANDS = frozenset({"COMMAND", "EXECUTE", "FETCH", "RENAME", "SHOW"})
_BEFORE_COMMAND = frozenset({"SEMICOLON", "BEGIN"})
_PARTS_OF_WORD = re.compile(r"\S+")
_PARTS_OF_SYMBOL = re.compile(r"\?|[^?\s]+")
_CLOSED = re.compile(
    r"""(?: (?<!\w)[rR]'[^']*' | (?<!\w)[rR]"[^"]*" | [^'"`/\-] | /(?!\*) | -(?!-) | --[^\n]* | /\*.*?\*/
    | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `[^`]*` )*""",
    re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True, kw_only=True)
class Token:
    """Characters `start` to `stop` (exclusive) of the text; `text` is those characters.

    `kind` is WORD (an unquoted name or keyword), QUOTED (a name in backticks), STRING, NUMBER or SYMBOL. `depth` counts
    the ( [ { around the token; an opening bracket and its closing one have the depth outside of them. `closed_at` is
    the offset of the token that closes the bracket which this token opens, or None. `declared_at`: if the token is the
    parameter of a lambda, the offset at which this parameter is declared, else None. A parameter is neither a keyword
    nor a name that means something outside of its lambda.
    """

    kind: str
    text: str
    start: int
    stop: int
    depth: int
    closed_at: int | None = None
    declared_at: int | None = None

    @cached_property  # read some thirty times for each token of a statement
    def word(self) -> str:
        """The text that a grammar is compared with: a word in upper case, a symbol as it is, "" for anything else."""
        if self.declared_at is not None:
            return ""
        return self.text.upper() if self.kind == WORD else self.text if self.kind == SYMBOL else ""

    @property
    def is_name(self) -> bool:
        """Whether this can be an identifier, other than the parameter of a lambda."""
        return self.kind in (WORD, QUOTED) and self.declared_at is None

    @property
    def may_name(self) -> bool:
        """Whether this can be an identifier in some session, where "a" in double quotes can be one too."""
        return self.is_name or (self.kind == STRING and self.text[0] == '"')


Tokens = tuple[Token, ...]
Piece = tuple[str, int, int]  # the kind, start and stop of a token


@lru_cache(maxsize=16)
def tokenize(text: str) -> Tokens:
    """The tokens of a text.

    Raises ParseError (UNCLOSED_TEXT) if a string, a quoted name or a comment has no end.

    >>> [(t.kind, t.text, t.depth) for t in tokenize("f(`a b`) -- no")]
    [('word', 'f', 0), ('symbol', '(', 0), ('quoted', '`a b`', 1), ('symbol', ')', 0)]
    """
    try:
        pieces = list(_join(text, _pieces(text)))
    except TokenError:
        raise _unclosed(text) from None
    levels = list(_levels(text, pieces))
    closed_at, declared_at = _closed_at(pieces, levels), _declared_at(text, pieces)
    return tuple(
        Token(
            kind=kind,
            text=text[start:stop],
            start=start,
            stop=stop,
            depth=depth,
            closed_at=closed_at.get(i),
            declared_at=declared_at.get(i),
        )
        for i, ((kind, start, stop), (depth, _)) in enumerate(zip(pieces, levels))
    )


def _levels(text: str, pieces: Sequence[Piece]) -> Iterator[tuple[int, bool]]:
    """The depth of each token, and whether the token opens a bracket."""
    depth = 0
    for kind, start, stop in pieces:
        raw = text[start:stop] if kind == SYMBOL else ""
        opened = sum(map(raw.count, "([{"))
        depth -= sum(map(raw.count, ")]}"))
        yield depth, opened > 0
        depth += opened


def _closed_at(pieces: Sequence[Piece], levels: Sequence[tuple[int, bool]]) -> dict[int, int]:
    """The index of each opening bracket → the offset of the token that closes it: the next one that is not deeper."""
    closed_at: dict[int, int] = {}
    open_: list[int] = []
    for i, (depth, opens) in enumerate(levels):
        while open_ and depth <= levels[open_[-1]][0]:
            closed_at[open_.pop()] = pieces[i][1]
        if opens:
            open_.append(i)
    return closed_at


def _declared_at(text: str, pieces: Sequence[Piece]) -> dict[int, int]:
    """The index of each parameter of a lambda → the offset at which it is declared."""
    if ARROW not in text:
        return {}
    declared = parameters_of_lambdas([text[start:stop] for _, start, stop in pieces])
    return {i: pieces[at][1] for i, at in declared.items()}


def _pieces(text: str) -> Iterator[Piece]:
    """(kind, start, stop) of each token, also where sqlglot joins several words or symbols to one, or splits one."""
    last_start = -1
    for type_name, start, stop in _sqlglot_tokens(text):
        if start == last_start or type_name == "HINT":  # 3L comes as 3, ::, BIGINT, all at the place of 3L
            continue
        last_start = start
        kind = _kind(type_name, text[start:stop])
        if kind in (WORD, SYMBOL):
            parts = _PARTS_OF_WORD if kind == WORD else _PARTS_OF_SYMBOL
            yield from ((kind, start + m.start(), start + m.end()) for m in parts.finditer(text[start:stop]))
        else:
            yield kind, start, stop


def _join(text: str, pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Join the pieces that are one token in Spark.

    `'it''s'` is two strings in sqlglot, and `|>` is two symbols in sqlglot 26.
    """
    last: Piece | None = None
    for kind, start, stop in pieces:
        is_string = last is not None and last[0] == kind == STRING and text[last[1]] == text[start] in "'\""
        if last and last[2] == start and (is_string or text[last[1] : stop] == "|>"):
            start, last = last[1], None
        if last:
            yield last
        last = (kind, start, stop)
    if last:
        yield last


def _kind(type_name: str, raw: str) -> str:
    if type_name.endswith("STRING"):
        return STRING
    if raw[0] == "`":
        return QUOTED
    if type_name == "NUMBER":
        return NUMBER
    return WORD if type_name == "VAR" or raw[0] == "_" or raw[0].isalnum() else SYMBOL


def _sqlglot_tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """(type, start, stop) of all tokens; sqlglot starts again after a word that made the rest of the text one token."""
    base, goes_on = 0, True
    while goes_on:
        goes_on, before = False, ""
        # The parenthesis in front keeps a first SHOW or EXPLAIN from being a command.
        for token in Spark().tokenize("(" + text[base:])[1:]:
            name = token.token_type.name
            start, stop = base + token.start - 1, base + token.end
            yield name, start, stop
            if name in _COMMANDS and before in _BEFORE_COMMAND:
                base, goes_on = stop, True
                break
            before = name


def _unclosed(text: str) -> ParseError:
    match = _CLOSED.match(text)
    start = match.end() if match and match.end() < len(text) else 0
    return ParseError(
        "UNCLOSED_TEXT",
        "a string, a quoted name or a comment that begins here has no end",
        place=Place(text, start, start + 1),
    )


def is_at(tokens: Tokens, i: int, *words: str) -> bool:
    """Whether the tokens from token i on are these words."""
    return [token.word for token in tokens[i : i + len(words)]] == list(words)


def words_of(tokens: Sequence[Token]) -> list[str]:
    """The `word` of each token."""
    return [token.word for token in tokens]


def without_semicolons(tokens: Tokens) -> Tokens:
    """The tokens of a statement without the semicolons at its end."""
    stop = len(tokens)
    while stop and tokens[stop - 1].text == ";":
        stop -= 1
    return tokens[:stop]


def closing(tokens: Tokens, opening: int) -> int | None:
    """The index of the token that closes the parenthesis at `opening`; None if there is none.

    >>> closing(tokenize("f(a, (b))"), 1)
    7
    """
    closed_at = tokens[opening].closed_at
    close = len(tokens) if closed_at is None else index_at(tokens, closed_at)
    return close if close < len(tokens) else None


def closed(text: str, tokens: Tokens, opening: int, *, hint: str | None = None) -> int:
    """As `closing`. Raises ParseError UNCLOSED_PARENTHESIS if there is no such token."""
    close = closing(tokens, opening)
    if close is None:
        raise unclosed(text, tokens[opening], hint=hint)
    return close


def unclosed(text: str, opening: Token, *, hint: str | None = None) -> ParseError:
    """The error for a parenthesis that is not closed."""
    place = Place(text, opening.start, opening.start + 1)
    return ParseError("UNCLOSED_PARENTHESIS", "this parenthesis is not closed", place=place, hint=hint)


def directly_inside(tokens: Tokens, opening: int) -> Iterator[int]:
    """The indexes of the tokens between the bracket at `opening` and its end, without tokens inside further brackets.

    >>> tokens = tokenize("f(a, (b), c")
    >>> [tokens[i].text for i in directly_inside(tokens, 1)]
    ['a', ',', '(', ')', ',', 'c']
    """
    stop, i = closing(tokens, opening) or len(tokens), opening + 1
    while i < stop:
        yield i
        i = (closing(tokens, i) or stop) if tokens[i].closed_at is not None else i + 1


def split_at_commas(tokens: Tokens, lo: int, hi: int) -> Iterator[tuple[int, int]]:
    """The ranges of tokens `lo` to `hi` between the commas that are in no brackets; a range may be empty.

    >>> list(split_at_commas(tokenize("a, f(b, c), "), 0, 9))
    [(0, 1), (2, 8), (9, 9)]
    """
    depth = min((t.depth for t in tokens[lo:hi]), default=0)
    commas = [i for i in range(lo, hi) if tokens[i].text == "," and tokens[i].depth == depth]
    return zip([lo, *(c + 1 for c in commas)], [*commas, hi])


def index_at(tokens: Tokens, offset: int) -> int:
    """The index of the first token that starts at character `offset` or later."""
    return bisect_left(tokens, offset, key=attrgetter("start"))


def tokens_inside(tokens: Tokens, start: int, stop: int) -> Tokens:
    """The tokens at characters `start` to `stop` (exclusive)."""
    return tokens[index_at(tokens, start) : index_at(tokens, stop)]
