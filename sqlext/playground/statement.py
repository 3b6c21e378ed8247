"""The statement in the editor: its one MATCH_RECOGNIZE over the rows, bound to their columns without Spark."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sqlext.aggregates.registry import AGGREGATES
from sqlext.engine.why.why_clause import WhyClause
from sqlext.errors import Place, SqlExtError, UnsupportedError, all_of
from sqlext.playground.table import SETTINGS, Table
from sqlext.rewriter.lowering.input_query import InputRelation
from sqlext.rewriter.lowering.lower_conjuncts import SearchPlan
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.scalars.static_binder import StaticBinder
from sqlext.rewriter.statements.kinds import ClauseSite
from sqlext.rewriter.statements.parse_statement import parse_statement
from sqlext.rewriter.tree.statement_tree import Tree

_HINT = "write SELECT * FROM {} MATCH_RECOGNIZE ( … )."


@dataclass(frozen=True, kw_only=True)
class Statement:
    """The text of a statement over a table, its structure, and its parsed clause."""

    text: str
    table: Table
    clause: MatchClause
    tree: Tree

    @cached_property
    def why(self) -> WhyClause:
        return WhyClause(text=self.text, index=0, relation=self.relation)

    @cached_property
    def binder(self) -> StaticBinder:
        return StaticBinder(columns=self.table.types, settings=SETTINGS, text=self.text)

    @cached_property
    def relation(self) -> InputRelation:
        return InputRelation(
            columns=tuple(self.table.types.items()),
            resolver=self.binder,
            is_aggregate=lambda name: name.lower() in AGGREGATES,
            settings=SETTINGS,
        )

    @cached_property
    def plan(self) -> SearchPlan:
        """The plan of the clause, whose keys can be computed. Raises SqlExtError, with places in the text."""
        plan = self.why.plan()
        all_of((*plan.partition_by, *(key for key, _ in plan.order_by)), self.binder.tree)
        return plan


def read_statement(text: str, table: Table) -> Statement:
    """The statement of a text. Raises SqlExtError: errors of syntax, or PLAYGROUND_STATEMENT."""
    parsed = parse_statement(text)
    sites = parsed.of(ClauseSite)
    if len(sites) != 1 or len(parsed.parts) != 1:
        what = "no MATCH_RECOGNIZE" if not parsed.parts else "more than one MATCH_RECOGNIZE, or another clause of ours"
        raise _refused(f"the statement has {what}", table)
    clause = sites[0].clause
    name = clause.relation.text.split()[0]
    if name.strip("`").lower() != table.name.lower():
        place = Place(text, clause.relation.start, clause.relation.stop)
        raise _refused(f'the rows on this page are called "{table.name}"', table, place)
    return Statement(text=text, table=table, clause=clause, tree=parsed.tree)


def _refused(message: str, table: Table, place: Place | None = None) -> SqlExtError:
    return UnsupportedError("PLAYGROUND_STATEMENT", message, place=place, hint=_HINT.format(table.name))
