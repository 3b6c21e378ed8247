"""Reads the heads of CREATE and DROP VIEW and DROP TABLE from tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlext.errors import ParseError, Place, UnsupportedError
from sqlext.rewriter.text.fragments import Fragment, alone
from sqlext.rewriter.text.lexemes import string_value
from sqlext.rewriter.text.names import RelationName, name_at, tokens_of, unquoted
from sqlext.rewriter.text.tokens import STRING, Tokens
from sqlext.rewriter.tree.keywords import is_at

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

    def expect_pattern(self) -> str:
        """Move past the string after LIKE and return its text. Raises ParseError if the next token is not a string."""
        pattern = self.take_string()
        if pattern is None:
            raise self.expected("a pattern such as 'a*|b*'")
        return string_value(pattern)

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
