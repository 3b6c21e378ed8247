"""Parses the clauses and joins of a statement from its tokens alone, as the first step of its compilation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlext.rewriter.emit.emit_clause import EmitClause
from sqlext.rewriter.match import check
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.match_windows.parse_window import WindowClause
from sqlext.rewriter.statements.kinds import KINDS, ClauseSite, Part
from sqlext.rewriter.statements.time_patterns import time_pattern_warnings
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Edit, Source, Text, join
from sqlext.rewriter.tree.read_tree import read_tree
from sqlext.rewriter.tree.sources import visible_ctes
from sqlext.rewriter.tree.statement_tree import Cte, Tree

P = TypeVar("P")


@dataclass(frozen=True)
class ParsedStatement:
    """A statement with its parsed parts, in the order of their ends: a part inside another one comes before it."""

    tree: Tree
    parts: tuple[Part, ...]

    def of(self, kind: type[P]) -> list[P]:
        """The parts of one kind, a type of `Part`."""
        return [part for part in self.parts if isinstance(part, kind)]

    @property
    def all_clauses(self) -> list[MatchClause]:
        """The MATCH_RECOGNIZE clauses and the windows with row patterns."""
        windows = (clause for part in self.of(WindowClause) for clause in part.clauses)
        return [*(part.clause for part in self.of(ClauseSite)), *windows]

    @property
    def warnings(self) -> list[str]:
        """Sentences about clauses that are legal but probably not what the user meant."""
        of_clauses = (sentence for clause in self.all_clauses for sentence in check.warnings(clause))
        return [*of_clauses, *time_pattern_warnings(self.tree.tokens)]

    @property
    def pattern_bodies(self) -> list[tuple[int, int]]:
        """The character ranges (start, stop) of the bodies of PATTERN, in which a ? is no parameter."""
        patterns = (clause.pattern_text for clause in self.all_clauses)
        return [(pattern.start, pattern.stop) for pattern in patterns]

    def prefix(self, part: Part, source: Source) -> Text:
        """The WITH clause that the relations of a part need, as edited in `source`."""
        reader = part.call.whole if isinstance(part, EmitClause) else part.whole  # the query of EMIT may have a WITH
        return with_clause(self.ctes(reader), source)

    def conditions(self) -> Iterator[Edit]:
        """Further parentheses around a name in them that is the condition of a WHERE directly after a part.

        Spark reads `FROM relation WHERE (a)` as the alias WHERE with a column a, and no user means that after a part.

        >>> text = "FROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS true) WHERE (a)"
        >>> print(Source(text).edited(parse_statement(text).conditions()).slice(0, len(text)))
        FROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS true) WHERE ((a))
        """
        ends = {(part.call.whole if isinstance(part, EmitClause) else part.whole).stop for part in self.parts}
        tokens = self.tree.tokens
        for before, where, opening, name, closing in zip(*(tokens[i:] for i in range(5))):
            is_after_part = where.word == "WHERE" and before.stop in ends
            if is_after_part and name.is_name and (opening.text, closing.text) == ("(", ")"):
                yield Edit(opening.start, opening.stop, "((")
                yield Edit(closing.start, closing.stop, "))")

    def ctes(self, reader: Fragment) -> tuple[Cte, ...]:
        """The CTEs that the relations of a clause or a join can name."""
        return visible_ctes(self.tree, reader)


def with_clause(ctes: Sequence[Cte], source: Source) -> Text:
    """A WITH clause for the CTEs, as edited in `source`; empty if there are no CTEs."""
    if not ctes:
        return Text()
    word = "WITH RECURSIVE " if any(c.is_recursive for c in ctes) else "WITH "
    definitions = (source.of(c.definition) for c in ctes)
    return join(word, join(*definitions, separator=", "), " ")


def parse_statement(text: str) -> ParsedStatement:
    """The statement with its parsed parts. Raises the errors of the first kind in KINDS that has any."""
    tree = read_tree(text)
    parts = [part for kind in KINDS for part in kind.parse(tree)]
    return ParsedStatement(tree, tuple(sorted(parts, key=lambda part: (part.whole.stop, -part.whole.start))))
