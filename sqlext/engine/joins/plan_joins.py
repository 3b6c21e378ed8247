"""The joins on time of a statement: each is rewritten as Spark's own SQL, and a star in the query does not show its
extra columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain

from sqlext.engine.joins.bind_asof import bind_asof, is_native
from sqlext.engine.joins.bind_interval import bind_interval
from sqlext.engine.joins.explain_joins import explained_asof, explained_interval, explained_native
from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.queries.queries import Queries
from sqlext.engine.streams.planner import Planned, Section
from sqlext.rewriter.joins.asof_sql import asof_sql, hidden_columns
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.joins.stars import check_no_column_names, hide, names_around, reader_of
from sqlext.rewriter.statements.parse_statement import ParsedStatement
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.splice import Edit, Source, Text
from sqlext.rewriter.tree.statement_tree import Query


class JoinPlanner:
    """Plans the joins of one statement. Joins in the operands of another join are planned before it.

    `hidden_in_inputs`: receives the columns of joins in the input of a MATCH_RECOGNIZE that the clause must not see, by
    the first character of its keyword.
    """

    def __init__(
        self, statement: ParsedStatement, queries: Queries, time_zone: str, hidden_in_inputs: dict[int, list[str]]
    ):
        self.statement, self.queries, self.time_zone = statement, queries, time_zone
        self.hidden_in_inputs = hidden_in_inputs
        self.is_asof_native = cache(lambda: is_native(queries))
        self.hidden: dict[Query, dict[str, list[str]]] = {}

    def plan(self, clause: JoinClause, source: Source, prefix: Text) -> Planned:
        section, edits = self._planned(clause, source, prefix)
        last = [join for join in self.statement.joins if join.query == clause.query][-1]
        if clause == last:
            hidden = self.hidden.get(clause.query, {})
            edits += hide(self.statement.tree, clause.query, hidden)
        return Planned(edits=edits, sections=[section])

    def _planned(self, clause: JoinClause, source: Source, prefix: Text) -> tuple[Section, list[Edit]]:
        if clause.kind == "ASOF" and clause.is_of_spark and self.is_asof_native():
            return explained_native(), []
        sides = JoinSides(
            clause,
            number=self.statement.joins.index(clause),
            tree=self.statement.tree,
            source=source,
            prefix=prefix,
            queries=self.queries,
        )
        if clause.kind == "ASOF":
            asof = bind_asof(sides)
            self._hide(clause, hidden_columns(asof))
            return explained_asof(asof), [Edit(clause.whole.start, clause.whole.stop, asof_sql(asof))]
        interval = bind_interval(sides, self.time_zone)
        self._hide(clause, {"": interval.hidden} if interval.hidden else {})
        return explained_interval(interval), list(interval.edits)

    def _hide(self, clause: JoinClause, columns: Mapping[str, Sequence[str]]) -> None:
        """Note the columns, by the name of their relation, that the reader of the join must hide."""
        if not columns:
            return
        reader = reader_of(self.statement.tree, clause)
        check_no_column_names(self.statement.tree, clause)
        if reader is not None:
            keyword = self.statement.tree.tokens[reader.clauses[0]]
            self.hidden_in_inputs.setdefault(keyword.start, []).extend(chain(*columns.values()))
            return
        hidden = self.hidden.setdefault(clause.query, {})
        around = names_around(self.statement.tree, clause)
        for relation, names in columns.items():
            for name in {unquoted(relation).lower(), *around}:
                hidden.setdefault(name, []).extend(names)
