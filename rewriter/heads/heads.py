"""Reads the heads of CREATE and DROP VIEW, DROP TABLE, ALTER TABLE … RENAME TO and CREATE FUNCTION from tokens."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.errors import ParseError, Place, UnsupportedError
from sqlext.rewriter.heads.statement import Statement
from sqlext.rewriter.text.cursor import Cursor
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import RelationName, tokens_of

CREATE_VIEW, DROP_VIEW, DROP_TABLE = "CREATE VIEW", "DROP VIEW", "DROP TABLE"
RENAME_TABLE, CREATE_FUNCTION = "ALTER TABLE", "CREATE FUNCTION"
_VERBS = (CREATE_VIEW, DROP_VIEW, DROP_TABLE, RENAME_TABLE, CREATE_FUNCTION)


@dataclass(frozen=True, kw_only=True)
class Head(Statement):
    """What creates, drops or renames something, and its name. `if_exists` is true for IF EXISTS and IF NOT EXISTS."""

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
    """All parts of a CREATE VIEW; `comment` is a string literal as written."""

    head: Head
    columns: tuple[str, ...]
    comment: str | None
    query: Fragment


def parse_head(text: str) -> Head | None:
    """The head of a statement with one of the five verbs; None for all other text.

    >>> head = parse_head("CREATE OR REPLACE VIEW db.v AS SELECT 1")
    >>> head.verb, head.name.parts, head.or_replace
    ('CREATE VIEW', ('db', 'v'), True)
    >>> parse_head("ALTER TABLE db.t RENAME TO db.u").name.parts, parse_head("ALTER TABLE t ADD c INT")
    (('db', 't'), None)
    """
    return _head(text, Cursor(tokens_of(text)))


def _head(text: str, cursor: Cursor) -> Head | None:
    verb = next((word for word in ("CREATE", "DROP", "ALTER") if cursor.take(word)), "")
    or_replace = cursor.take("OR", "REPLACE")
    is_global = cursor.take("GLOBAL")
    is_temporary = cursor.take_one_of(("TEMP", "TEMPORARY")) or is_global
    kind = next((word for word in ("VIEW", "TABLE", "FUNCTION") if cursor.take(word)), "")
    if_exists = cursor.take("IF", "NOT", "EXISTS") or cursor.take("IF", "EXISTS")
    name = cursor.take_name()
    verb = f"{verb} {kind}"
    if verb not in _VERBS or name is None or (verb == RENAME_TABLE and not cursor.take("RENAME", "TO")):
        return None
    return Head(
        text=text,
        verb=verb,
        name=name,
        is_temporary=is_temporary,
        is_global=is_global,
        or_replace=or_replace,
        if_exists=if_exists,
    )


def parse_view(head: Head) -> CreateView | None:
    """All parts of the CREATE VIEW that the head of a statement with parts of ours begins; None for other verbs.

    Raises ParseError if there is no AS, UnsupportedError for options other than names of columns and COMMENT, and for
    CREATE FUNCTION: Spark stores its text, but rewritten clauses are DataFrames.

    >>> view = parse_view(parse_head("CREATE VIEW v (a, b) COMMENT 'two' AS SELECT 1, 2;"))
    >>> view.columns, view.comment, view.query.text
    (('a', 'b'), "'two'", 'SELECT 1, 2')
    """
    if head.verb == CREATE_FUNCTION:
        raise UnsupportedError(
            "SQL_FUNCTION",
            "the body of a SQL function cannot use the extended language",
            place=head.place,
            hint="store the query with CREATE VIEW, and filter it where you read it; or pass values with "
            "spark.sql(text, args).",
        )
    if head.verb != CREATE_VIEW:
        return None
    cursor = Cursor(tokens_of(head.text))
    _head(head.text, cursor)
    columns = _columns(head, cursor)
    comment = cursor.take_string() if cursor.take("COMMENT") else None
    if cursor.index + 1 >= len(cursor.tokens):
        raise ParseError("VIEW_WITHOUT_QUERY", "CREATE VIEW ends before AS and its query", place=head.place)
    if not cursor.take("AS"):
        raise _unsupported_option(head, cursor)
    start = cursor.tokens[cursor.index].start
    query = Fragment(head.text, start, len(head.text.rstrip().rstrip(";")))
    return CreateView(head=head, columns=columns, comment=comment, query=query)


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
