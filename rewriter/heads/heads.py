"""Reads the heads of CREATE and DROP VIEW, DROP TABLE, CREATE STREAMING TABLE and INSERT from tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlext.errors import ParseError, Place, UnsupportedError
from sqlext.rewriter.text.fragments import Fragment, alone
from sqlext.rewriter.text.names import Parts, RelationName, name_at, tokens_of, unquoted
from sqlext.rewriter.text.tokens import QUERY_STARTS, STRING, Token, Tokens, closing
from sqlext.rewriter.tree.keywords import begins_query, is_at

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


@dataclass
class Cursor:
    """A position in the tokens of a statement; the `take…` methods move past the next tokens if these are as wanted.

    A reader that reports errors passes the statement as `text`, and the class and the hint of its errors.
    """

    tokens: Tokens
    index: int = 0
    text: str = ""
    error_class: str = ""
    hint: str = ""

    @property
    def is_at_end(self) -> bool:
        return self.index >= len(self.tokens)

    @property
    def word(self) -> str:
        """The next token as a word, "" at the end."""
        return "" if self.is_at_end else self.tokens[self.index].word

    def is_at(self, *words: str) -> bool:
        """Return True if `words` come next."""
        return is_at(self.tokens, self.index, *words)

    def take(self, *words: str) -> bool:
        """Move past `words` if they come next."""
        if not self.is_at(*words):
            return False
        self.index += len(words)
        return True

    def expect(self, what: str, *words: str) -> None:
        """Move past `words`. Raises ParseError if they do not come next; the error says that `what` must follow."""
        if not self.take(*words):
            raise self.expected(what)

    def expected(self, what: str) -> ParseError:
        """The error for any other token where `what` must follow."""
        at = min(self.index, len(self.tokens) - 1)
        if self.is_at_end:
            return self.error(f"{what} must follow here", at, at + 1)
        return self.error(f"{self.tokens[at].text} is written where {what} must follow", at, at + 1)

    def error(self, message: str, lo: int, hi: int, *, hint: str = "", error_class: str = "") -> ParseError:
        """An error at tokens `lo` to `hi` (exclusive)."""
        place = self.fragment(lo, hi).place
        return ParseError(error_class or self.error_class, message, place=place, hint=hint or self.hint)

    def fragment(self, lo: int, hi: int) -> Fragment:
        """Tokens `lo` to `hi` (exclusive); the range has at least one token."""
        return Fragment.of_tokens(self.text, self.tokens, lo, hi)

    def take_one_of(self, words: tuple[str, ...]) -> bool:
        return any(self.take(word) for word in words)

    def take_name(self) -> RelationName | None:
        name = name_at(self.tokens, self.index)
        self.index += 2 * len(name.parts) - 1 if name else 0
        return name

    def take_string(self) -> str | None:
        """Move past a string literal and return it as written; None if the next token is not a string."""
        if self.is_at_end or self.tokens[self.index].kind != STRING:
            return None
        self.index += 1
        return self.tokens[self.index - 1].text

    def take_part(self) -> str | None:
        """Move past one part of a name and return it without backticks; None if the next token is not a name."""
        if self.is_at_end or not self.tokens[self.index].is_name:
            return None
        self.index += 1
        return unquoted(self.tokens[self.index - 1].text)


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
        text=text, verb=f"{verb} {kind}", name=name, is_temporary=is_temporary, is_global=is_global,
        or_replace=or_replace, if_exists=if_exists,
    )  # fmt: skip


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
            "SQL_FUNCTION", "the body of a SQL function cannot use the extended language",
            place=Place(text, name.start, name.stop),
            hint="store the query with CREATE VIEW, and filter it where you read it; or pass values with "
            "spark.sql(text, args).",
        )  # fmt: skip


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


# tables that a stream is written into

STREAM_OPTIONS = ("checkpointLocation", "trigger")


@dataclass(frozen=True)
class KeyColumn:
    """A column of UPSERT KEY."""

    name: str
    place: Place


@dataclass(frozen=True, kw_only=True)
class StreamTarget:
    """`CREATE [OR REFRESH | OR REPLACE] STREAMING TABLE [IF NOT EXISTS] name [UPSERT KEY (column, …)] [OPTIONS (…)] AS
    query`, or `INSERT INTO name [rows] query`.

    The query is characters `query_start` to `query_stop` (exclusive) of `text`. `rows` is the text between the name and
    the query of an INSERT: `(column, …)`, BY NAME, PARTITION (…) or REPLACE WHERE condition.
    """

    text: str
    name: Parts
    place: Place
    query_start: int
    query_stop: int
    is_insert: bool
    or_replace: bool = False
    if_not_exists: bool = False
    rows: Place | None = None
    checkpoint: str | None = None
    trigger: str | None = None
    upsert_key: tuple[KeyColumn, ...] = ()


def parse_target(text: str) -> StreamTarget | None:
    """The table that a statement writes a query into; None for all other text.

    Raises UnsupportedError for an option that does not exist, ParseError for a wrong UPSERT KEY.

    >>> target = parse_target("CREATE OR REFRESH STREAMING TABLE db.t AS SELECT 1;")
    >>> target.name, target.text[target.query_start : target.query_stop], target.is_insert
    (('db', 't'), 'SELECT 1', False)
    >>> insert = parse_target("INSERT INTO t (k, n) SELECT 1, 2")
    >>> insert.text[insert.query_start : insert.query_stop], parse_target("INSERT OVERWRITE t SELECT 1")
    ('SELECT 1, 2', None)
    """
    tokens = tokens_of(text)
    while tokens and tokens[-1].text == ";":
        tokens = tokens[:-1]
    cursor = Cursor(tokens)
    is_insert = cursor.take("INSERT", "INTO")
    if is_insert:
        cursor.take("TABLE")
    or_replace = cursor.take("CREATE", "OR", "REPLACE")
    is_create = or_replace or cursor.take("CREATE", "OR", "REFRESH") or cursor.take("CREATE")
    if not is_insert and not (is_create and cursor.take("STREAMING", "TABLE")):
        return None
    if_not_exists = not is_insert and cursor.take("IF", "NOT", "EXISTS")
    name = cursor.take_name()
    if name is None:
        return None
    options: dict[str, str] = {}
    upsert_key: tuple[KeyColumn, ...] = ()
    if not is_insert:
        upsert_key = _upsert_key(text, cursor)
        options = _options(text, cursor)
        upsert_key = upsert_key or _upsert_key(text, cursor)  # before or after OPTIONS
    behind_name = cursor.index
    if is_insert:
        _go_to_query(cursor)
    else:
        cursor.take("AS")
    if cursor.is_at_end:
        return None
    return StreamTarget(
        text=text, name=name.parts, place=Place(text, name.start, name.stop), is_insert=is_insert,
        or_replace=or_replace, if_not_exists=if_not_exists,
        rows=_place(text, tokens[behind_name : cursor.index]) if is_insert else None,
        query_start=tokens[cursor.index].start, query_stop=tokens[-1].stop,
        checkpoint=options.get("checkpointlocation"), trigger=options.get("trigger"), upsert_key=upsert_key,
    )  # fmt: skip


def _upsert_key(text: str, cursor: Cursor) -> tuple[KeyColumn, ...]:
    """The columns of `UPSERT KEY (column, …)`; empty if there is no such clause."""
    start = cursor.index
    if not cursor.take("UPSERT"):
        return ()
    columns: list[KeyColumn] = []
    if cursor.take("KEY") and cursor.take("("):
        while (name := cursor.take_part()) is not None:
            token = cursor.tokens[cursor.index - 1]
            columns.append(KeyColumn(name, Place(text, token.start, token.stop)))
            if cursor.take(")"):
                return _distinct(columns)
            if not cursor.take(","):
                break
    last = min(cursor.index, len(cursor.tokens) - 1)
    raise ParseError(
        "UPSERT_KEY", "UPSERT KEY needs the names of columns in parentheses",
        place=_place(text, cursor.tokens[start : last + 1]), hint="write UPSERT KEY (column, …) AS SELECT ….",
    )  # fmt: skip


def _distinct(columns: list[KeyColumn]) -> tuple[KeyColumn, ...]:
    """Return the columns. Raises ParseError if two of them have the same name."""
    names = [column.name.lower() for column in columns]
    for i, column in enumerate(columns):
        if column.name.lower() in names[:i]:
            raise ParseError("UPSERT_KEY", f"{column.name} is twice in UPSERT KEY", place=column.place)
    return tuple(columns)


def _go_to_query(cursor: Cursor) -> None:
    """Move past `[PARTITION (…)] [IF NOT EXISTS] [(column, …)] [BY NAME]` or `REPLACE WHERE condition`."""
    is_replacing = cursor.take("REPLACE", "WHERE")  # its condition may hold subqueries
    while not cursor.is_at_end:
        token = cursor.tokens[cursor.index]
        if token.word in QUERY_STARTS or (
            token.text == "(" and not is_replacing and begins_query(cursor.tokens, cursor.index)
        ):
            return
        close = closing(cursor.tokens, cursor.index) if token.text == "(" else None
        cursor.index = (cursor.index if close is None else close) + 1


def _place(text: str, tokens: Tokens) -> Place | None:
    return Place(text, tokens[0].start, tokens[-1].stop) if tokens else None


def _options(text: str, cursor: Cursor) -> dict[str, str]:
    """The values of `OPTIONS ('name' = 'value', …)` by their names in lower case."""
    start = cursor.index
    close = closing(cursor.tokens, start + 1) if cursor.take("OPTIONS", "(") else None
    if close is None:
        cursor.index = start
        return {}
    inside, options = cursor.tokens[start + 2 : close], {}
    cursor.index = close + 1
    while inside:
        key, value = inside[0], inside[2] if len(inside) > 2 else inside[-1]
        name = _literal(key).lower()
        if name not in map(str.lower, STREAM_OPTIONS) or value.kind != STRING:
            raise UnsupportedError(
                "STREAM_OPTION", f"a streaming table has no option {key.text}",
                place=Place(text, key.start, value.stop),
                hint="write OPTIONS ('checkpointLocation' = '…', 'trigger' = '10 seconds' or 'available-now').",
            )  # fmt: skip
        options[name] = _literal(value)
        inside = inside[4:]
    return options


def _literal(token: Token) -> str:
    return token.text[1:-1] if token.kind == STRING else unquoted(token.text)
