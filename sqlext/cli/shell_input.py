"""What the shell finds in a text while it is typed: whether it is complete, and which words may come next."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from sqlext.cli.shell_commands import NAMES, is_command
from sqlext.errors import ParseError
from sqlext.formatting.function_records import function_records
from sqlext.rewriter.statements.script import semicolons
from sqlext.rewriter.text.names import quoted_if_needed
from sqlext.rewriter.text.tokens import tokenize
from sqlext.rewriter.tree.sources import relations

KEYWORDS = tuple(sorted("""
AFTER MATCH SKIP PAST LAST ROW TO NEXT|ALL ROWS PER MATCH|ALTER|AND|AS|ASC|ASOF JOIN|BETWEEN|BY|CASE|CAST|CLASSIFIER|
CREATE OR REPLACE TEMP VIEW|CREATE PATTERN RULE|CREATE STREAMING TABLE|CREATE TABLE|CREATE VIEW|CUMULATE|DEFINE|DELETE
FROM|DESC|DESCRIBE|DESCRIPTOR|DISTINCT|DROP TABLE|DROP VIEW|ELSE|EMIT AFTER WATERMARK|EMIT EARLY EVERY|END|EXPLAIN
MATCH|FINAL|FIRST|FROM|FULL JOIN|GROUP BY|HAVING|HOP|INNER JOIN|INSERT INTO|INTERVAL|INTERVAL JOIN|IS NOT NULL|IS NULL|
JOIN|LAST|LEFT ASOF JOIN|LEFT INTERVAL JOIN|LEFT JOIN|LIKE|LIMIT|MATCH_CONDITION|MATCH_NUMBER|MATCH_RECOGNIZE|
MATCH_ROWTIME|MATCH_RULES|MEASURES|MERGE INTO|NEAREST|NEXT|NOT|NULL|ON|ONE ROW PER MATCH|OR|ORDER BY|OVER|PARTITION
BY|PATTERN|PREV|REFRESH STREAMING TABLE|RUNNING|SELECT|SESSION|SET|SHOW PATTERN RULES|SHOW STREAMING TABLES|SHOW TABLES|
STOP STREAMING TABLE|STREAM|SUBSET|THEN|TIMESTAMP|TUMBLE|UNION ALL|UPDATE|UPSERT KEY|USING|VALUES|WATERMARK|WHEN|WHERE|
WINDOW|WITH|WITHIN INTERVAL
""".replace("\n", " ").replace("| ", "|").strip().split("|")))  # fmt: skip
_FUNCTIONS = tuple(r for r in function_records() if r.is_call and r.name not in KEYWORDS)
_BEFORE_RELATION = re.compile(r"\b(?:FROM|JOIN|INTO|TABLE|STREAM)\s+[\w`]*$", re.IGNORECASE)
_WORD = re.compile(r"[\w.`]+$")


def is_complete(text: str) -> bool:
    """Return True if Enter runs the text: a command, an empty text, or statements with a semicolon after the last.

    >>> [is_complete(text) for text in ("SELECT 1", "SELECT ';", "SELECT 1; -- end", "BEGIN SELECT 1;", ".help", "")]
    [False, False, True, False, True, True]
    """
    if not text.strip() or is_command(text):
        return True
    try:
        tokens = tokenize(text)
    except ParseError:
        return False
    if not tokens:
        return False
    first = max((i + 1 for i, token in enumerate(tokens[:-1]) if token.word == ";"), default=0)
    scripts = [i for i, token in enumerate(tokens) if token.word == "BEGIN" and (i == 0 or tokens[i - 1].word == ";")]
    start = scripts[0] if scripts else first
    return tokens[-1].word == ";" and len(tokens) - 1 - start in set(semicolons(tokens[start:]))


class CompletionNames:
    """The tables and columns that can be completed, which are read when they are first needed.

    `list_tables` and `list_columns` query the session; they may fail.
    """

    def __init__(self, list_tables: Callable[[], Iterable[str]], list_columns: Callable[[str], Iterable[str]]):
        self.list_tables, self.list_columns = list_tables, list_columns
        self.forget()

    def forget(self) -> None:
        """Forget the names, because a statement may have changed them."""
        self._tables: list[str] | None = None
        self._columns: dict[str, list[str]] = {}

    def tables(self) -> list[str]:
        if self._tables is None:
            self._tables = []
            with suppress(Exception):  # an error in completion must never end the shell
                self._tables = sorted(self.list_tables())
        return self._tables

    def columns(self, table: str) -> list[str]:
        if table not in self._columns:
            self._columns[table] = []
            with suppress(Exception):
                self._columns[table] = list(self.list_columns(table))
        return self._columns[table]


class SqlCompleter(Completer):
    """Completes commands, keywords, functions, tables, and the columns of the tables that the text names."""

    def __init__(self, names: CompletionNames):
        self.names = names

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """The words that begin with the word before the cursor."""
        text = document.text_before_cursor
        if is_command(text) and " " not in text.strip():
            yield from (Completion(c, -len(text.lstrip())) for c in NAMES if c.startswith(text.lstrip()))
            return
        match = _WORD.search(text)
        word = match[0] if match else ""
        last = word.rpartition(".")[2]
        if not word and not complete_event.completion_requested:
            return
        for name, kind in self._names(document.text, text, word):
            if name.lower().startswith((word if kind == "table" else last).lower()) and name != word:
                yield Completion(name, -len(word if kind == "table" else last), display_meta=kind)

    def _names(self, text: str, before: str, word: str) -> Iterator[tuple[str, str]]:
        """Pairs of a name and its kind, or a description, the nearest first."""
        tables = self.names.tables()
        known = {table.lower(): table for table in tables}
        for name in _relations(text):
            table = known.get(name.lower())
            if table is not None:
                yield from ((quoted_if_needed(column), "column") for column in self.names.columns(table))
        yield from ((table, "table") for table in tables)
        if "." not in word and word:
            yield from ((keyword, "") for keyword in KEYWORDS)
            if not _BEFORE_RELATION.search(before):
                yield from ((record.name, record.description) for record in _FUNCTIONS)


def _relations(text: str) -> list[str]:
    """The names of the relations in a text that may be incomplete."""
    with suppress(ParseError, IndexError):
        return list(dict.fromkeys(".".join(name.parts) for name in relations(text)))
    return []
