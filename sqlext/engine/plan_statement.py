"""The third step of a statement: for each clause and join, innermost first, how it is run. Planning has no effect.

Spark resolves types, and may read a sample of a table (see `batch.prefilter`, `joins.range_width`). A clause is
bound to the columns of the clauses inside it, so each planned one gets a DataFrame at once. Where building the
DataFrame to run has an effect, a preview with the same columns stands in for it until the statement is run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Union

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from sqlext.catalog import views
from sqlext.catalog.views import Mention, View
from sqlext.engine import cached_views
from sqlext.engine.bind_clause import BoundClause, ClauseBinder
from sqlext.engine.emit.plan_emits import EmitPlanner, PlannedCall, PlannedEmit
from sqlext.engine.joins.plan_joins import JoinPlanner, PlannedJoin
from sqlext.engine.parse_statement import ParsedStatement, parse_statement, whole
from sqlext.engine.physical import LEAD, PhysicalPlan, Settings, choose
from sqlext.engine.portable.portable_sql import portable_query
from sqlext.engine.queries import Queries
from sqlext.engine.rules.plan_rules import PlannedRules, RulesPlanner
from sqlext.engine.sql_call import SqlCall
from sqlext.engine.stream.heartbeat import IdlePlanner, PlannedIdle
from sqlext.engine.stream.stream_clause import StreamClause
from sqlext.engine.view_columns import view_columns
from sqlext.engine.windows.plan_windows import BaseQuery, WindowPlanner
from sqlext.errors import Place, SqlExtError, UnsupportedError
from sqlext.quiet import quiet_probes
from sqlext.rewriter import parameters
from sqlext.rewriter.emit.emit_clause import EmitClause
from sqlext.rewriter.emit.window_call import WindowCall
from sqlext.rewriter.heads import parse_target
from sqlext.rewriter.idle_sources import IdleSource
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.match.unknown_variable import about_variable, names_of
from sqlext.rewriter.rules.rules_clause import RulesClause
from sqlext.rewriter.text.names import quoted
from sqlext.rewriter.text.splice import Edit, Source, Text
from sqlext.rewriter.text.tokens import index_at
from sqlext.rewriter.tree.read_clauses import stream_words
from sqlext.rewriter.tree.script import check_bound_before
from sqlext.rewriter.windows.parse_window import WindowClause
from sqlext.spark_versions import check_stream_grammar

PlannedPart = Union[PhysicalPlan, PlannedJoin, PlannedCall, PlannedEmit, PlannedIdle, PlannedRules]


@dataclass(frozen=True, kw_only=True)
class StatementPlan:
    """A statement, ready to be run.

    `parts`: what became of its clauses, joins and window functions, innermost first; `relations`: the clauses and the
    stored views by the names that stand for them in `source`, each behind those that it reads.
    """

    call: SqlCall
    parts: tuple[PlannedPart, ...]
    relations: Mapping[str, PlannedRelation]
    source: Source
    queries: Queries
    warnings: tuple[str, ...]

    @property
    def text(self) -> Text:
        """The statement as Spark gets it."""
        return self.source.slice(0, len(self.call.text))

    @property
    def stream_clauses(self) -> list[StreamClause]:
        """The clauses that keep state in a stream, those of stored views included, innermost first."""
        clauses: list[StreamClause] = []
        for relation in self.relations.values():
            if isinstance(relation, ViewPlan):
                clauses += relation.statement.stream_clauses
            elif not isinstance(relation, BaseQuery) and relation.stream_clause is not None:
                clauses.append(relation.stream_clause)
        return clauses

    @property
    def has_effect(self) -> bool:
        return any(relation.has_effect for relation in self.relations.values())

    @property
    def needs_workers(self) -> bool:
        """Does code of ours run in Python workers?"""
        has_beats = any(isinstance(part, PlannedIdle) for part in self.parts)
        return has_beats or any(map(_needs_workers, self.relations.values()))

    def build(self) -> None:
        """Build the DataFrames to run in the place of the previews, and of all that read them."""
        if self.has_effect:
            for name, relation in self.relations.items():
                self.queries.helpers[name] = relation.frame(self.queries, self.call.spark)

    def execute(self) -> DataFrame:
        """The DataFrame of the whole statement; a command is carried out. Raises Spark's errors and BindError."""
        try:
            with quiet_probes() as records:
                return self.queries.execute(self.text)
        except (AnalysisException, ParseException) as e:
            error = self.queries.error(e, self.text)
            if error.place is None:
                records.release()
                raise
            raise error from None


