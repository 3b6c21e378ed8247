"""Splits a script, `BEGIN … END`, into its statements, and finds the relations that the script itself creates.

Of Spark's grammar of scripts (SqlBaseParser.g4, `compoundBody`), only the places where blocks begin and end are read.
The top-level statements of a script without declarations may be run one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlext.errors import Place, UnsupportedError
from sqlext.rewriter.text.fragments import Fragment, alone, blank
from sqlext.rewriter.text.names import name_at
from sqlext.rewriter.text.nesting import first_too_deep
from sqlext.rewriter.text.tokens import (
    QUERY_STARTS,
    Tokens,
    index_at,
    is_at,
    tokenize,
    tokens_inside,
    without_semicolons,
)
from sqlext.rewriter.tree.read_tree import read_tree
from sqlext.rewriter.tree.sources import relations

_BLOCKS = frozenset({"BEGIN", "IF", "CASE", "WHILE", "REPEAT", "LOOP", "FOR"})
_BEFORE_STATEMENT = frozenset({";", ":", "BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT"})
_CHANGES = frozenset({"CREATE", "REPLACE", "DROP", "ALTER", "CACHE", "USE", "EXECUTE"})
_BEFORE_NAME = frozenset({
    "OR", "REPLACE", "GLOBAL", "TEMP", "TEMPORARY", "STREAMING", "REFRESH", "EXTERNAL", "LAZY", "TABLE", "VIEW", "IF",
    "NOT", "EXISTS",
})  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ScriptStatement:
    """Characters `start` to `stop` (exclusive) of the script `text`; `word` is the first word of the statement."""

    text: str
    start: int
    stop: int
    word: str

    @property
    def is_query(self) -> bool:
        """Whether the statement returns a result, instead of only having an effect."""
        return self.word in QUERY_STARTS or self.word == "("

    @property
    def is_block(self) -> bool:
        """Whether the statement exists only in scripts: Spark runs it only between BEGIN and END."""
        return self.word in _BLOCKS or self.word == "SET"

    @property
    def alone(self) -> str:
        """The script with all other statements replaced by blanks, so that every offset and line stays the same.

        >>> first, second = read_script("BEGIN SELECT 1; SET x = 2; END")
        >>> first.alone, second.alone
        ('      SELECT 1', 'BEGIN           SET x = 2; END')
        """
        statement = alone(self.text, self.start, self.stop)
        if not self.is_block or self.word == "BEGIN":
            return statement
        begin, end = tokenize(self.text)[0], without_semicolons(tokenize(self.text))[-1]
        after = blank(self.text[self.stop + 1 : end.start])
        return f"{statement[: begin.start]}{begin.text}{statement[begin.stop :]};{after}END"


def read_script(text: str) -> tuple[ScriptStatement, ...]:
    """The statements at the top level of a script.

    Empty for other text, and for a script that must be run by Spark as a whole: one that has declarations, labels or
    too deep blocks, or that consists of a single block.

    >>> [s.word for s in read_script("BEGIN SELECT 1; IF x THEN SELECT CASE WHEN y THEN 2 END; END IF; END;")]
    ['SELECT', 'IF']
    >>> read_script("BEGIN DECLARE x INT; SELECT x; END"), read_script("BEGIN a: LOOP SELECT 1; END LOOP; END")
    ((), ())
    >>> [s.word for s in read_script("BEGIN SELECT :x; SELECT 2; END")]
    ['SELECT', 'SELECT']
    """
    tokens = tokenize(text)
    return () if first_too_deep(tokens) is not None else _read(text, tokens)


def flat_statements(text: str) -> Iterator[ScriptStatement]:
    """The statements of a script, where each block BEGIN … END is replaced by the statements inside it.

    Empty in the same cases as `read_script`.

    >>> [s.word for s in flat_statements("BEGIN SELECT 1; BEGIN TABLE t; BEGIN DECLARE x INT; END; END; END")]
    ['SELECT', 'TABLE', 'BEGIN']
    """
    unread = list(reversed(read_script(text)))
    while unread:
        statement = unread.pop()
        inside = _read(text, tokens_inside(tokenize(text), statement.start, statement.stop))
        unread += reversed(inside)
        if not inside:
            yield statement


def _read(text: str, tokens: Tokens) -> tuple[ScriptStatement, ...]:
    tokens = without_semicolons(tokens)
    if len(tokens) < 2 or tokens[0].word != "BEGIN" or tokens[-1].word != "END":
        return ()
    statements = tuple(_statements(text, tokens[1:-1]))
    is_whole = any(s.word == "DECLARE" or _is_labelled(tokens, index_at(tokens, s.start)) for s in statements)
    is_one_block = len(statements) == 1 and statements[0].is_block and statements[0].word != "BEGIN"
    return () if is_whole or is_one_block else statements


def _is_labelled(tokens: Tokens, i: int) -> bool:
    """Whether token i is a label, as in `label: BEGIN`, and not the SELECT of `SELECT :parameter`."""
    return is_at(tokens, i + 1, ":") and len(tokens) > i + 2 and tokens[i + 2].word in _BLOCKS


def _statements(text: str, tokens: Tokens) -> Iterator[ScriptStatement]:
    """The statements between the semicolons that are outside of all blocks."""
    first = 0
    for i in semicolons(tokens):
        if first < i:
            yield _statement(text, tokens, first, i)
        first = i + 1


def semicolons(tokens: Tokens) -> Iterator[int]:
    """The indexes of semicolons outside of all blocks, then the number of tokens, where the last statement ends."""
    blocks: list[str] = []
    for i, token in enumerate(tokens):
        before = tokens[i - 1].word if i else ";"
        if before == "END" and token.word in _BLOCKS:  # END IF
            continue
        begins = before in _BEFORE_STATEMENT and (not blocks or blocks[-1] != "expression")
        if token.word == "CASE" and not begins:
            blocks.append("expression")
        elif token.word in _BLOCKS and begins:
            blocks.append(token.word)
        elif token.word == "END" and blocks:
            blocks.pop()
        elif token.word == ";" and not blocks:
            yield i
    yield len(tokens)


def _statement(text: str, tokens: Tokens, first: int, after: int) -> ScriptStatement:
    start, stop = tokens[first].start, tokens[after - 1].stop
    return ScriptStatement(text=text, start=start, stop=stop, word=tokens[first].word)


def check_bound_before(text: str, readers: list[Fragment]) -> None:
    """Raise UnsupportedError (SCRIPT_RELATION) if a clause or join of a script reads a relation that it changes.

    To change a relation is to create, replace, alter or drop it. `readers` are the clauses and joins; all of them are
    bound before the script runs.
    """
    tokens = read_tree(text).tokens
    if not readers or not tokens or tokens[0].word != "BEGIN":
        return
    changes = dict(_changes(tokens))
    for name in relations(text):
        reads = any(reader.start <= name.start < reader.stop for reader in readers)
        key = name.parts[-1].lower()
        if reads and (key in changes or "" in changes):
            word = changes.get(key) or changes[""]
            change = f"{word} in this script may change what {name.parts[-1]} is"
            raise UnsupportedError(
                "SCRIPT_RELATION",
                f"{change}, and the clause is bound before the script runs",
                place=Place(text, name.start, name.stop),
                hint="without DECLARE, IF and loops around them each statement of a script is bound when it runs.",
            )


def _changes(tokens: Tokens) -> Iterator[tuple[str, str]]:
    """(name in lower case, first word) of each relation that a script changes.

    The name is "" for a statement that may change any relation.
    """
    for i, token in enumerate(tokens):
        if token.word not in _CHANGES or (i and tokens[i - 1].word not in _BEFORE_STATEMENT):
            continue
        if token.word in ("USE", "EXECUTE"):
            yield "", token.word
        k = i + 1
        while k < len(tokens) and tokens[k].word in _BEFORE_NAME:
            k += 1
        name = name_at(tokens, k)
        if name is not None:
            yield name.parts[-1].lower(), token.word
