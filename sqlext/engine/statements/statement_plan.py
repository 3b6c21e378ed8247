"""A planned statement, and a stored view that it reads: how they are run, and what their parts say about themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.sql import DataFrame, SparkSession

from sqlext.catalog.views import View
from sqlext.engine.joins.plan_joins import PlannedJoin
from sqlext.engine.planning.answers import (
    Analysis,
    Explained,
    KeptClause,
    MissesQuestion,
    PartitionMisses,
    WhyQuestion,
)
from sqlext.engine.planning.planner import PlannedPart, PlannedRelation, Section
from sqlext.engine.planning.stream_clause import StreamClause
from sqlext.engine.queries.queries import Queries
from sqlext.engine.queries.spark_errors import ERRORS, shows_internals, word_at
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.sources.tables import SourceRows
from sqlext.engine.views.view_columns import view_columns
from sqlext.engine.views.view_settings import other_settings, with_its_settings
from sqlext.engine.why.row_condition import RowCondition
from sqlext.errors import Place, SqlExtError
from sqlext.rewriter.text.splice import Edit, Source, Text
from sqlext.spark.quiet_probes import quiet_probes

if TYPE_CHECKING:
    from sqlext.pattern.why.row_search import Budget  # loads the matchers, which most statements need not


@dataclass(frozen=True, kw_only=True)
class StatementPlan:
    """A statement, ready to be run.

    `relations`: the clauses and the stored views, by the names that replace them in `source`, each after the relations
    that it reads; `views`: the stored views among them; `sources`: the tables of Kafka that it names itself; `joins`:
    the joins on time, innermost first; `sections`: the sections of EXPLAIN MATCH, inner parts first; `needs_workers`:
    our code runs in workers; `parameters`: the edits that bind the parameters of its text.
    """

    call: SqlCall
    relations: Mapping[str, PlannedRelation]
    views: tuple[ViewPlan, ...]
    sources: tuple[SourceRows, ...]
    joins: tuple[PlannedJoin, ...]
    sections: tuple[Section, ...]
    needs_workers: bool
    parameters: tuple[Edit, ...]
    source: Source
    queries: Queries
    warnings: tuple[str, ...]

    @property
    def text(self) -> Text:
        """The statement as it is passed to Spark."""
        return self.source.slice(0, len(self.call.text))

    @property
    def stream_clauses(self) -> list[StreamClause]:
        """The clauses that keep state in a stream, including the clauses of stored views, innermost first."""
        return [clause for relation in self.relations.values() for clause in relation.stream_clauses]

    @property
    def all_sources(self) -> list[SourceRows]:
        """The tables of Kafka that it reads as streams, also in stored views."""
        of_views = (source for view in self.views for source in view.statement.all_sources)
        return [source for source in (*self.sources, *of_views) if source.records.isStreaming]

    @property
    def reads_files(self) -> bool:
        """Whether workers read the files of all parts by themselves; False without parts."""
        return bool(self.relations) and all(relation.reads_files for relation in self.relations.values())

    @property
    def has_effect(self) -> bool:
        return any(relation.has_effect for relation in self.relations.values())

    @property
    def parts(self) -> tuple[PlannedPart, ...]:
        """The parts that may answer about themselves."""
        return (*self.relations.values(), *self.joins)

    def why(self, condition: RowCondition, budget: Budget) -> list[Explained]:
        """What WHY explains of the rows that a condition chooses."""
        question = WhyQuestion(condition=condition, budget=budget, parameters=self.parameters)
        return [each for part in self.parts for each in part.why(self.queries, self.call.spark, question)]

    def analyses(self) -> list[Analysis]:
        """What ANALYZE counts: the parts of views first, then inner parts."""
        found = [each for part in self.parts for each in part.analysis(self.queries, self.call.spark)]
        return sorted(found, key=lambda analysis: -1 if analysis.of else analysis.place.start)

    def kept(self) -> list[KeptClause]:
        """The clauses that operators of ours run on a stream, innermost first."""
        return [each for part in self.parts for each in part.kept(self.queries, self.call.spark)]

    def near_misses(
        self, keys: Sequence[str], values: Sequence[str], columns: Sequence[str]
    ) -> Mapping[str, PartitionMisses]:
        """The near misses of the last clause, as `MissesQuestion` asks for them."""
        question = MissesQuestion(keys=keys, values=values, columns=columns, parameters=self.parameters)
        found = (part.near_misses(self.queries, self.call.spark, question) for part in reversed(self.parts))
        return next((misses for misses in found if misses is not None), {})

    @property
    def explanation(self) -> str:
        """The text of EXPLAIN MATCH."""
        if not self.sections:
            return "No clause of the extended language: Spark runs the text as it is."
        named = [section.shown(section.name) for section in self.sections if section.name]
        others = (section for section in self.sections if not section.name)
        numbered = [section.shown(str(number)) for number, section in enumerate(others, 1)]
        return "\n\n".join([*named, *numbered, f"== Statement for Spark ==\n{str(self.text).lstrip()}"])

    def build(self) -> None:
        """Build the DataFrames to run in place of the previews and of all DataFrames that read the previews."""
        if self.has_effect:
            for name, relation in self.relations.items():
                self.queries.helpers[name] = relation.frame(self.queries, self.call.spark)

    def execute(self) -> DataFrame:
        """The DataFrame of the whole statement; a command is carried out. Raises Spark's errors and BindError."""
        try:
            with quiet_probes() as records:
                return self.queries.execute(self.text)
        except ERRORS as e:
            error: SqlExtError = self.queries.error(e, self.text)
            if error.place is None and not shows_internals(e):
                records.release()
                raise
            error = error.placed(word_at(self.call.text, 0))
            for part in self.parts:
                error = part.about_result(error)
            raise error from None


