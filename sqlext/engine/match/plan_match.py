"""The MATCH_RECOGNIZE clauses of a statement: bound to the columns of their input, and planned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Union

from sqlext.engine.match.bind_clause import BoundClause, ClauseBinder
from sqlext.engine.match.explain_match import explained_clause
from sqlext.engine.match.forms import LEAD, PhysicalPlan
from sqlext.engine.match.planned_clause import PlannedClause
from sqlext.engine.planning.planner import Planned
from sqlext.engine.queries.queries import Queries
from sqlext.errors import SqlExtError
from sqlext.rewriter.match.unknown_variable import about_variable, names_of
from sqlext.rewriter.statements.kinds import ClauseSite
from sqlext.rewriter.text.splice import Edit, Source, Text

# How a bound clause is run, None if it is not run, and the relation that replaces it in the text.
PlanClause = Callable[[BoundClause, Queries], tuple[Union[PhysicalPlan, None], str]]


@dataclass(frozen=True, kw_only=True)
class MatchPlanner:
    """Plans the clauses of one statement. `hidden_in_inputs`: the columns of joins in the input of a clause that it
    must not see, by the first character of its keyword."""

    binder: ClauseBinder
    plan_clause: PlanClause
    hidden_in_inputs: Mapping[int, Sequence[str]]

    def plan(self, part: ClauseSite, source: Source, prefix: Text) -> Planned:
        hidden = self.hidden_in_inputs.get(part.site.keyword.start, ())
        bound: BoundClause | None = None
        try:
            bound = self.binder.bind(part, source, prefix, hidden)
            planned, relation = self.plan_clause(bound, self.binder.queries)
        except SqlExtError as e:
            columns = [name for name, _ in bound.plan.input_types] if bound else []
            raise about_variable(e, names_of(part.clause), columns) from None
        edits = [Edit(part.whole.start, part.whole.stop, relation)]
        if planned is None:
            return Planned(edits=edits)
        return Planned(
            edits=edits,
            relations={relation: PlannedClause(planned)},
            sections=[explained_clause(planned)],
            needs_workers=planned.form is not LEAD,
            warnings=planned.warnings,
        )
