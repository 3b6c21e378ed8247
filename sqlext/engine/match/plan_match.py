"""The MATCH_RECOGNIZE clauses of a statement: bound to the columns of their input, planned, and what they answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Union

from pyspark.sql import DataFrame, SparkSession

from sqlext.engine.match.bind_clause import BoundClause, ClauseBinder
from sqlext.engine.match.explain_match import explained_clause
from sqlext.engine.match.forms import LEAD, PhysicalPlan
from sqlext.engine.planning.answers import (
    Analysis,
    Explained,
    KeptClause,
    MissesQuestion,
    PartitionMisses,
    WhyQuestion,
)
from sqlext.engine.planning.planner import Planned, PlannedPart
from sqlext.engine.planning.stream_clause import StreamClause
from sqlext.engine.queries.queries import Queries
from sqlext.errors import Place, SqlExtError
from sqlext.rewriter.match.unknown_variable import about_result, about_variable, names_of
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


# The imports inside functions load Numba, which statements that only run the clause need not.


@dataclass(frozen=True)
class PlannedClause(PlannedPart):
    """A clause or a window, with how it is run."""

    physical: PhysicalPlan

    @property
    def has_effect(self) -> bool:
        return self.physical.has_effect

    @property
    def stream_clauses(self) -> Sequence[StreamClause]:
        return self.physical.stream_clauses

    @property
    def reads_files(self) -> bool:
        return self.physical.scan is not None

    @property
    def _place(self) -> Place:
        return self.physical.plan.clause.keyword.place

    def frame(self, queries: Queries, spark: SparkSession) -> DataFrame:
        return self.physical.frame(queries, spark)

    def why(self, queries: Queries, spark: SparkSession, question: WhyQuestion) -> Iterable[Explained]:
        from sqlext.engine.match.why_rows import ChosenRows, explain_rows  # see above

        rows = ChosenRows(
            physical=self.physical,
            queries=queries,
            spark=spark,
            condition=question.condition.sql.unplaced,
            budget=question.budget,
            parameters=question.parameters,
        )
        yield Explained(kind="Clause", place=self._place, answer=partial(explain_rows, rows, question.condition))

    def analysis(self, queries: Queries, spark: SparkSession) -> Iterable[Analysis]:
        from sqlext.engine.match.analyze_match import analyze_clause  # see above

        run = partial(analyze_clause, self.physical, queries)
        yield Analysis(kind="Clause", place=self._place, is_streaming=self.physical.is_streaming, run=run)

    def kept(self, queries: Queries, spark: SparkSession) -> Iterable[KeptClause]:
        from sqlext.engine.match.kept_match import kept_match  # see above

        if self.physical.is_streaming:
            yield kept_match(self.physical, queries, spark)

    def near_misses(
        self, queries: Queries, spark: SparkSession, question: MissesQuestion
    ) -> Mapping[str, PartitionMisses] | None:
        from sqlext.engine.match.find_misses import find_misses  # see above

        is_window = self.physical.plan.task.frame is not None
        return None if is_window else find_misses(self.physical, queries, spark, question)

    def about_result(self, error: SqlExtError) -> SqlExtError:
        plan = self.physical.plan
        return about_result(error, plan.clause, [name for name, _ in plan.input_types])
