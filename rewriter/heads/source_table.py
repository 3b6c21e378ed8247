"""Reads `CREATE TABLE name [(column type, …)] USING kafka OPTIONS (…)`: a table of the records of topics."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlext.errors import BindError, ParseError, Place, SqlExtError, UnsupportedError
from sqlext.rewriter.heads.kafka_options import FORMAT, RAW, Option, check_table
from sqlext.rewriter.heads.statement import OwnStatement
from sqlext.rewriter.heads.table_columns import TableColumn, between_commas, distinct, take_columns
from sqlext.rewriter.text.cursor import Cursor
from sqlext.rewriter.text.lexemes import string_value
from sqlext.rewriter.text.names import Parts, unquoted
from sqlext.rewriter.text.tokens import GAP, NUMBER, STRING, Tokens, closing, is_at

# the columns of a record, which follow those of its value
RECORD_COLUMNS = {
    "key": "BINARY",
    "value": "BINARY",
    "topic": "STRING",
    "partition": "INT",
    "offset": "BIGINT",
    "timestamp": "TIMESTAMP",
    "timestampType": "INT",
    "headers": "ARRAY<STRUCT<key: STRING, value: BINARY>>",
}
_CANDIDATE = re.compile(rf"\bUSING{GAP}*`?KAFKA\b", re.IGNORECASE | re.DOTALL)
_FORM = "write CREATE TABLE name [(column type, …)] USING kafka [COMMENT '…'] OPTIONS (subscribe = 'topic', …)."
_NOT_OF_SOURCES = ("PARTITIONED", "CLUSTER", "CLUSTERED", "LOCATION", "TBLPROPERTIES", "ROW", "STORED", "AS", "SELECT")


@dataclass(frozen=True, kw_only=True)
class SourceTable(OwnStatement):
    """`CREATE [OR REPLACE] TABLE [IF NOT EXISTS] name [(columns)] USING kafka [COMMENT '…'] OPTIONS (…)`.

    `columns`: those of the values of records; `comment`: the text of COMMENT.
    """

    text: str
    name: Parts
    place: Place
    or_replace: bool
    if_not_exists: bool
    columns: tuple[TableColumn, ...]
    comment: str | None
    options: tuple[Option, ...]

    @property
    def format(self) -> str:
        """What the values of the records are: RAW, JSON or AVRO."""
        return next((option.value.lower() for option in self.options if option.key == FORMAT), RAW)

    def option(self, key: str) -> str:
        """The value of an option; "" without it. `key`: its name in lower case."""
        return next((option.value for option in self.options if option.key == key), "")


def parse_source(text: str) -> SourceTable | None:
    """The table of records that a statement creates; None for any other CREATE TABLE.

    Raises ParseError KAFKA_TABLE; BindError KAFKA_OPTION; UnsupportedError KAFKA_TABLE and KAFKA_SECRET.

    >>> table = parse_source('''CREATE TABLE db.e (user STRING) USING kafka OPTIONS (
    ...     'kafka.bootstrap.servers' = 'h:9092', subscribe 'e', minPartitions = 4, 'value.format' = 'json')''')
    >>> table.name, [(o.name, o.value) for o in table.options[1:3]], table.format
    (('db', 'e'), [('subscribe', 'e'), ('minPartitions', '4')], 'json')
    >>> parse_source("CREATE TABLE t (n INT) USING delta COMMENT 'not USING kafka'")
    """
    if _CANDIDATE.search(text) is None:
        return None
    cursor = Cursor.of(text, error_class="KAFKA_TABLE", hint=_FORM)
    if not any(_is_kafka(cursor.tokens, i) for i in range(len(cursor.tokens))):
        return None
    cursor.take("CREATE")
    or_replace = cursor.take("OR", "REPLACE")
    cursor.take("TABLE")
    start = cursor.index
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    if if_not_exists and or_replace:
        hint = "leave one of them out."
        raise cursor.error("OR REPLACE and IF NOT EXISTS exclude each other", start, cursor.index, hint=hint)
    name = cursor.take_name()
    if name is None:
        raise cursor.expected("the name of a table")
    place = Place(text, name.start, name.stop)
    columns = take_columns(cursor, _about_constraint) if cursor.is_at("(") else ()
    for column in columns:
        _check_column(column)
    parts = _Parts(cursor)
    while not cursor.is_at_end:
        parts.take()
    check_table(parts.options, parts.place or place)
    table = SourceTable(
        text=text,
        name=name.parts,
        place=place,
        or_replace=or_replace,
        if_not_exists=if_not_exists,
        columns=columns,
        comment=parts.comment,
        options=tuple(parts.options),
    )
    if columns and table.format == RAW:
        raise BindError(
            "KAFKA_OPTION",
            "the columns are those of the values of the records, and no format says how to read them",
            place=columns[0].place,
            hint=f"add '{FORMAT}' = 'json', or leave the columns out: key, value, topic, partition, offset, timestamp "
            "and headers are there in any case.",
        )
    return table


def _is_kafka(tokens: Tokens, i: int) -> bool:
    """Return True for the USING of a table of Kafka, which is outside of all brackets."""
    return is_at(tokens, i, "USING") and tokens[i].depth == 0 and unquoted(tokens[i + 1].text).lower() == "kafka"


@dataclass
class _Parts:
    """Reads what follows the columns, part by part."""

    cursor: Cursor
    comment: str | None = None
    options: Sequence[Option] = ()
    place: Place | None = None

    def take(self) -> None:
        """Move past the next part. Raises ParseError and UnsupportedError."""
        cursor, start = self.cursor, self.cursor.index
        if cursor.take("USING"):
            cursor.index += 1
        elif cursor.take("COMMENT"):
            comment = cursor.take_string()
            if comment is None:
                raise cursor.expected("a string")
            self.comment = string_value(comment)
        elif cursor.take("OPTIONS"):
            if self.place is not None:
                raise cursor.error("OPTIONS is written twice", start, start + 1)
            self.options = take_options(cursor)
            self.place = cursor.fragment(start, start + 1).place
        elif cursor.word in _NOT_OF_SOURCES:
            raise UnsupportedError(
                "KAFKA_TABLE",
                f"a table of Kafka cannot have {cursor.word}",
                place=cursor.fragment(start, start + 1).place,
                hint=_FORM,
            )
        else:
            raise cursor.expected("USING, COMMENT or OPTIONS")


def _about_constraint(place: Place) -> SqlExtError:
    return UnsupportedError("KAFKA_TABLE", "a table of Kafka has no constraints", place=place, hint="leave it out.")


def _check_column(column: TableColumn) -> None:
    """Raise an error for a column that is not `name type`."""
    if column.type is None or column.rest is None:
        raise ParseError("KAFKA_TABLE", f"the column {column.name} has no type", place=column.place, hint=_FORM)
    if column.type.stop != column.rest.stop:
        rest = " ".join(column.rest.source[column.type.stop : column.rest.stop].split())
        raise UnsupportedError(
            "KAFKA_TABLE",
            f"a column of a table of Kafka is a name and a type, without {rest}",
            place=Place(column.rest.source, column.type.stop + 1, column.rest.stop),
            hint="leave it out.",
        )


def take_options(cursor: Cursor) -> tuple[Option, ...]:
    """Move past `(name = value, …)`, as Spark reads options, and return them. Raises ParseError, and BindError
    KAFKA_OPTION for a name that is there twice."""
    close = closing(cursor.tokens, cursor.index) if cursor.is_at("(") else None
    if close is None:
        raise cursor.expected("a list in parentheses")
    options = read_options(cursor, cursor.index + 1, close)
    cursor.index = close + 1
    return options


def read_options(cursor: Cursor, lo: int, hi: int) -> tuple[Option, ...]:
    """The options at tokens `lo` to `hi` of a cursor, which are inside the parentheses."""
    ranges = between_commas(cursor.tokens, lo, hi) if lo < hi else ()
    options = [_option(cursor, *bounds) for bounds in ranges]
    return distinct(options, BindError, "KAFKA_OPTION", "the list of options")


def _option(cursor: Cursor, lo: int, hi: int) -> Option:
    """One option, at tokens `lo` to `hi`."""
    tokens = cursor.tokens
    if lo >= hi:
        raise cursor.error("an option is missing here", min(lo, hi), min(lo, hi) + 1)
    value = hi - 1
    sign = value - 1 if value - 1 > lo and tokens[value].kind == NUMBER and tokens[value - 1].text == "-" else value
    end = sign - 1 if sign - 1 > lo and tokens[sign - 1].text == "=" else sign
    key = "".join(string_value(t.text) if t.kind == STRING else unquoted(t.text) for t in tokens[lo:end])
    is_value = tokens[value].kind in (STRING, NUMBER) or tokens[value].word in ("TRUE", "FALSE")
    if not key or not is_value:
        hint = "write name = value, where the value is a text in quotes, a number, true or false."
        raise cursor.error("this is no option", lo, hi, hint=hint)
    text = string_value(tokens[value].text) if tokens[value].kind == STRING else tokens[value].text
    place = cursor.fragment(lo, hi).place
    return Option(name=key, value=("-" if sign < value else "") + text, place=place)