@dataclass(frozen=True)
class ViewPlan:
    """A stored view that a statement reads at `place`, and the plan of its query."""

    view: View
    statement: StatementPlan
    place: Place

    @property
    def has_effect(self) -> bool:
        return self.statement.has_effect

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.statement.warnings

    def frame(self, queries: Queries, spark: SparkSession) -> DataFrame:
        self.statement.build()
        return self.preview()

    def preview(self) -> DataFrame:
        return view_columns(self.statement.execute(), self.view, self.place)


PlannedRelation = Union[PhysicalPlan, ViewPlan, BaseQuery, PlannedEmit, PlannedRules]
PlanClause = Callable[[BoundClause, Queries], tuple[Union[PhysicalPlan, None], str]]


def plan_statement(call: SqlCall) -> StatementPlan:
    """Raises SqlExtError as running the statement would."""
    settings = Settings.of(call.spark)

    def plan_clause(clause: BoundClause, queries: Queries) -> tuple[PhysicalPlan, str]:
        physical = choose(clause, settings, queries)
        return physical, queries.name(physical.preview(queries, call.spark))

    return _plan(call, settings, plan_clause)


def plan_portable(call: SqlCall) -> StatementPlan:
    """The statement in plain SQL, with a call of `sqlext_match` in the place of each clause."""

    def plan_clause(clause: BoundClause, queries: Queries) -> tuple[None, str]:
        if clause.plan.task.frame is not None:
            raise UnsupportedError(
                "PORTABLE_WINDOW", "sqlext_match does not know windows with row patterns",
                place=clause.plan.clause.keyword.place, hint="run the statement with spark.sql in an extended session.",
            )  # fmt: skip
        return None, f"({portable_query(clause.plan, clause.prefix, clause.is_ansi)})"

    return _plan(call, Settings.of(call.spark), plan_clause, is_portable=True)


