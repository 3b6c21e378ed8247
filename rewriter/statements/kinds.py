"""The kinds of parts that a statement may have: how the text of each is found, and how it is parsed.

A new kind is an entry of KINDS, and one of `PLANNERS` in `engine/statements/plan_statement.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Union

from sqlext.errors import all_of, raise_all
from sqlext.rewriter.emit.check_emit import check_emit
from sqlext.rewriter.emit.emit_clause import EmitClause, is_emit, parse_emits
from sqlext.rewriter.emit.window_tvf import DURATIONS, WindowTvf, is_ksql_window, is_window_tvf, parse_window_tvfs
from sqlext.rewriter.joins.join_clause import JoinClause, parse_joins
from sqlext.rewriter.match import check
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.match.parse_match import parse_match
from sqlext.rewriter.match.sites import KEYWORD, scan
from sqlext.rewriter.match_windows.check_query import unread_windows
from sqlext.rewriter.match_windows.check_window import check_window
from sqlext.rewriter.match_windows.parse_window import WindowClause, parse_windows
from sqlext.rewriter.rules.rules_clause import RulesClause, is_rules_clause, parse_rules_clauses
from sqlext.rewriter.statements.idle_sources import IdleSource, is_idle_after, parse_idle_sources
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.tokens import Tokens
from sqlext.rewriter.tree.keywords import TYPE_WORDS, is_time_join
from sqlext.rewriter.tree.read_windows import is_pattern_window, window_queries
from sqlext.rewriter.tree.statement_tree import Site, Tree


@dataclass(frozen=True)
class ClauseSite:
    """A MATCH_RECOGNIZE clause, and its place in the statement."""

    site: Site
    clause: MatchClause

    @property
    def whole(self) -> Fragment:
        return self.clause.whole


# Each part has `whole`: its full text, with the relations that it reads.
Part = Union[ClauseSite, JoinClause, WindowClause, WindowTvf, EmitClause, IdleSource, RulesClause]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of part, or kinds that are parsed together.

    `words`: a regular expression, without case, that is found in every text with such a part; a space is any gap.
    `begins`: whether such a part begins at a token; None where only the tree of the statement shows it.
    `parse`: all such parts of a statement, checked, inner ones first. Raises the errors of all of them together.
    """

    words: str
    begins: Callable[[Tokens, int], bool] | None
    parse: Callable[[Tree], Sequence[Part]]


def _matches(tree: Tree) -> list[ClauseSite]:
    sites = scan(tree.text)
    clauses = all_of(sites, lambda site: parse_match(tree.text, tree.tokens, site))
    all_of(clauses, check.check)
    return list(map(ClauseSite, sites, clauses))


def _windows(tree: Tree) -> list[WindowClause]:
    queries = list(window_queries(tree))
    raise_all(list(unread_windows(tree, queries)))
    windows = all_of(queries, lambda query: parse_windows(tree, query))
    all_of([clause for part in windows for clause in part.clauses], check_window)
    return windows


def _tvfs_and_emits(tree: Tree) -> Sequence[WindowTvf | EmitClause]:
    calls = parse_window_tvfs(tree)
    emits = parse_emits(tree, calls)
    all_of(emits, check_emit)
    return [*calls, *emits]


def _begins_tvf_or_emit(tokens: Tokens, i: int) -> bool:
    return is_window_tvf(tokens, i) or is_ksql_window(tokens, i) or is_emit(tokens, i)


# In the order in which their errors are raised.
KINDS = (
    Kind(words=KEYWORD, begins=None, parse=_matches),
    Kind(words=r"\bPATTERN \(|\b(?:DEFINE|MEASURES)\b", begins=is_pattern_window, parse=_windows),
    Kind(
        words=rf"\b(?:{'|'.join(DURATIONS)}) \(|\bWINDOW \b(?:TUMBL|HOPP)ING\b|\bEMIT\b",
        begins=_begins_tvf_or_emit,
        parse=_tvfs_and_emits,
    ),
    Kind(
        words=rf"(?:INTERVAL|ASOF) \b(?:{'|'.join(sorted(TYPE_WORDS))}|JOIN)\b",
        begins=is_time_join,
        parse=parse_joins,
    ),
    Kind(words=r"\bMATCH_RULES\b", begins=is_rules_clause, parse=parse_rules_clauses),
    Kind(words=r"\bIDLE \bAFTER\b", begins=is_idle_after, parse=parse_idle_sources),
)
