"""The tables that the statements of a file declare: CREATE TABLE with columns, read from tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlext.errors import BindError, SqlExtError
from sqlext.rewriter.heads.kafka_options import RAW
from sqlext.rewriter.heads.source_table import RECORD_COLUMNS, SourceTable, parse_source
from sqlext.rewriter.statements.sql_file import file_statements
from sqlext.rewriter.text.cursor import Cursor
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import Parts, RelationName, quoted, unquoted
from sqlext.rewriter.text.tokens import Tokens, closing, tokenize

_AFTER_TYPE = frozenset({
    "NOT", "NULL", "COMMENT", "DEFAULT", "GENERATED", "PRIMARY", "REFERENCES", "FOREIGN", "CONSTRAINT", "CHECK",
    "UNIQUE", "MASK",
})  # fmt: skip
_CONSTRAINTS = frozenset({"PRIMARY", "FOREIGN", "CONSTRAINT", "CHECK", "UNIQUE"})


@dataclass(frozen=True)
class DeclaredColumn:
    """The column of a table; `type` is as the user wrote it."""

    name: str
    type: Fragment


@dataclass(frozen=True, kw_only=True)
class DeclaredTable:
    """A table that a file declares; `place` is that of the table's name in the statement."""

    name: Parts
    place: Fragment
    columns: tuple[DeclaredColumn, ...]

    @property
    def schema(self) -> str:
        """The columns as Spark reads them in a schema."""
        return ", ".join(f"{quoted(column.name)} {column.type.text}" for column in self.columns)


def declared_tables(text: str) -> Iterator[DeclaredTable]:
    """The tables of a file of DDL. Statements that declare no columns are skipped. Raises SqlExtError."""
    for statement in file_statements(text):
        try:
            table = declared_table(statement.text)
        except SqlExtError as error:
            raise error.moved(text, statement.start) from None
        if table is not None:
            yield table


def declared_table(text: str) -> DeclaredTable | None:
    """The table of `CREATE TABLE name (column type …, …) …`; None for all other statements.

    Raises BindError for a column without a type, and the errors of a table of Kafka.

    >>> table = declared_table("CREATE TABLE IF NOT EXISTS db.t (id BIGINT NOT NULL COMMENT 'a, b', "
    ...                        "tags MAP<STRING, STRUCT<a: INT COMMENT 'x'>>, PRIMARY KEY (id)) USING delta")
    >>> table.name, table.schema
    (('db', 't'), "`id` BIGINT, `tags` MAP<STRING, STRUCT<a: INT COMMENT 'x'>>")
    >>> declared_table("CREATE TABLE t AS SELECT 1"), declared_table("SELECT 1")
    (None, None)
    """
    source = parse_source(text)
    if source is not None:
        return _of_records(source)
    cursor = Cursor(tokenize(text))
    name = take_table(cursor)
    opening = cursor.index
    close = closing(cursor.tokens, opening) if name and cursor.take("(") else None
    if name is None or close is None:
        return None
    items = _items(cursor.tokens, opening + 1, close)
    columns = (_column(text, cursor.tokens, lo, hi) for lo, hi in items)
    return DeclaredTable(
        name=name.parts,
        place=Fragment(text, name.start, name.stop),
        columns=tuple(column for column in columns if column is not None),
    )


def _of_records(source: SourceTable) -> DeclaredTable | None:
    """A table of Kafka; None if only its records, or a schema of Avro, have its columns.

    >>> options = "OPTIONS ('kafka.bootstrap.servers' = 'h:9092', topic = 't', 'value.format' = 'json')"
    >>> table = declared_table(f"CREATE TABLE t (a INT, Value STRING) USING kafka {options}")
    >>> table.schema.partition(", `partition`")[0]
    '`a` INT, `Value` STRING, `key` BINARY, `topic` STRING'
    """
    if not source.columns and source.format != RAW:
        return None
    columns = [DeclaredColumn(c.name, c.type) for c in source.columns if c.type is not None]
    names = {column.name.lower() for column in columns}
    records = (
        DeclaredColumn(name, Fragment(kind, 0, len(kind)))
        for name, kind in RECORD_COLUMNS.items()
        if name.lower() not in names
    )
    place = Fragment(source.place.text, source.place.start, source.place.stop)
    return DeclaredTable(name=source.name, place=place, columns=(*columns, *records))


def take_table(cursor: Cursor) -> RelationName | None:
    """Move past CREATE TABLE and the name of the table, and return it; None for all other statements."""
    if not cursor.take("CREATE"):
        return None
    cursor.take("OR", "REPLACE")
    cursor.take_one_of(("EXTERNAL", "TEMPORARY", "TEMP"))
    if not cursor.take("TABLE"):
        return None
    cursor.take("IF", "NOT", "EXISTS")
    return cursor.take_name()


def _items(tokens: Tokens, lo: int, hi: int) -> Iterator[tuple[int, int]]:
    """The ranges of tokens between the commas outside all brackets."""
    start, angles = lo, 0
    for i in range(lo, hi + 1):
        if i == hi or (tokens[i].text == "," and tokens[i].depth == tokens[lo].depth and angles == 0):
            if start < i:
                yield start, i
            start = i + 1
        else:
            angles += _angles(tokens, i)


def _angles(tokens: Tokens, i: int) -> int:
    """The number of brackets of a type such as ARRAY<INT> that the token opens, minus those that it closes."""
    text = tokens[i].text
    return text.count("<") - text.count(">") if tokens[i].word == text and not text.isalnum() else 0


def _column(text: str, tokens: Tokens, lo: int, hi: int) -> DeclaredColumn | None:
    """The column of an item; None for a constraint of the table."""
    if tokens[lo].word in _CONSTRAINTS and hi - lo > 1 and tokens[lo + 1].word != "":
        return None
    angles, stop = 0, lo + 1
    while stop < hi and not (angles == 0 and tokens[stop].word in _AFTER_TYPE and stop > lo + 1):
        angles += _angles(tokens, stop)
        stop += 1
    if stop == lo + 1:
        place = Fragment.of_tokens(text, tokens, lo, hi).place
        raise BindError(
            "SCHEMA_FILE",
            f"the column {tokens[lo].text} has no type",
            place=place,
            hint="write the columns of CREATE TABLE as name type.",
        )
    return DeclaredColumn(unquoted(tokens[lo].text), Fragment.of_tokens(text, tokens, lo + 1, stop))
