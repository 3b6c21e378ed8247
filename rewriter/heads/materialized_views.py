"""Reads CREATE, REFRESH, DESCRIBE, DROP and SHOW of materialized views from tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlext.errors import BindError, Place, UnsupportedError
from sqlext.rewriter.heads.statement import OwnStatement
from sqlext.rewriter.heads.table_clauses import take_value, take_words
from sqlext.rewriter.text.cursor import Cursor
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import string_value
from sqlext.rewriter.text.names import Parts
from sqlext.rewriter.text.nesting import check_depth
from sqlext.rewriter.tree.keywords import begins_query

REFRESH, EXPLAIN, DESCRIBE, DROP, SHOW = "REFRESH", "EXPLAIN REFRESH", "DESCRIBE", "DROP", "SHOW"
_CREATE_FORM = (
    "write CREATE [OR REPLACE] MATERIALIZED VIEW [IF NOT EXISTS] name [(column [COMMENT '…'], …)] [PARTITIONED BY (…) "
    "or CLUSTER BY (…)] [COMMENT '…'] [TBLPROPERTIES (…)] AS SELECT …."
)
_FORMS = {
    REFRESH: "REFRESH MATERIALIZED VIEW name [FULL]",
    EXPLAIN: "EXPLAIN REFRESH MATERIALIZED VIEW name",
    DESCRIBE: "DESCRIBE MATERIALIZED VIEW [EXTENDED] name",
    DROP: "DROP MATERIALIZED VIEW [IF EXISTS] name",
    SHOW: "SHOW MATERIALIZED VIEWS [IN schema] [LIKE 'pattern']",
}


@dataclass(frozen=True)
class ViewColumn:
    """A column in the list after the name of a view; `comment` is a text, None if there is none."""

    name: str
    place: Place
    comment: str | None = None


@dataclass(frozen=True, kw_only=True)
class CreateMaterializedView(OwnStatement):
    """`CREATE [OR REPLACE] MATERIALIZED VIEW [IF NOT EXISTS] name … AS query`. `clauses`: PARTITIONED BY, COMMENT and
    so on as written, by their words."""

    name: Parts
    place: Place
    query: Fragment
    or_replace: bool = False
    if_not_exists: bool = False
    columns: tuple[ViewColumn, ...] = ()
    clauses: tuple[tuple[tuple[str, ...], Fragment], ...] = ()


@dataclass(frozen=True, kw_only=True)
class MaterializedViewCommand(OwnStatement):
    """`verb` is REFRESH, EXPLAIN REFRESH, DESCRIBE, DROP or SHOW; `name` is that of the view at `place`, for SHOW that
    of a schema, which may be empty.

    `is_full`: REFRESH … FULL; `is_extended`: DESCRIBE … EXTENDED; `if_exists`: DROP … IF EXISTS; `pattern`: the names
    that SHOW lists, as `view_statements.fits` reads it.
    """

    verb: str
    name: Parts
    place: Place
    is_full: bool = False
    is_extended: bool = False
    if_exists: bool = False
    pattern: str = "*"


def parse_create(text: str) -> CreateMaterializedView:
    """The parts of CREATE MATERIALIZED VIEW. Raises ParseError, UnsupportedError for an option that does not exist, and
    BindError for a column that is written twice.

    >>> view = parse_create("CREATE OR REPLACE MATERIALIZED VIEW v (k, n COMMENT 'x') CLUSTER BY (k) AS SELECT 1, 2;")
    >>> view.name, view.or_replace, view.query.text, [(c.name, c.comment) for c in view.columns]
    (('v',), True, 'SELECT 1, 2', [('k', None), ('n', 'x')])
    >>> [clause.text for _, clause in view.clauses]
    ['CLUSTER BY (k)']
    """
    cursor = Cursor.of(text, error_class="MATERIALIZED_VIEW", hint=_CREATE_FORM)
    check_depth(text, cursor.tokens)
    cursor.take("CREATE")
    or_replace = cursor.take("OR", "REPLACE")
    cursor.take("MATERIALIZED", "VIEW")
    start = cursor.index
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    if if_not_exists and or_replace:
        message = "OR REPLACE and IF NOT EXISTS exclude each other"
        raise cursor.error(message, start, start + 3, hint="leave one of them out.")
    name = cursor.take_name()
    if name is None:
        raise cursor.expected("the name of a view")
    columns = tuple(_columns(cursor)) if cursor.is_at("(") and not begins_query(cursor.tokens, cursor.index) else ()
    clauses = dict(_clauses(cursor))
    cursor.expect("AS and a query", "AS")
    if cursor.is_at_end:
        raise cursor.expected("a query")
    return CreateMaterializedView(
        name=name.parts,
        place=Place(text, name.start, name.stop),
        query=cursor.fragment(cursor.index, len(cursor.tokens)),
        or_replace=or_replace,
        if_not_exists=if_not_exists,
        columns=columns,
        clauses=tuple(clauses.items()),
    )


def _columns(cursor: Cursor) -> Iterator[ViewColumn]:
    names: set[str] = set()
    cursor.take("(")
    while True:
        at, name = cursor.index, cursor.take_part()
        if name is None:
            raise cursor.expected("the name of a column")
        comment = None
        if cursor.take("COMMENT"):
            literal = cursor.take_string()
            if literal is None:
                raise cursor.expected("a string")
            comment = string_value(literal)
        place = cursor.fragment(at, at + 1).place
        if name.lower() in names:
            raise BindError("DUPLICATE_COLUMN", f"{name} is twice in the list of columns", place=place)
        names.add(name.lower())
        yield ViewColumn(name, place, comment)
        if cursor.take(")"):
            return
        if not cursor.take(","):
            raise cursor.expected("COMMENT '…', a comma or )")


def _clauses(cursor: Cursor) -> Iterator[tuple[tuple[str, ...], Fragment]]:
    """The clauses before AS. Raises ParseError if one is written twice."""
    seen: set[tuple[str, ...]] = set()
    while not cursor.is_at("AS"):
        start = cursor.index
        words = take_words(cursor)
        if words is None or words == ("LOCATION",):
            if cursor.is_at_end and words is None:
                raise cursor.expected("AS and a query")
            raise UnsupportedError(
                "MATERIALIZED_VIEW_OPTION",
                f"a materialized view has no {cursor.tokens[start].text}",
                place=cursor.fragment(start, start + 1).place,
                hint=_CREATE_FORM,
            )
        clause = take_value(cursor, start, words)
        if words in seen:
            raise cursor.error("this is written twice", start, cursor.index)
        seen.add(words)
        yield words, clause


def parse_command(text: str) -> MaterializedViewCommand:
    """The command that a text with the first words of one is. Raises ParseError if something else follows it.

    >>> command = parse_command("refresh materialized view db.`V` full;")
    >>> command.verb, command.name, command.is_full
    ('REFRESH', ('db', 'V'), True)
    >>> parse_command("SHOW MATERIALIZED VIEWS IN db LIKE 'a*'").pattern
    'a*'
    >>> parse_command("DESC MATERIALIZED VIEW EXTENDED v").is_extended, parse_command("DROP MATERIALIZED VIEW v").name
    (True, ('v',))
    """
    cursor = Cursor.of(text, error_class="MATERIALIZED_VIEW")
    first = "DESCRIBE" if cursor.word == "DESC" else cursor.word
    verb = EXPLAIN if first == "EXPLAIN" else first
    cursor.index = 4 if verb == EXPLAIN else 3
    cursor.hint = f"write {_FORMS[verb]}." + ("" if verb == SHOW else " SHOW MATERIALIZED VIEWS lists them.")
    command = _shown(cursor) if verb == SHOW else _about_one(cursor, verb)
    if not cursor.is_at_end:
        raise cursor.error(f"nothing may follow {_FORMS[verb]}", cursor.index, len(cursor.tokens))
    return command


def _shown(cursor: Cursor) -> MaterializedViewCommand:
    place = cursor.fragment(0, 3).place
    schema = None
    if cursor.take_one_of(("IN", "FROM")):
        schema = cursor.take_name()
        if schema is None:
            raise cursor.expected("the name of a schema")
        place = Place(cursor.text, schema.start, schema.stop)
    pattern = cursor.expect_pattern() if cursor.take("LIKE") else "*"
    return MaterializedViewCommand(verb=SHOW, name=schema.parts if schema else (), place=place, pattern=pattern)


def _about_one(cursor: Cursor, verb: str) -> MaterializedViewCommand:
    tokens, first = cursor.tokens, cursor.index
    is_extended = verb == DESCRIBE and len(tokens) > 4 and tokens[4].text != "." and cursor.take("EXTENDED")
    if_exists = verb == DROP and cursor.take("IF", "EXISTS")
    name = cursor.take_name()
    if name is None:
        raise cursor.error(f"{verb} MATERIALIZED VIEW needs the name of a view", 0, first)
    return MaterializedViewCommand(
        verb=verb,
        name=name.parts,
        place=Place(cursor.text, name.start, name.stop),
        is_full=verb == REFRESH and cursor.take("FULL"),
        is_extended=is_extended,
        if_exists=if_exists,
    )
