"""The joins on time of a statement: each becomes Spark's own SQL, whose extra columns no star of the query shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Union

from sqlext.engine.joins.bind_asof import bind_asof, is_native
from sqlext.engine.joins.bind_interval import bind_interval
from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.parse_statement import ParsedStatement, with_clause
from sqlext.engine.queries import Queries
from sqlext.rewriter.joins.asof_sql import AsofJoin, asof_sql, hidden_columns
from sqlext.rewriter.joins.interval_sql import RewrittenJoin
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.joins.stars import check_no_column_names, hide, names_around, reader_of
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.splice import Edit, Source
from sqlext.rewriter.tree.statement_tree import Query

PlannedJoin = Union[AsofJoin, RewrittenJoin, None]  # None: an ASOF JOIN that this Spark has itself


class JoinPlanner:
    """Plans the joins of one statement, those inside a join's operands before it."""

    def __init__(self, statement: ParsedStatement, queries: Queries, time_zone: str):
        self.statement, self.queries, self.time_zone = statement, queries, time_zone
        self.is_asof_native = cache(lambda: is_native(queries))
        self.hidden: dict[Query, dict[str, list[str]]] = {}
        self.hidden_in_inputs: dict[int, list[str]] = {}  # by the first character of the MATCH_RECOGNIZE

    def plan(self, clause: JoinClause, source: Source) -> tuple[PlannedJoin, list[Edit]]:
        """What the join became, and the edits of the statement that make it so.

        Raises BindError and UnsupportedError.
        """
        planned, edits = self._planned(clause, source)
        last = [join for join in self.statement.joins if join.query == clause.query][-1]
        if clause == last:
            hidden = self.hidden.get(clause.query, {})
            edits += hide(self.statement.tree, clause.query, hidden)
        return planned, edits

    def hidden_in_input(self, keyword: Fragment) -> list[str]:
        """The columns of the joins in the input of the MATCH_RECOGNIZE at `keyword` that the clause must not see."""
        return self.hidden_in_inputs.get(keyword.start, [])

    def _planned(self, clause: JoinClause, source: Source) -> tuple[PlannedJoin, list[Edit]]:
        if clause.kind == "ASOF" and clause.is_of_spark and self.is_asof_native():
            return None, []
        sides = JoinSides(
            clause,
            number=self.statement.joins.index(clause),
            tree=self.statement.tree,
            source=source,
            prefix=with_clause(self.statement.ctes(clause.whole), source),
            queries=self.queries,
        )
        if clause.kind == "ASOF":
            asof = bind_asof(sides)
            self._hide(clause, hidden_columns(asof))
            return asof, [Edit(clause.whole.start, clause.whole.stop, asof_sql(asof))]
        interval = bind_interval(sides, self.time_zone)
        self._hide(clause, {"": interval.hidden} if interval.hidden else {})
        return interval, list(interval.edits)

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