Result = TypeVar("Result")


@dataclass(frozen=True)
class ViewPlan(PlannedPart):
    """A stored view that a statement reads at `place`, and the plan of its query."""

    view: View
    statement: StatementPlan
    place: Place

    @property
    def has_effect(self) -> bool:
        return self.statement.has_effect

    @property
    def stream_clauses(self) -> list[StreamClause]:
        return self.statement.stream_clauses

    def run(self, function: Callable[..., Result], *args: Any) -> Result:
        """The result of a function that plans or runs a part of the view's query."""
        with with_its_settings(self.view, self.statement.call.spark, self.place):
            return function(*args)

    @property
    def _other_settings(self) -> str:
        """The settings of the view's creation to which the session gives other values, empty if there are none:
        `spark.sql.ansi.enabled = false`."""
        others = other_settings(self.view, self.statement.call.spark)
        return " and ".join(f"{name} = {value}" for name, value in others.items())

    def frame(self, queries: Queries, spark: SparkSession) -> DataFrame:
        self.run(self.statement.build)
        return self.preview()

    def why(self, queries: Queries, spark: SparkSession, question: WhyQuestion) -> Iterator[Explained]:
        of, settings = f" of view {self.view.name}", self._other_settings
        as_created = f"is read with {settings}, as when it was created; so is the condition of FOR ROW."
        note = f"View {self.view.name} {as_created}" if settings else ""
        for each in self.statement.why(question.condition, question.budget):
            answer = partial(self.run, each.answer)
            yield replace(each, answer=answer, of=each.of or of, note=each.note or note)

    def analysis(self, queries: Queries, spark: SparkSession) -> Iterator[Analysis]:
        settings = self._other_settings
        of = f" of view {self.view.name}" + (f", read with {settings} as when it was created" if settings else "")
        for each in self.statement.analyses():
            yield replace(each, run=partial(self.run, each.run), of=each.of or of)

    def kept(self, queries: Queries, spark: SparkSession) -> Iterator[KeptClause]:
        for each in self.run(self.statement.kept):
            yield replace(each, facts=partial(self.run, each.facts), results=partial(self.run, each.results))

    def preview(self) -> DataFrame:
        return self.run(lambda: view_columns(self.statement.execute(), self.view, self.place))

    def section(self, name: str) -> Section:
        """The section of EXPLAIN MATCH about the view, which the statement reads by this name."""
        title = f", which the statement reads as {name}"
        return Section(kind="View", name=self.view.name, title=title, text=lambda: self.statement.explanation)
