"""Parses the clauses and joins of a statement from its tokens alone, as the first step of its compilation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Union

from sqlext.errors import all_of, raise_all
from sqlext.rewriter.emit.check_emit import check_emit
from sqlext.rewriter.emit.emit_clause import EmitClause, parse_emits
from sqlext.rewriter.emit.window_call import WindowTvf, parse_window_calls
from sqlext.rewriter.joins.join_clause import JoinClause, parse_joins
from sqlext.rewriter.match import check
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.match.parse_match import parse_match
from sqlext.rewriter.match.sites import scan
from sqlext.rewriter.match_windows.check_query import unread_windows
from sqlext.rewriter.match_windows.check_window import check_window
from sqlext.rewriter.match_windows.parse_window import WindowClause, parse_windows
from sqlext.rewriter.rules.rules_clause import RulesClause, parse_rules_clauses
from sqlext.rewriter.statements.idle_sources import IdleSource, parse_idle_sources
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Source, Text, join
from sqlext.rewriter.tree.read_tree import read_tree
from sqlext.rewriter.tree.read_windows import window_queries
from sqlext.rewriter.tree.sources import visible_ctes
from sqlext.rewriter.tree.statement_tree import Cte, Site, Tree


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
class ParsedStatement:
    """A statement with its parsed parts.

    `clauses`, `joins` and `windows` are in the order of their ends: a clause in the input of another one comes before
    it.
    """

    tree: Tree
    clauses: tuple[ClauseSite, ...]
    joins: tuple[JoinClause, ...]
    windows: tuple[WindowClause, ...] = ()
    calls: tuple[WindowTvf, ...] = ()
    emits: tuple[EmitClause, ...] = ()
    rules: tuple[RulesClause, ...] = ()
    idle_sources: tuple[IdleSource, ...] = ()

    @property
    def parts(self) -> list[Part]:
        """All parts of the statement; a part inside another one comes before it."""
        parts: list[Part] = [
            *self.idle_sources, *self.clauses, *self.joins, *self.windows, *self.calls, *self.emits,
            *self.rules
        ]  # fmt: skip
        return sorted(parts, key=lambda part: part.whole.stop)

    @property
    def all_clauses(self) -> list[MatchClause]:
        """The MATCH_RECOGNIZE clauses and the windows with row patterns."""
        windows = (clause for part in self.windows for clause in part.clauses)
        return [*(part.clause for part in self.clauses), *windows]

    @property
    def warnings(self) -> list[str]:
        """Sentences about clauses that are legal but probably not what the user meant."""
        return [sentence for clause in self.all_clauses for sentence in check.warnings(clause)]

    @property
    def pattern_bodies(self) -> list[tuple[int, int]]:
        """The character ranges (start, stop) of the bodies of PATTERN, in which a ? is no parameter."""
        patterns = (clause.pattern_text for clause in self.all_clauses)
        return [(pattern.start, pattern.stop) for pattern in patterns]

    def prefix(self, part: Part, source: Source) -> Text:
        """The WITH clause that the relations of a part need, as edited in `source`."""
        reader = part.call.whole if isinstance(part, EmitClause) else part.whole  # the query of EMIT may have a WITH
        return with_clause(self.ctes(reader), source)

    def ctes(self, reader: Fragment) -> tuple[Cte, ...]:
        """The CTEs that the relations of a clause or a join can name."""
        return visible_ctes(self.tree, reader)


def with_clause(ctes: Sequence[Cte], source: Source) -> Text:
    """A WITH clause for the CTEs, as edited in `source`; empty if there are no CTEs."""
    if not ctes:
        return Text()
    word = "WITH RECURSIVE " if any(c.is_recursive for c in ctes) else "WITH "
    definitions = (source.slice(c.definition.start, c.definition.stop) for c in ctes)
    return join(word, join(*definitions, separator=", "), " ")


def parse_statement(text: str) -> ParsedStatement:
    """The statement with its parsed parts.

    Raises the syntax errors of all clauses together, then the errors of the checks.
    """
    tree = read_tree(text)
    sites = scan(text)
    clauses = all_of(sites, lambda site: parse_match(text, tree.tokens, site))
    all_of(clauses, check.check)
    sites_of_windows = list(window_queries(tree))
    raise_all(list(unread_windows(tree, sites_of_windows)))
    windows = all_of(sites_of_windows, lambda query: parse_windows(tree, query))
    all_of([clause for part in windows for clause in part.clauses], check_window)
    calls = parse_window_calls(tree)
    emits = parse_emits(tree, calls)
    all_of(emits, check_emit)
    return ParsedStatement(
        tree=tree,
        clauses=tuple(map(ClauseSite, sites, clauses)),
        joins=parse_joins(tree),
        windows=tuple(windows),
        calls=calls,
        emits=emits,
        rules=parse_rules_clauses(tree),
        idle_sources=parse_idle_sources(tree),
    )
