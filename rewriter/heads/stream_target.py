"""Reads the table that a stream is written into, from CREATE STREAMING TABLE and INSERT INTO."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

from sqlext.errors import BindError, ParseError, Place, UnsupportedError
from sqlext.rewriter.heads.statement import OwnStatement, Statement
from sqlext.rewriter.heads.table_clauses import take_value, take_words
from sqlext.rewriter.heads.table_columns import TableColumn, distinct, take_columns
from sqlext.rewriter.heads.triggers import TRIGGER_HINT, trigger_of
from sqlext.rewriter.text.cursor import Cursor
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import string_value
from sqlext.rewriter.text.names import Parts, unquoted
from sqlext.rewriter.text.nesting import check_depth
from sqlext.rewriter.text.tokens import QUERY_STARTS, STRING, Token, Tokens, closing
from sqlext.rewriter.tree.keywords import begins_query

STREAM_OPTIONS = ("checkpointLocation", "trigger")
_UPSERT = re.compile(r"\bUPSERT\b", re.IGNORECASE)
_FORM = (
    "write CREATE STREAMING TABLE name [(column, …)] [PARTITIONED BY (…) or CLUSTER BY (…)] [COMMENT '…'] "
    "[LOCATION '…'] [TBLPROPERTIES (…)] [UPSERT KEY (…)] [OPTIONS (…)] AS SELECT …."
)


@dataclass(frozen=True)
class NamedColumn:
    """A column in a list of names: of UPSERT KEY or of INSERT INTO."""

    name: str
    place: Place


@dataclass(frozen=True, kw_only=True)
class TableDefinition:
    """The parts of CREATE STREAMING TABLE that describe the table. `clauses`: PARTITIONED BY, COMMENT and so on, as
    written; `location`: the folder that LOCATION names; `using`: the format, if it is written."""

    columns: tuple[TableColumn, ...] = ()
    clauses: tuple[Fragment, ...] = ()
    location: str | None = None
    using: NamedColumn | None = None


@dataclass(frozen=True, kw_only=True)
class StreamTarget(OwnStatement):
    """`CREATE [OR REFRESH | OR REPLACE] STREAMING TABLE [IF NOT EXISTS] name … AS query`, with either OR or IF and the
    clauses of docs/streams.md, or `INSERT INTO name [UPSERT KEY (…)] [rows] query`.

    `into`, `by_name`: the columns that INSERT INTO name (column, …) names, and whether it says BY NAME; `rows`: what
    else is between the name and the query of an INSERT: PARTITION (…) or REPLACE WHERE condition. `trigger` is as
    `trigger_of` returns it.
    """

    name: Parts
    place: Place
    query: Fragment
    is_insert: bool
    or_replace: bool = False
    if_not_exists: bool = False
    into: tuple[NamedColumn, ...] = ()
    by_name: bool = False
    rows: Place | None = None
    checkpoint: str | None = None
    trigger: str | None = None
    upsert_key: tuple[NamedColumn, ...] = ()
    definition: TableDefinition = field(default_factory=TableDefinition)

    @property
    def text(self) -> str:
        """The whole statement."""
        return self.query.source


@dataclass(frozen=True)
class InsertInto(Statement):
    """INSERT INTO. It is tokenized only when its target is needed, because a plain one may be a long list of rows."""

    text: str

    @cached_property
    def target(self) -> StreamTarget | None:
        """The table, and the query that is written into it; None for forms that only Spark knows. Raises ParseError
        UPSERT_KEY.

        >>> insert = InsertInto("INSERT INTO t (k, n) SELECT 1, 2")
        >>> insert.target.query.text, [c.name for c in insert.target.into], InsertInto("INSERT INTO t").target
        ('SELECT 1, 2', ['k', 'n'], None)
        """
        cursor = Cursor.of(self.text)
        cursor.take("INSERT", "INTO")
        cursor.take("TABLE")
        name = cursor.take_name()
        if name is None:
            return None
        into = _column_names(cursor) if not begins_query(cursor.tokens, cursor.index) else ()
        by_name = cursor.take("BY", "NAME")
        upsert_key = _upsert_key(cursor, cursor.index - 1) if cursor.take("UPSERT") else ()
        after_name = cursor.index
        _go_to_query(cursor)
        if cursor.is_at_end:
            return None
        return StreamTarget(
            name=name.parts,
            place=Place(self.text, name.start, name.stop),
            is_insert=True,
            into=distinct(into or (), BindError, "DUPLICATE_COLUMN", "the list of columns"),
            by_name=by_name,
            upsert_key=upsert_key,
            rows=_place(self.text, cursor.tokens[after_name : cursor.index]),
            query=cursor.fragment(cursor.index, len(cursor.tokens)),
        )


def parse_insert(text: str) -> InsertInto | StreamTarget:
    """What INSERT INTO is; with UPSERT KEY, which Spark does not know, its target. Raises ParseError UPSERT_KEY.

    >>> parse_insert("INSERT INTO t UPSERT KEY (k) SELECT * FROM STREAM s").upsert_key[0].name
    'k'
    >>> parse_insert("INSERT INTO t VALUES ('upsert')")
    InsertInto(text="INSERT INTO t VALUES ('upsert')")
    """
    insert = InsertInto(text)
    target = insert.target if _UPSERT.search(text) else None
    return target if target is not None and target.upsert_key else insert


def target_of(statement: Statement) -> StreamTarget | None:
    """The table that a statement writes the rows of a query into; None for all other statements."""
    if isinstance(statement, InsertInto):
        return statement.target
    return statement if isinstance(statement, StreamTarget) else None


def parse_target(text: str) -> StreamTarget:
    """The table that CREATE STREAMING TABLE creates and writes a query into.

    Raises UnsupportedError for an option that does not exist, ParseError for a wrong clause, UPSERT KEY or trigger.

    >>> target = parse_target("CREATE OR REFRESH STREAMING TABLE db.t (k INT, n) COMMENT 'x' AS SELECT 1, 2;")
    >>> target.name, target.query.text, target.is_insert
    (('db', 't'), 'SELECT 1, 2', False)
    >>> [(c.name, c.type and c.type.text) for c in target.definition.columns]
    [('k', 'INT'), ('n', None)]
    >>> [c.text for c in target.definition.clauses]
    ["COMMENT 'x'"]
    """
    cursor = Cursor.of(text, error_class="STREAM_TABLE", hint=_FORM)
    check_depth(text, cursor.tokens)
    cursor.take("CREATE")
    or_word = next((word for word in ("REPLACE", "REFRESH") if cursor.take("OR", word)), "")
    cursor.take("STREAMING", "TABLE")
    return _TargetReader(cursor).target(or_word)


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


@dataclass
class _TargetReader:
    """Reads CREATE STREAMING TABLE from the name of the table on."""

    cursor: Cursor
    clauses: dict[tuple[str, ...], Fragment] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    upsert_key: tuple[NamedColumn, ...] = ()
    location: str | None = None
    using: NamedColumn | None = None

    def target(self, or_word: str) -> StreamTarget:
        """The target. `or_word`: the word after CREATE OR, "" if there is none."""
        cursor, text = self.cursor, self.cursor.text
        start = cursor.index
        if_not_exists = cursor.take("IF", "NOT", "EXISTS")
        if if_not_exists and or_word:
            message = f"OR {or_word} and IF NOT EXISTS exclude each other"
            raise cursor.error(message, start, start + 3, hint="leave one of them out.")
        name = cursor.take_name()
        if name is None:
            raise cursor.expected("the name of a table")
        columns: tuple[TableColumn, ...] = ()
        if cursor.is_at("(") and not begins_query(cursor.tokens, cursor.index):
            columns = take_columns(cursor, _about_constraint)
        while self._take_clause():
            pass
        self._take_as()
        definition = TableDefinition(
            columns=columns, clauses=tuple(self.clauses.values()), location=self.location, using=self.using
        )
        return StreamTarget(
            name=name.parts,
            place=Place(text, name.start, name.stop),
            is_insert=False,
            or_replace=or_word == "REPLACE",
            if_not_exists=if_not_exists,
            query=cursor.fragment(cursor.index, len(cursor.tokens)),
            checkpoint=self.options.get("checkpointlocation"),
            trigger=self.options.get("trigger"),
            upsert_key=self.upsert_key,
            definition=definition,
        )

    def _take_as(self) -> None:
        """Move past AS, which may be left out, to the query."""
        cursor = self.cursor
        has_as = cursor.take("AS")
        if cursor.is_at_end or not (has_as or begins_query(cursor.tokens, cursor.index)):
            raise cursor.expected("a query" if has_as else "AS and a query")

    def _take_clause(self) -> bool:
        """Move past the next clause; False if none is next. Raises ParseError if it is written twice."""
        cursor, start = self.cursor, self.cursor.index
        if cursor.take("UPSERT"):
            is_new, self.upsert_key = not self.upsert_key, _upsert_key(cursor, start)
        elif cursor.take("OPTIONS"):
            is_new, self.options = not self.options, self._options(start)
        elif cursor.take("USING"):
            is_new, self.using = self.using is None, self._format()
        else:
            words = take_words(cursor)
            if words is None:
                return False
            is_new = words not in self.clauses
            self.clauses[words] = take_value(cursor, start, words)
            if words == ("LOCATION",):
                self.location = string_value(cursor.tokens[cursor.index - 1].text)
        if not is_new:
            raise cursor.error("this is written twice", start, cursor.index)
        return True

    def _format(self) -> NamedColumn:
        cursor = self.cursor
        name = cursor.take_name()
        if name is None:
            raise cursor.expected("the name of a format")
        return NamedColumn(".".join(name.parts), Place(cursor.text, name.start, name.stop))

    def _options(self, start: int) -> dict[str, str]:
        """The values of `OPTIONS ('name' = 'value', …)` by their names in lower case."""
        cursor = self.cursor
        close = closing(cursor.tokens, cursor.index) if cursor.is_at("(") else None
        if close is None:
            raise cursor.expected("a list in parentheses")
        inside, options = cursor.tokens[start + 2 : close], dict[str, str]()
        cursor.index = close + 1
        while inside:
            key, value = inside[0], inside[2] if len(inside) > 2 else inside[-1]
            name, place = _literal(key).lower(), Place(cursor.text, key.start, value.stop)
            if name not in map(str.lower, STREAM_OPTIONS) or value.kind != STRING:
                raise UnsupportedError(
                    "STREAM_OPTION",
                    f"a streaming table has no option {key.text}",
                    place=place,
                    hint="write OPTIONS ('checkpointLocation' = '…', 'trigger' = '10 seconds' or 'available-now').",
                )
            options[name] = _trigger(cursor.text, value) if name == "trigger" else _literal(value)
            inside = inside[4:]
        return options


def _about_constraint(place: Place) -> UnsupportedError:
    return UnsupportedError(
        "STREAM_OPTION",
        "a streaming table cannot be created with constraints",
        place=place,
        hint="add them afterwards: ALTER TABLE name ADD CONSTRAINT ….",
    )


def _trigger(text: str, value: Token) -> str:
    trigger = trigger_of(_literal(value))
    if trigger is None:
        place = Place(text, value.start, value.stop)
        raise ParseError("STREAM_TRIGGER", f"there is no trigger {value.text}", place=place, hint=TRIGGER_HINT)
    return trigger


def _column_names(cursor: Cursor) -> tuple[NamedColumn, ...] | None:
    """Move past `(column, …)`; None, and the cursor as it was, if something else is there.

    >>> [column.name for column in _column_names(Cursor.of("(a, `b c`) SELECT 1, 2"))]
    ['a', 'b c']
    >>> _column_names(Cursor.of("(a.b) SELECT 1")), _column_names(Cursor.of("(a, SELECT 1"))
    (None, None)
    """
    start, columns = cursor.index, list[NamedColumn]()
    if cursor.take("("):
        while (name := cursor.take_part()) is not None:
            token = cursor.tokens[cursor.index - 1]
            columns.append(NamedColumn(name, Place(cursor.text, token.start, token.stop)))
            if cursor.take(")"):
                return tuple(columns)
            if not cursor.take(","):
                break
    cursor.index = start
    return None


def _upsert_key(cursor: Cursor, start: int) -> tuple[NamedColumn, ...]:
    """The columns of `UPSERT KEY (column, …)`, whose first word is token `start`."""
    columns = _column_names(cursor) if cursor.take("KEY") else None
    if columns:
        return distinct(columns, ParseError, "UPSERT_KEY", "UPSERT KEY")
    raise ParseError(
        "UPSERT_KEY",
        "UPSERT KEY needs the names of columns in parentheses",
        place=_place(cursor.text, cursor.tokens[start : cursor.index + 1]),
        hint="write UPSERT KEY (column, …), and then the query.",
    )


def _literal(token: Token) -> str:
    return string_value(token.text) if token.kind == STRING else unquoted(token.text)
