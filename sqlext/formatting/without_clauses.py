"""Removes the extended language from a statement, for tools that know Spark's own grammar only.

The result can be parsed but should not be run: clauses are left out, and the rest keeps its order and its names.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from sqlext.formatting.check_syntax import check_syntax
from sqlext.rewriter.emit.emit_clause import EmitClause
from sqlext.rewriter.emit.window_tvf import WindowTvf
from sqlext.rewriter.heads.materialized_views import CreateMaterializedView, MaterializedViewCommand
from sqlext.rewriter.heads.statement import Statement
from sqlext.rewriter.heads.stream_heads import DescribeKey, StreamCommand
from sqlext.rewriter.heads.stream_target import StreamTarget
from sqlext.rewriter.joins.join_clause import NEAREST, JoinClause
from sqlext.rewriter.match_windows.parse_window import WindowClause
from sqlext.rewriter.rules.rule_statements import RuleStatement
from sqlext.rewriter.rules.rules_clause import RulesClause
from sqlext.rewriter.statements.explain_statement import ExplainStatement
from sqlext.rewriter.statements.idle_sources import IdleSource
from sqlext.rewriter.statements.kinds import ClauseSite
from sqlext.rewriter.statements.parse_statement import ParsedStatement, parse_statement
from sqlext.rewriter.statements.read_statement import read_statement
from sqlext.rewriter.statements.scan import is_extended
from sqlext.rewriter.statements.sql_file import file_statements
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Edit, Source
from sqlext.rewriter.text.tokens import NUMBER, STRING, Tokens, index_at, is_at, tokenize
from sqlext.rewriter.tree.keywords import INTERVAL_UNITS
from sqlext.rewriter.tree.statement_tree import Tree

_BEFORE_STREAM = frozenset({"FROM", "JOIN", ",", "TABLE"})


def edits_of_file(text: str) -> list[Edit]:
    """The edits, in the order of their places, after which a file contains only Spark's own grammar.

    Raises SqlExtError, with a place in the file, for the first statement whose clauses are wrong.

    >>> text = "SELECT a FROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS true) AS m; STOP STREAMING TABLE x"
    >>> [(text[edit.start : edit.stop], edit.replacement) for edit in edits_of_file(text)]
    [(' MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS true)', ''), ('STOP STREAMING TABLE x', 'SELECT 1')]
    """
    edits: list[Edit] = []
    statements = list(file_statements(text))
    for statement, following in zip_longest(statements, statements[1:]):
        by = statement.start
        edits += (Edit(e.start + by, e.stop + by, e.replacement) for e in _edits(statement.text))
        if following is not None and not tokenize(text[statement.stop : following.start]):
            edits.append(Edit(statement.stop, statement.stop + 1, ";" + text[statement.stop]))  # the end of a cell
    return edits


def _edits(text: str) -> list[Edit]:
    check_syntax(text)
    read, tokens = read_statement(text), tokenize(text)
    if isinstance(read, (RuleStatement, StreamCommand, DescribeKey, MaterializedViewCommand)):
        return [Edit(0, len(text), "SELECT 1")]
    edits = [*_head(read, tokens), *_watermarks(tokens)]
    if is_extended(text):
        statement = parse_statement(text)
        edits += _of_clauses(statement, tokens)
        for join in statement.of(JoinClause):  # inner ones first
            edits.append(_of_join(join, edits))
    return _outermost(edits)


def _outermost(edits: list[Edit]) -> list[Edit]:
    """The edits that are not inside other edits."""
    result: list[Edit] = []
    for edit in sorted(set(edits), key=lambda e: (e.start, -e.stop)):
        if not result or edit.start >= result[-1].stop:
            result.append(edit)
    return result


def _left_out(tokens: Tokens, lo: int, hi: int) -> Edit:
    """The edit that leaves out tokens `lo` to `hi` (exclusive), with the gap before them."""
    return Edit(tokens[lo - 1].stop if lo else tokens[lo].start, tokens[hi - 1].stop, "")


def _head(statement: Statement, tokens: Tokens) -> Iterator[Edit]:
    """The edits that make EXPLAIN MATCH an EXPLAIN, and CREATE STREAMING TABLE or MATERIALIZED VIEW a CREATE TABLE or
    VIEW."""
    if isinstance(statement, ExplainStatement):
        yield _left_out(tokens, 1, index_at(tokens, statement.query.start))
        if (after := index_at(tokens, statement.query.stop)) < len(tokens):  # FOR ROW
            yield _left_out(tokens, after, len(tokens))
    elif isinstance(statement, (StreamTarget, CreateMaterializedView)):
        yield _left_out(tokens, 1, 4 if tokens[1].word == "OR" else 2)
        after, query = index_at(tokens, statement.place.stop), index_at(tokens, statement.query.start)
        before_as = query - is_at(tokens, query - 1, "AS")
        if before_as > after:
            yield _left_out(tokens, after, before_as)


def _watermarks(tokens: Tokens) -> Iterator[Edit]:
    """The edits that leave out STREAM before a relation, and WATERMARK … DELAY OF … after it."""
    for i, token in enumerate(tokens):
        if token.word == "STREAM" and i and tokens[i - 1].word in _BEFORE_STREAM and i + 1 < len(tokens):
            if tokens[i + 1].is_name and tokens[i + 1].word not in ("AS", "WHERE"):
                yield Edit(token.start, tokens[i + 1].start, "")
        elif token.word == "WATERMARK":
            delay = next((k for k in range(i + 1, len(tokens)) if is_at(tokens, k, "DELAY", "OF")), None)
            if delay is not None:
                yield _left_out(tokens, i, _after_interval(tokens, delay + 2))


def _after_interval(tokens: Tokens, i: int) -> int:
    i += is_at(tokens, i, "INTERVAL")
    while i < len(tokens) and (
        tokens[i].kind in (NUMBER, STRING) or tokens[i].text in ("-", "+", "TO") or tokens[i].word in INTERVAL_UNITS
    ):
        i += 1
    return i


def _of_clauses(statement: ParsedStatement, tokens: Tokens) -> Iterator[Edit]:
    for part in statement.of(ClauseSite):
        yield _after(statement.tree, part.site.keyword, part.site.whole)
    for rules in statement.of(RulesClause):
        yield _after(statement.tree, rules.keyword, rules.whole)
    for source in statement.of(IdleSource):
        yield _after_token(tokens, Fragment(source.whole.source, source.idle.start, source.whole.stop))
    yield from _of_windows(statement, tokens)
    yield from _of_emits(statement, tokens)


def _of_join(join: JoinClause, edits: list[Edit]) -> Edit:
    """The edit that replaces everything after the left operand by a join of Spark with the same conditions.

    It is one edit, because a tool may change any text that no edit covers. It keeps the names in the conditions,
    because without them a tool would report aliases as unused.
    """
    condition, on = join.match_condition, join.on
    conditions = [] if on is None else [_edited(on, edits)]
    if condition is not None and (on is None or condition.whole.start < on.start):
        both = (_edited(side, edits) for side in (condition.left, condition.right))
        operator = "=" if condition.operator == NEAREST else condition.operator
        conditions.insert(0, f" {operator} ".join(both))
    words = f"{join.join_type} JOIN {_edited(join.right, edits)} ON {' AND '.join(conditions) or 'TRUE'}"
    return Edit(join.words.start, join.whole.stop, words)


def _edited(fragment: Fragment, edits: list[Edit]) -> str:
    inside = _outermost([e for e in edits if fragment.start <= e.start and e.stop <= fragment.stop])
    return str(Source(fragment.source, tuple(inside)).of(fragment))


def _after(tree: Tree, keyword: Fragment, whole: Fragment) -> Edit:
    """The edit that leaves out a clause after a relation, with the alias that only the clause reads."""
    at = index_at(tree.tokens, keyword.start)
    relation = tree.relation_of(at)
    alias = relation.aliases[relation.clauses.index(at)] if relation is not None else None
    last = at - 1 if alias is None else alias.name - 1 - is_at(tree.tokens, alias.name - 1, "AS")
    return Edit(tree.tokens[last].stop, whole.stop, "")


def _after_token(tokens: Tokens, fragment: Fragment) -> Edit:
    return _left_out(tokens, index_at(tokens, fragment.start), index_at(tokens, fragment.stop))


def _of_windows(statement: ParsedStatement, tokens: Tokens) -> Iterator[Edit]:
    """The edits that leave out the sections of row patterns in windows, and OVER after measures."""
    for windows in statement.of(WindowClause):
        for relation in statement.tree.relations:
            alias = relation.aliases[-1] if relation.query == windows.site.query else None
            if alias is not None:  # The windows may read the alias.
                yield Edit(tokens[alias.name].start, tokens[alias.name].stop, tokens[alias.name].text)
        for window in windows.site.windows:
            first = next(
                i for i in range(window.opening + 1, window.closing) if _begins_pattern(tokens, i, window.opening)
            )
            start = tokens[first - 1].stop
            yield Edit(start, tokens[window.closing].start, "")
        for call in windows.site.calls:
            if tokens[call.over - 1].text != ")":
                measure = statement.tree.fragment(call.start, call.over)
                yield Edit(measure.start, tokens[call.stop - 1].stop, measure.text)


def _begins_pattern(tokens: Tokens, i: int, opening: int) -> bool:
    words = ("MEASURES", "ROWS", "AFTER", "INITIAL", "SEEK", "PATTERN")
    return tokens[i].word in words and tokens[i].depth == tokens[opening].depth + 1


def _of_emits(statement: ParsedStatement, tokens: Tokens) -> Iterator[Edit]:
    """The edits that replace the call of a window function by the relation that it reads, and leave out EMIT."""
    for call in statement.of(WindowTvf):
        data, whole = call.data, call.whole
        yield Edit(whole.start, data.start, "")
        yield Edit(data.stop, whole.stop, "")
    for emit in statement.of(EmitClause):
        yield _left_out(tokens, index_at(tokens, emit.keyword.start), index_at(tokens, emit.stop))