def _plan(call: SqlCall, settings: Settings, plan_clause: PlanClause, is_portable: bool = False) -> StatementPlan:
    """`plan_clause`: how a bound clause is run, None if it is not, and the relation that stands for it in the text."""
    statement = parse_statement(call.text)
    check_bound_before(call.text, [whole(part) for part in statement.parts])
    if words := stream_words(statement.tree):
        check_stream_grammar(call.spark, words.place)
    queries = Queries(call.sql, call.frames, call.text)
    source = Source(call.text, parameters.bind(call.text, call.args, statement.pattern_bodies))
    relations: dict[str, PlannedRelation] = {}
    for mention in views.mentioned(call.spark, call.sql, call.text):
        if is_portable:
            relation = _portable_view(mention.view, call)
        elif (rows := cached_views.cached(call.spark, mention.name.parts)) is not None:
            relation = queries.name(rows)
        else:
            query = plan_statement(_query_of(mention.view, call))
            view = ViewPlan(mention.view, query, Place(call.text, mention.name.start, mention.name.stop))
            relation = queries.name(view.preview())
            relations[relation] = view
        source = source.edited([_view_edit(mention, relation, statement)])
    binder = ClauseBinder(
        spark=call.spark, statement=statement, queries=queries, strategy=settings.strategy, is_portable=is_portable
    )
    windows = WindowPlanner(spark=call.spark, statement=statement, queries=queries, strategy=settings.strategy)
    emits = EmitPlanner(
        spark=call.spark, statement=statement, queries=queries, target=parse_target(call.text), is_portable=is_portable,
        skips_failures=settings.skips_failures,
    )  # fmt: skip
    idle = IdlePlanner(spark=call.spark, statement=statement, queries=queries, is_portable=is_portable)
    rules = RulesPlanner(spark=call.spark, statement=statement, queries=queries, is_portable=is_portable)
    joins = JoinPlanner(statement, queries, call.spark.conf.get("spark.sql.session.timeZone") or "")
    parts: list[PlannedPart] = []
    for part in statement.parts:  # innermost first: an outer part reads the text as the inner ones have edited it
        if isinstance(part, JoinClause):
            join, edits = joins.plan(part, source)
            parts.append(join)
        elif isinstance(part, IdleSource):
            planned_idle, edits = idle.plan(part, source)
            parts.append(planned_idle)
        elif isinstance(part, WindowCall):
            planned_call, edits = emits.plan_call(part, source)
            parts += [planned_call] if planned_call is not None else []
        elif isinstance(part, EmitClause):
            firings, relation, edits = emits.plan_emit(part, source)
            relations[relation] = firings
            parts.append(firings)
        elif isinstance(part, RulesClause):
            matches, relation, edits = rules.plan(part, source)
            relations[relation] = matches
            parts.append(matches)
        elif isinstance(part, WindowClause):
            steps, edits = windows.plan(part, source, plan_clause)
            relations |= steps
            parts += [step for step in steps.values() if isinstance(step, PhysicalPlan)]
        else:
            try:
                hidden = joins.hidden_in_input(part.site.keyword)
                planned, relation = plan_clause(binder.bind(part, source, hidden), queries)
            except SqlExtError as e:
                raise about_variable(e, names_of(part.clause)) from None
            edits = [Edit(part.clause.whole.start, part.clause.whole.stop, relation)]
            if planned is not None:
                parts.append(planned)
                relations[relation] = planned
        source = source.edited(edits)
    return StatementPlan(
        call=call,
        parts=tuple(parts),
        relations=relations,
        source=source,
        queries=queries,
        warnings=tuple(_warnings(statement, relations)),
    )


def _query_of(view: View, call: SqlCall) -> SqlCall:
    return replace(call, text=view.qualified_text, args=None, frames={})


def _portable_view(view: View, call: SqlCall) -> str:
    """A stored view as a subquery in plain SQL."""
    query = f"({plan_portable(_query_of(view, call)).text})"
    if view.query_columns:
        names = [field["name"] for field in json.loads(view.query_columns)["fields"]]
        if len({name.lower() for name in names}) == len(names):
            query = f"(SELECT {', '.join(map(quoted, names))} FROM {query})"
    return f"(SELECT * FROM {query} AS v ({', '.join(map(quoted, view.columns))}))" if view.columns else query


def _view_edit(mention: Mention, relation: str, statement: ParsedStatement) -> Edit:
    """A relation in the place of a view's name, under which the statement can still read it."""
    tokens = statement.tree.tokens
    before = index_at(tokens, mention.name.start) - 1
    is_table = before >= 0 and tokens[before].word == "TABLE"  # which takes no alias
    alias = f" AS `{mention.view.name}`" if statement.tree.is_bare(mention.name) and not is_table else ""
    return Edit(mention.name.start, mention.name.stop, relation + alias)


def _needs_workers(relation: PlannedRelation) -> bool:
    if isinstance(relation, ViewPlan):
        return relation.statement.needs_workers
    return not isinstance(relation, BaseQuery) and not (isinstance(relation, PhysicalPlan) and relation.form is LEAD)


def _warnings(statement: ParsedStatement, relations: Mapping[str, PlannedRelation]) -> list[str]:
    return [*statement.warnings, *(sentence for relation in relations.values() for sentence in relation.warnings)]
