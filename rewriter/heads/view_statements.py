"""Reads statements about one view (DESCRIBE, SHOW CREATE TABLE, CACHE TABLE, ALTER VIEW) and lists of views."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlext.rewriter.heads.statement import Statement
from sqlext.rewriter.text.cursor import Cursor
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import string_value
from sqlext.rewriter.text.names import Parts, RelationName, tokens_of
from sqlext.rewriter.text.tokens import closing, without_semicolons

DESCRIBE, SHOW_CREATE, SHOW_COLUMNS, SHOW_PROPERTIES = (
    "DESCRIBE",
    "SHOW CREATE TABLE",
    "SHOW COLUMNS",
    "SHOW TBLPROPERTIES",
)
CACHE, UNCACHE, REFRESH = "CACHE TABLE", "UNCACHE TABLE", "REFRESH TABLE"
ALTER_AS, RENAME = "ALTER VIEW … AS", "ALTER VIEW … RENAME TO"


@dataclass(frozen=True, kw_only=True)
class ViewStatement(Statement):
    """A statement about the view or table `name`.

    `is_extended` is true for DESCRIBE EXTENDED or FORMATTED, `is_lazy` for CACHE LAZY TABLE. `column` is the column
    that DESCRIBE names, `query` the query after ALTER VIEW … AS, `new_name` the name after RENAME TO.
    """

    verb: str
    name: RelationName
    is_extended: bool = False
    is_lazy: bool = False
    column: str | None = None
    query: Fragment | None = None
    new_name: Parts = ()


@dataclass(frozen=True, kw_only=True)
class CachedQuery(Statement):
    """`CACHE [LAZY] TABLE name [OPTIONS (…)] [AS] query`.

    `cache_view` is the same statement for a view that already exists.
    """

    name: RelationName
    cache_view: str
    query: Fragment


@dataclass(frozen=True)
class Listing(Statement):
    """SHOW VIEWS, SHOW TABLES or SHOW TABLE EXTENDED for the names in `schema` that match `pattern`.

    An empty `schema` is the current one. `has_tables` is false for SHOW VIEWS.
    """

    schema: Parts
    pattern: str
    is_extended: bool = False
    has_tables: bool = True


def parse_view_statement(text: str) -> ViewStatement | None:
    """A statement about one view or table; None for all other text, and for forms that stored views do not have.

    >>> statement = parse_view_statement("DESC EXTENDED db.v")
    >>> statement.verb, statement.name.parts, statement.is_extended
    ('DESCRIBE', ('db', 'v'), True)
    >>> parse_view_statement("ALTER VIEW v AS SELECT 1;").query.text, parse_view_statement("CACHE TABLE v AS SELECT 1")
    ('SELECT 1', None)
    """
    cursor = Cursor(without_semicolons(tokens_of(text)))
    if cursor.take("ALTER", "VIEW"):
        return _alteration(text, cursor)
    verb = next((verb for words, verb in _VERBS if cursor.take(*words)), None)
    if verb is None:
        return None
    is_lazy = cursor.take("LAZY") and cursor.take("TABLE")
    is_extended = verb == DESCRIBE and cursor.take_one_of(("EXTENDED", "FORMATTED"))
    name = cursor.take_name()
    if name is None:
        return None
    column = cursor.take_part() if verb == DESCRIBE else None
    if not cursor.is_at_end:
        return None
    return ViewStatement(verb=verb, name=name, is_extended=is_extended, is_lazy=is_lazy, column=column)


def parse_cache(text: str) -> CachedQuery | ViewStatement | None:
    """CACHE TABLE with or without a query; None for all other text.

    >>> cached = parse_cache("CACHE LAZY TABLE v OPTIONS ('storageLevel' = 'DISK_ONLY') AS SELECT 1;")
    >>> cached.name.parts, cached.cache_view, cached.query.text
    (('v',), "CACHE LAZY TABLE v OPTIONS ('storageLevel' = 'DISK_ONLY') ", 'SELECT 1')
    """
    tokens = without_semicolons(tokens_of(text))
    cursor = Cursor(tokens)
    if not cursor.take("CACHE"):
        return None
    cursor.take("LAZY")
    name = cursor.take_name() if cursor.take("TABLE") else None
    if name is not None and cursor.take("OPTIONS"):
        close = None if cursor.is_at_end else closing(tokens, cursor.index)
        cursor.index = len(tokens) if close is None else close + 1
    stop = len(text) if cursor.is_at_end else tokens[cursor.index].start
    cursor.take("AS")
    if name is None or cursor.is_at_end:
        return parse_view_statement(text)
    query = Fragment.of_tokens(text, tokens, cursor.index, len(tokens))
    return CachedQuery(name=name, cache_view=text[:stop], query=query)


_VERBS = (
    (("DESCRIBE", "TABLE"), DESCRIBE),
    (("DESCRIBE",), DESCRIBE),
    (("DESC", "TABLE"), DESCRIBE),
    (("DESC",), DESCRIBE),
    (("SHOW", "CREATE", "TABLE"), SHOW_CREATE),
    (("SHOW", "COLUMNS", "IN"), SHOW_COLUMNS),
    (("SHOW", "COLUMNS", "FROM"), SHOW_COLUMNS),
    (("SHOW", "TBLPROPERTIES"), SHOW_PROPERTIES),
    (("UNCACHE", "TABLE", "IF", "EXISTS"), UNCACHE),
    (("UNCACHE", "TABLE"), UNCACHE),
    (("CACHE", "TABLE"), CACHE),
    (("CACHE",), CACHE),
    (("REFRESH", "TABLE"), REFRESH),
)


def _alteration(text: str, cursor: Cursor) -> ViewStatement | None:
    name = cursor.take_name()
    if name is None:
        return None
    if cursor.take("AS") and not cursor.is_at_end:
        query = Fragment.of_tokens(text, cursor.tokens, cursor.index, len(cursor.tokens))
        return ViewStatement(verb=ALTER_AS, name=name, query=query)
    new_name = cursor.take_name() if cursor.take("RENAME", "TO") else None
    return ViewStatement(verb=RENAME, name=name, new_name=new_name.parts) if new_name and cursor.is_at_end else None


def parse_listing(text: str) -> Listing | None:
    """SHOW VIEWS, SHOW TABLES or SHOW TABLE EXTENDED; None for all other text.

    >>> parse_listing("SHOW VIEWS IN db LIKE 'a*'"), parse_listing("SHOW FUNCTIONS")
    (Listing(schema=('db',), pattern='a*', is_extended=False, has_tables=False), None)
    """
    cursor = Cursor(tokens_of(text))
    is_extended = cursor.take("SHOW", "TABLE", "EXTENDED")
    is_of_views = not is_extended and cursor.take("SHOW", "VIEWS")
    if not is_extended and not is_of_views and not cursor.take("SHOW", "TABLES"):
        return None
    schema = cursor.take_name() if cursor.take_one_of(("FROM", "IN")) else None
    cursor.take("LIKE")
    pattern = cursor.take_string()
    if is_extended and "PARTITION" in text.upper():
        return None  # This form is about one table.
    like = string_value(pattern) if pattern else "*"
    return Listing(schema.parts if schema else (), like, is_extended, not is_of_views)


def fits(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern of SHOW; the case is ignored.

    In the pattern `*` matches any characters, and `|` separates alternatives.

    >>> [fits("runs", pattern) for pattern in ("*", "R*", "x|r*s", "r")]
    [True, True, True, False]
    """
    return any(re.fullmatch(re.escape(p.strip()).replace(r"\*", ".*"), name, re.IGNORECASE) for p in pattern.split("|"))
