"""A query as plain SQL for `separable_columns`: names for its sources, and for each clause what says of it by which
columns its rows are computed. Spark never gets this text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sqlext.errors import SqlExtError
from sqlext.expressions.function import ExecutionSettings
from sqlext.operators.emit.parts import CUMULATE, SESSION, TUMBLE
from sqlext.rewriter.emit.durations import duration
from sqlext.rewriter.emit.emit_clause import EmitClause
from sqlext.rewriter.emit.window_tvf import WindowTvf
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.match_windows.parse_window import WindowClause
from sqlext.rewriter.refresh_keys.separable import PARTITION, PARTITION_OF_ALL_ROWS, WINDOW, NotSeparableError
from sqlext.rewriter.scalars.static_binder import StaticBinder
from sqlext.rewriter.statements.kinds import ClauseSite, Part
from sqlext.rewriter.statements.parse_statement import ParsedStatement, parse_statement
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import only_column, quoted
from sqlext.rewriter.text.splice import Edit, Source
from sqlext.rewriter.text.tokens import index_at
from sqlext.rewriter.tree.sources import relations
from sqlext.rewriter.tree.statement_tree import Tree


def plain_query(text: str, names: Sequence[str]) -> str:
    """The query with these names in place of its sources, and plain SQL in place of its clauses.

    Raises NotSeparableError for a clause of which nothing is known, and the errors of the query.

    >>> text = "SELECT n FROM t MATCH_RECOGNIZE (PARTITION BY k MEASURES count(*) AS n PATTERN (A) DEFINE A AS v)"
    >>> print(plain_query(text, ["s"]))
    SELECT n FROM (SELECT k AS `k`, NULL AS `n` FROM s AS `t` QUALIFY __sqlext_partition__(k))
    """
    statement = parse_statement(text)
    if any(token.text == "|>" for token in statement.tree.tokens):
        raise NotSeparableError("a pipe is not looked into")
    source = Source(text).edited(source_edits(statement.tree, names))
    for part in statement.parts:
        edits = _EDITS.get(type(part))
        if edits is None:
            raise NotSeparableError(f"{_first_words(part.whole)} reads rows of all keys")
        source = source.edited(edits(part, source, statement))
    return str(source.slice(0, len(text)))


def with_sources(text: str, names: Sequence[str]) -> str:
    """The query with these names, as they are written, in place of its sources, under the names of which it reads them.

    >>> with_sources("WITH c AS (SELECT t.k FROM db.t) SELECT * FROM c JOIN u AS t", ["x", "y"])
    'WITH c AS (SELECT t.k FROM x AS `t`) SELECT * FROM c JOIN y AS t'
    """
    tree = parse_statement(text).tree
    return str(Source(text).edited(source_edits(tree, names)).slice(0, len(text)))


def source_edits(tree: Tree, names: Sequence[str]) -> Iterator[Edit]:
    """The edits that replace the names of the relations that a query reads, in the order of `relations`."""
    for name, replacement in zip(relations(tree.text), names):
        before = index_at(tree.tokens, name.start) - 1
        is_table = before >= 0 and tree.tokens[before].word == "TABLE"  # after TABLE there can be no alias
        alias = f" AS {quoted(name.parts[-1])}" if tree.is_bare(name) and not is_table else ""
        yield Edit(name.start, name.stop, replacement + alias)


def _first_words(fragment: Fragment) -> str:
    return " ".join(fragment.text.split()[:3]) + " …"


def _match(part: ClauseSite, source: Source, statement: ParsedStatement) -> Iterator[Edit]:
    clause = part.clause
    rows, keys = source.of(clause.relation), ", ".join(str(source.of(key.expression)) for key in clause.partition_by)
    items = ", ".join(_items(clause, source))
    mark = PARTITION_OF_ALL_ROWS if clause.rows_per_match.is_all_rows else PARTITION
    yield Edit(clause.whole.start, clause.whole.stop, f"(SELECT {items} FROM {rows} QUALIFY {mark}({keys}))")


def _items(clause: MatchClause, source: Source) -> Iterator[str]:
    """The columns of a MATCH_RECOGNIZE, whose order is certain with ONE ROW PER MATCH only."""
    named: list[str] = []
    for key in clause.partition_by:
        text = str(source.of(key.expression))
        column = only_column(text)
        named += [column] if column is not None else []
        name = key.name.text if key.name is not None else column
        yield f"{text} AS {quoted(name)}" if name is not None else text
    yield from (f"NULL AS {quoted(measure.name.text)}" for measure in clause.measures)
    if clause.rows_per_match.is_all_rows:
        yield f"* EXCEPT ({', '.join(map(quoted, named))})" if named else "*"
    elif not clause.partition_by and not clause.measures:
        yield "NULL"


def _window_tvf(part: WindowTvf, source: Source, statement: ParsedStatement) -> Iterator[Edit]:
    rows, keys = source.of(part.data), ", ".join(str(source.of(key)) for key in part.partition_by)
    ends = _ends_of_windows(part, source)
    columns = ", ".join(f"{ends.get(name, 'NULL')} AS window_{name}" for name in ("start", "end", "time"))
    mark = f" QUALIFY {PARTITION_OF_ALL_ROWS}({keys})" if part.kind == SESSION else ""
    yield Edit(part.whole.start, part.whole.stop, f"(SELECT *, {columns} FROM {rows}{mark})")


def _ends_of_windows(part: WindowTvf, source: Source) -> Mapping[str, str]:
    """The ends that all windows of a row have in common, as `separable_columns` reads them."""
    if part.kind not in (TUMBLE, CUMULATE) or part.time is None:
        return {}
    constants = StaticBinder(columns={}, settings=ExecutionSettings(is_ansi=True, time_zone="UTC"))
    try:
        size = duration(part.durations["SIZE"], source, constants)
        offset = duration(part.durations["OFFSET"], source, constants, least=None) if "OFFSET" in part.durations else 0
    except SqlExtError:  # an expression that only Spark computes
        return {}
    ends = ("start", "end") if part.kind == TUMBLE else ("start",)
    return {end: f"{WINDOW}({source.of(part.time)}, {size}, {offset % size}, '{end}')" for end in ends}


def _emit(part: EmitClause, source: Source, statement: ParsedStatement) -> Iterator[Edit]:
    yield Edit(part.keyword.start, part.stop, "")


def _join(part: JoinClause, source: Source, statement: ParsedStatement) -> Iterator[Edit]:
    """A join on time computes a row of one key from the rows of this key on both sides, as a plain join does."""
    if part.using and part.match_condition is None:
        raise NotSeparableError("USING of an ASOF JOIN has the time among its names: write MATCH_CONDITION")
    if part.kind == "INTERVAL" and any(t.word == "AGGREGATE" for t in _tokens_of(part.whole, statement.tree)):
        raise NotSeparableError("AGGREGATE of an INTERVAL JOIN is not looked into")
    words = "JOIN" if part.join_type == "INNER" else f"{part.join_type} JOIN"
    yield Edit(part.words.start, part.words.stop, words)
    condition = part.match_condition
    if condition is not None and not (part.on and part.on.start <= condition.whole.start < part.on.stop):
        stop = condition.whole.stop if condition.within is None else condition.within.stop
        yield Edit(condition.whole.start, stop, "")


def _tokens_of(fragment: Fragment, tree: Tree) -> Sequence[Any]:
    return tree.tokens[index_at(tree.tokens, fragment.start) : index_at(tree.tokens, fragment.stop)]


def _pattern_windows(part: WindowClause, source: Source, statement: ParsedStatement) -> Iterator[Edit]:
    """Each call OVER a window with a row pattern, and the definitions of these windows without what is in them."""
    tokens = statement.tree.tokens
    clauses = dict(zip(part.site.windows, part.clauses))
    for call in part.site.calls:
        keys = ", ".join(str(source.of(key.expression)) for key in clauses[call.window].partition_by)
        yield Edit(tokens[call.start].start, tokens[call.stop - 1].stop, f"{PARTITION}({keys})")
    for window, clause in clauses.items():
        if tokens[window.keyword].word != "OVER":
            keys = ", ".join(str(source.of(key.expression)) for key in clause.partition_by)
            yield Edit(tokens[window.opening].stop, tokens[window.closing].start, keys and f"PARTITION BY {keys}")


_EDITS: Mapping[type[Part], Callable[[Any, Source, ParsedStatement], Iterator[Edit]]] = {
    ClauseSite: _match,
    WindowTvf: _window_tvf,
    EmitClause: _emit,
    JoinClause: _join,
    WindowClause: _pattern_windows,
}
