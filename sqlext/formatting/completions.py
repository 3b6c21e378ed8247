"""The words that may come next in a text that is typed, in the shell and in editors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from sqlext.errors import ParseError
from sqlext.formatting.function_records import function_records
from sqlext.rewriter.text.names import quoted_if_needed
from sqlext.rewriter.text.tokens import is_at, tokenize
from sqlext.rewriter.tree.sources import relations

KEYWORDS = tuple(sorted("""
AFTER MATCH SKIP PAST LAST ROW TO NEXT|AGGREGATE|ALL ROWS PER MATCH|ALTER|AND|AS|ASC|ASOF JOIN|BETWEEN|BY|CASE|CAST|
CLASSIFIER|CREATE MATERIALIZED VIEW|CREATE OR REPLACE TEMP VIEW|CREATE PATTERN RULE|CREATE STREAMING TABLE|
CREATE TABLE|CREATE VIEW|CUMULATE|DEFINE|DELETE FROM|DESC|DESCRIBE|DESCRIPTOR|DISTINCT|DROP TABLE|DROP VIEW|ELSE|
EMIT AFTER WATERMARK|EMIT EARLY EVERY|END|EXPLAIN MATCH|FINAL|FIRST|FROM|FULL JOIN|GROUP BY|HAVING|HOP|
INCLUDING PREVAILING|INNER JOIN|INSERT INTO|INTERVAL|INTERVAL JOIN|IS NOT NULL|IS NULL|JOIN|LAST|LEFT ASOF JOIN|
LEFT INTERVAL JOIN|LEFT JOIN|LIKE|LIMIT|MATCH_CONDITION|MATCH_NUMBER|MATCH_RECOGNIZE|MATCH_ROWTIME|MATCH_RULES|
MEASURES|MERGE INTO|NEAREST|NEXT|NOT|NULL|ON|ONE ROW PER MATCH|OR|ORDER BY|OVER|PARTITION BY|PATTERN|PREV|
REFRESH MATERIALIZED VIEW|REFRESH STREAMING TABLE|RUNNING|SELECT|SESSION|SET|SHOW MATERIALIZED VIEWS|
SHOW PATTERN RULES|SHOW STREAMING TABLES|SHOW TABLES|STOP STREAMING TABLE|STREAM|SUBSET|THEN|TIMESTAMP|TUMBLE|
UNION ALL|UPDATE|UPSERT KEY|USING|VALUES|WATERMARK|WHEN|WHERE|WINDOW|WITH|WITHIN INTERVAL
""".replace("\n", " ").replace("| ", "|").strip().split("|")))  # fmt: skip
_FUNCTIONS = tuple(r for r in function_records() if r.is_call and r.name not in KEYWORDS)
_BEFORE_RELATION = re.compile(r"\b(?:FROM|JOIN|INTO|TABLE|STREAM)\s+[\w`]*$", re.IGNORECASE)
_WORD = re.compile(r"[\w.`]+$")


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


def pattern_variables(text: str) -> list[str]:
    """The variables in the PATTERN of a text that may be incomplete, in order.

    >>> pattern_variables("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (strt (down+ | `my up`){2,}) DEFINE d")
    ['strt', 'down', '`my up`']
    """
    try:
        tokens = tokenize(text)
    except ParseError:
        return []
    names: dict[str, None] = {}
    for i in (i for i, token in enumerate(tokens) if token.word == "PATTERN" and is_at(tokens, i + 1, "(")):
        end = next((k for k in range(i + 2, len(tokens)) if tokens[k].depth <= tokens[i].depth), len(tokens))
        names |= {t.text: None for t in tokens[i + 2 : end] if t.is_name and t.word not in ("PERMUTE", "UNTIL")}
    return list(names)


def completions(names: CompletionNames, text: str, before: str, *, is_asked: bool) -> Iterator[tuple[str, str, int]]:
    """The words that begin with the last word of `before`, the part of `text` before the cursor.

    Each has its kind, or a description, and the number of characters that it replaces. `is_asked`: also where no word
    has begun.
    """
    match = _WORD.search(before)
    word = match[0] if match else ""
    last = word.rpartition(".")[2]
    if not word and not is_asked:
        return
    for name, kind in _names(names, text, before, word):
        begun = word if kind == "table" else last
        if name.lower().startswith(begun.lower()) and name != word:
            yield name, kind, len(begun)


def _names(names: CompletionNames, text: str, before: str, word: str) -> Iterator[tuple[str, str]]:
    """Pairs of a name and its kind, or a description, the nearest first."""
    tables = names.tables()
    known = {table.lower(): table for table in tables}
    for name in _relations(text):
        table = known.get(name.lower())
        if table is not None:
            yield from ((quoted_if_needed(column), "column") for column in names.columns(table))
    if "." not in word:
        yield from ((variable, "pattern variable") for variable in pattern_variables(text))
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
