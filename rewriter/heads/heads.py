"""Reads the heads of CREATE and DROP VIEW and DROP TABLE from tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlext.errors import ParseError, Place, UnsupportedError
from sqlext.rewriter.text.cursor import Cursor
from sqlext.rewriter.text.fragments import alone
from sqlext.rewriter.text.names import RelationName, tokens_of

CREATE_VIEW, DROP_VIEW, DROP_TABLE = "CREATE VIEW", "DROP VIEW", "DROP TABLE"

# Leading blanks and comments, then one of two verbs; a statement that does not match is not tokenized.
_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*(?:CREATE|DROP)\b", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Head:
    """`verb` is CREATE_VIEW, DROP_VIEW or DROP_TABLE; `if_exists` is true for IF EXISTS and IF NOT EXISTS."""

    text: str
    verb: str
    name: RelationName
    is_temporary: bool = False
    is_global: bool = False
    or_replace: bool = False
    if_exists: bool = False

    @property
    def place(self) -> Place:
        return Place(self.text, self.name.start, self.name.stop)


@dataclass(frozen=True, kw_only=True)
class CreateView:
    """All parts of a CREATE VIEW; `comment` is a string literal as written, the query is `head.text[query_start:]`."""

    head: Head
    columns: tuple[str, ...]
    comment: str | None
    query_start: int

    @property
    def query(self) -> str:
        return self.head.text[self.query_start :].rstrip().rstrip(";")

    @property
    def query_in_place(self) -> str:
        """The query with blanks before it, so that its offsets are the same as in the whole statement."""
        return alone(self.head.text, self.query_start, self.query_start + len(self.query))


def parse_head(text: str) -> Head | None:
    """The head of a CREATE VIEW, DROP VIEW or DROP TABLE; None for all other text.

    >>> head = parse_head("CREATE OR REPLACE VIEW db.v AS SELECT 1")
    >>> head.verb, head.name.parts, head.or_replace
    ('CREATE VIEW', ('db', 'v'), True)
    """
    return _head(text, Cursor(tokens_of(text))) if _FIRST_WORD.match(text) else None


def _head(text: str, cursor: Cursor) -> Head | None:
    verb = "CREATE" if cursor.take("CREATE") else "DROP" if cursor.take("DROP") else ""
    or_replace = cursor.take("OR", "REPLACE")
    is_global = cursor.take("GLOBAL")
    is_temporary = cursor.take_one_of(("TEMP", "TEMPORARY")) or is_global
    kind = "VIEW" if cursor.take("VIEW") else "TABLE" if cursor.take("TABLE") else ""
    if_exists = cursor.take("IF", "NOT", "EXISTS") or cursor.take("IF", "EXISTS")
    name = cursor.take_name()
    if f"{verb} {kind}" not in (CREATE_VIEW, DROP_VIEW, DROP_TABLE) or name is None:
        return None
    return Head(
        text=text,
        verb=f"{verb} {kind}",
        name=name,
        is_temporary=is_temporary,
        is_global=is_global,
        or_replace=or_replace,
        if_exists=if_exists,
    )


def parse_renamed_table(text: str) -> RelationName | None:
    """The former name in ALTER TABLE … RENAME TO; None for all other text.

    >>> parse_renamed_table("ALTER TABLE db.t RENAME TO db.u").parts, parse_renamed_table("ALTER TABLE t ADD c INT")
    (('db', 't'), None)
    """
    cursor = Cursor(tokens_of(text))
    name = cursor.take_name() if cursor.take("ALTER", "TABLE") else None
    return name if cursor.take("RENAME", "TO") else None


def parse_function_name(text: str) -> RelationName | None:
    """The name in CREATE FUNCTION; None for all other text.

    >>> parse_function_name("CREATE OR REPLACE TEMPORARY FUNCTION db.f() RETURNS INT RETURN 1").parts
    ('db', 'f')
    """
    cursor = Cursor(tokens_of(text))
    if not cursor.take("CREATE"):
        return None
    cursor.take("OR", "REPLACE")
    cursor.take_one_of(("TEMP", "TEMPORARY"))
    if not cursor.take("FUNCTION"):
        return None
    cursor.take("IF", "NOT", "EXISTS")
    return cursor.take_name()


def check_no_function(text: str) -> None:
    """Raise UnsupportedError for CREATE FUNCTION: Spark stores its text, but rewritten clauses are DataFrames."""
    name = parse_function_name(text)
    if name is not None:
        raise UnsupportedError(
            "SQL_FUNCTION",
            "the body of a SQL function cannot use the extended language",
            place=Place(text, name.start, name.stop),
            hint="store the query with CREATE VIEW, and filter it where you read it; or pass values with "
            "spark.sql(text, args).",
        )


def parse_create_view(text: str) -> CreateView | None:
    """All parts of a CREATE VIEW; None for all other text.

    Raises ParseError if there is no AS, UnsupportedError for options other than names of columns and COMMENT.

    >>> view = parse_create_view("CREATE VIEW v (a, b) COMMENT 'two' AS SELECT 1, 2")
    >>> view.columns, view.comment, view.query
    (('a', 'b'), "'two'", 'SELECT 1, 2')
    """
    cursor = Cursor(tokens_of(text))
    head = _head(text, cursor)
    if head is None or head.verb != CREATE_VIEW:
        return None
    columns = _columns(head, cursor)
    comment = cursor.take_string() if cursor.take("COMMENT") else None
    if cursor.index + 1 >= len(cursor.tokens):
        raise ParseError("VIEW_WITHOUT_QUERY", "CREATE VIEW ends before AS and its query", place=head.place)
    if not cursor.take("AS"):
        raise _unsupported_option(head, cursor)
    return CreateView(head=head, columns=columns, comment=comment, query_start=cursor.tokens[cursor.index].start)


def _columns(head: Head, cursor: Cursor) -> tuple[str, ...]:
    columns: list[str] = []
    if not cursor.take("("):
        return ()
    while (column := cursor.take_part()) is not None:
        columns.append(column)
        if cursor.take(")"):
            return tuple(columns)
        if not cursor.take(",") and not cursor.is_at_end:
            raise _unsupported_option(head, cursor)
    raise ParseError("VIEW_WITHOUT_QUERY", "CREATE VIEW ends within its list of columns", place=head.place)


def _unsupported_option(head: Head, cursor: Cursor) -> UnsupportedError:
    token = cursor.tokens[cursor.index]
    return UnsupportedError(
        "VIEW_OPTION",
        f"a view over the extended language cannot have {token.text} here",
        place=Place(head.text, token.start, token.stop),
        hint="it may have names of columns and a COMMENT: CREATE VIEW name (column, …) COMMENT '…' AS …",
    )
