"""The third step of a statement: it plans how each clause and join is run, innermost first. Planning has no effect.

Spark resolves types, and may read a sample of a table (see `match.prefilter`, `joins.range_width`). A clause is bound
to the columns of the clauses inside it, so each clause gets a DataFrame as soon as it is planned. If building the
DataFrame to run has an effect, a preview with the same columns replaces it until the statement is run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from pyspark.sql import SparkSession

from sqlext.catalog import views
from sqlext.catalog.views import Mention, View
from sqlext.engine.emit.plan_emits import EmitPlanner, WindowTvfPlanner
from sqlext.engine.joins.pair_asof import JoinComputation
from sqlext.engine.joins.plan_joins import JoinPlanner, PlannedJoin
from sqlext.engine.match.bind_clause import BoundClause, ClauseBinder, input_query
from sqlext.engine.match.forms import PhysicalPlan, SessionSettings, choose
from sqlext.engine.match.plan_match import MatchPlanner, PlanClause
from sqlext.engine.match.plan_windows import MatchWindowPlanner
from sqlext.engine.match.portable_sql import portable_query
from sqlext.engine.planning.comet_report import comet_report
from sqlext.engine.planning.planner import NOT_PORTABLE, Planned, PlannedRelation, Planner, Section
from sqlext.engine.queries.queries import Queries
from sqlext.engine.queries.spark_errors import word_at
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.rules.plan_rules import RulesPlanner
from sqlext.engine.sources.tables import SourceRows, open_table
from sqlext.engine.statements.statement_plan import StatementPlan, ViewPlan
from sqlext.engine.streams.idle_sources import IdlePlanner
from sqlext.engine.views import cached_views
from sqlext.engine.views.temporary_objects import is_table, is_temporary_view
from sqlext.engine.views.view_settings import with_its_settings
from sqlext.errors import Place, UnsupportedError, placed_at
from sqlext.rewriter.emit.emit_clause import EmitClause
from sqlext.rewriter.emit.window_tvf import WindowTvf
from sqlext.rewriter.heads.stream_target import target_of
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.match_windows.parse_window import WindowClause
from sqlext.rewriter.rules.rules_clause import RulesClause
from sqlext.rewriter.statements import parameters
from sqlext.rewriter.statements.idle_sources import IdleSource
from sqlext.rewriter.statements.kinds import ClauseSite, Part
from sqlext.rewriter.statements.parse_statement import ParsedStatement, parse_statement
from sqlext.rewriter.statements.read_statement import read_statement
from sqlext.rewriter.statements.script import check_bound_before
from sqlext.rewriter.statements.source_limits import (
    EVENT_TIME_ORDER,
    StreamOption,
    has_watermark,
    stream_options,
    stream_tables,
    without_limits,
)
from sqlext.rewriter.statements.source_reads import source_read
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import RelationName, quoted
from sqlext.rewriter.text.splice import Edit, Source
from sqlext.rewriter.text.tokens import index_at
from sqlext.rewriter.tree.read_clauses import stream_words
from sqlext.spark.versions import check_stream_grammar

OF_A_VIEW = "Spark applies filters of the view's readers before it"  # why Spark computes the joins of a view


@dataclass(frozen=True, kw_only=True)
class Planning:
    """The context that the planners of one statement share. `is_portable`: the plan is printed as plain SQL and not
    run; `hidden_in_inputs`: the columns of joins that a clause must not see, by the first character of its keyword;
    `joins`: the joins on time that have been planned; `why_windows`: why Spark's windows compute the joins, as a clause
    of a sentence, unless a setting leaves them to workers."""

    call: SqlCall
    settings: SessionSettings
    statement: ParsedStatement
    queries: Queries
    plan_clause: PlanClause
    is_portable: bool
    hidden_in_inputs: dict[int, list[str]] = field(default_factory=dict)
    joins: list[PlannedJoin] = field(default_factory=list)
    why_windows: str = ""


def _matches(p: Planning) -> MatchPlanner:
    binder = ClauseBinder(
        spark=p.call.spark,
        statement=p.statement,
        queries=p.queries,
        strategy=p.settings.strategy,
        is_portable=p.is_portable,
    )
    return MatchPlanner(binder=binder, plan_clause=p.plan_clause, hidden_in_inputs=p.hidden_in_inputs)


def _windows(p: Planning) -> MatchWindowPlanner:
    return MatchWindowPlanner(
        spark=p.call.spark,
        statement=p.statement,
        queries=p.queries,
        strategy=p.settings.strategy,
        plan_window=p.plan_clause,
    )


def _joins(p: Planning) -> JoinPlanner:
    computation = JoinComputation(
        order=p.settings.order,
        read=p.settings.read,
        cores=p.settings.cores,
        is_portable=p.is_portable,
        why_windows=p.why_windows,
        skips_failures=p.settings.skips_failures,
    )
    return JoinPlanner(p.call.spark, p.statement, p.queries, computation, p.hidden_in_inputs, p.joins)


def _emits(p: Planning) -> EmitPlanner:
    return EmitPlanner(
        spark=p.call.spark,
        statement=p.statement,
        queries=p.queries,
        target=target_of(read_statement(p.call.text)),
        is_portable=p.is_portable,
        skips_failures=p.settings.skips_failures,
        read=p.settings.read,
        cores=p.settings.cores,
    )


PLANNERS: Mapping[type[Part], Callable[[Planning], Planner[Any]]] = {
    ClauseSite: _matches,
    WindowClause: _windows,
    JoinClause: _joins,
    WindowTvf: lambda p: WindowTvfPlanner(statement=p.statement, queries=p.queries),
    EmitClause: _emits,
    RulesClause: lambda p: RulesPlanner(spark=p.call.spark, queries=p.queries, is_portable=p.is_portable),
    IdleSource: lambda p: IdlePlanner(spark=p.call.spark, queries=p.queries, is_portable=p.is_portable),
}


def plan_statement(call: SqlCall, *, why_windows: str = "") -> StatementPlan:
    """The plan of a statement. `why_windows`: the reason why Spark computes its joins, if there is one.

    Raises the SqlExtError that running the statement would raise.
    """
    settings = SessionSettings.of(call.spark)

    def plan_clause(clause: BoundClause, queries: Queries) -> tuple[PhysicalPlan, str]:
        physical = choose(clause, settings, queries)
        return physical, queries.name(replace(physical, has_effect=False).frame(queries, call.spark))

    return _plan(call, settings, plan_clause, why_windows=why_windows)


def plan_portable(call: SqlCall) -> StatementPlan:
    """The statement in plain SQL, with a call of `sqlext_match` in place of each clause."""

    def plan_clause(clause: BoundClause, queries: Queries) -> tuple[None, str]:
        if clause.plan.task.frame is not None:
            message = "sqlext_match does not know windows with row patterns"
            raise UnsupportedError(
                "PORTABLE_WINDOW", message, place=clause.plan.clause.keyword.place, hint=NOT_PORTABLE
            )
        assert clause.resolver is not None  # only a window has none
        key_types = clause.resolver.types(clause.plan.partition_by)
        return None, f"({portable_query(clause.plan, clause.prefix, key_types)})"

    return _plan(call, SessionSettings.of(call.spark), plan_clause, is_portable=True)


def _plan(
    call: SqlCall,
    settings: SessionSettings,
    plan_clause: PlanClause,
    *,
    is_portable: bool = False,
    why_windows: str = "",
) -> StatementPlan:
    statement = parse_statement(call.text)
    check_bound_before(call.text, [part.whole for part in statement.parts])
    if words := stream_words(statement.tree):
        check_stream_grammar(call.spark, words.place)
    frames, inputs = call.frames, call.inputs
    queries = Queries(call.sql, frames, call.text, call.query_identifier, inputs, takes_last=call.takes_last)
    bound = parameters.bind(call.text, call.args, statement.pattern_bodies)
    source = Source(call.text, bound).edited(statement.conditions())
    call = replace(call, has_watermark=call.has_watermark or has_watermark(statement.tree))
    if call.has_watermark and call.is_first_run is not None and call.is_first_run():
        source = source.edited(without_limits(statement.tree, lambda name: is_table(call.spark, name)))
    _check_options(call, statement)
    relations: dict[str, PlannedRelation] = {}
    view_plans: list[ViewPlan] = []
    sources: list[SourceRows] = []
    sections: list[Section] = []
    needs_workers, warnings = False, [*statement.warnings, *_about_options(call, stream_options(statement.tree))]
    is_sparks = _in_inputs(statement, source, queries)
    for mention in views.mentioned(call.spark, call.sql, call.text, call.views, is_sparks):
        if mention.view.is_table:
            opened, edits, section = _open_source(mention, call, statement, queries, is_portable=is_portable)
            sources.append(opened)
            sections.append(section)
            source = source.edited(edits)
            continue
        if is_portable:
            relation = _portable_view(mention.view, call)
        elif (rows := cached_views.cached(call.spark, mention.name.parts)) is not None:
            relation = queries.name(rows)
        else:
            place = Place(call.text, mention.name.start, mention.name.stop)
            with with_its_settings(mention.view, call.spark, place):
                query = plan_statement(_query_of(mention.view, call), why_windows=OF_A_VIEW)
            view = ViewPlan(mention.view, query, place)
            relation = queries.name(view.preview())
            relations[relation] = view
            view_plans.append(view)
            sections.append(view.section(relation))
            needs_workers |= query.needs_workers
            warnings += query.warnings
        source = source.edited([_view_edit(mention, relation, statement)])
    planning = Planning(
        call=call,
        settings=settings,
        statement=statement,
        queries=queries,
        plan_clause=plan_clause,
        is_portable=is_portable,
        why_windows=why_windows,
    )
    planners = {kind: PLANNERS[kind](planning) for kind in set(map(type, statement.parts))}
    for part in statement.parts:  # innermost first: an outer part reads the text as the inner ones have edited it
        with placed_at(word_at(call.text, part.whole.start)):
            planned = planners[type(part)].plan(part, source, statement.prefix(part, source))
        relations |= planned.relations
        sections += _with_comet(planned, queries, call.spark) if planned.needs_workers else planned.sections
        needs_workers |= planned.needs_workers
        warnings += planned.warnings
        source = source.edited(planned.edits)
    return StatementPlan(
        call=call,
        relations=relations,
        views=tuple(view_plans),
        sources=tuple(sources),
        joins=tuple(planning.joins),
        sections=tuple(sections),
        needs_workers=needs_workers,
        parameters=bound,
        source=source,
        queries=queries,
        warnings=tuple(warnings),
    )


def _with_comet(planned: Planned, queries: Queries, spark: SparkSession) -> Iterator[Section]:
    """The sections of a part, which also say what Comet does if it is there."""

    def text(section: Section) -> str:
        reports = (comet_report(queries, spark, relation) for relation in planned.relations)
        return "\n".join([section.text(), *filter(None, reports)])

    return (replace(section, text=partial(text, section)) for section in planned.sections)


def _check_options(call: SqlCall, statement: ParsedStatement) -> None:
    """Raise UnsupportedError STREAM_OPTION for options of a temporary view."""
    for table in stream_tables(statement.tree):
        if table.options and is_temporary_view(call.spark, table.name):
            raise UnsupportedError(
                "STREAM_OPTION",
                f"Spark drops the options of {'.'.join(table.name)}, which is a temporary view",
                place=table.options[0].written.place,
                hint="write them inside the view, FROM STREAM t WITH (…) or spark.readStream.option(…), and leave WITH "
                "out here.",
            )


def _about_options(call: SqlCall, options: Sequence[StreamOption]) -> Iterator[str]:
    """The warnings about options of streams that are ignored, or with which rows may be late."""
    if any(option.name == EVENT_TIME_ORDER for option in options):
        yield "Delta Lake has no option withEventTimeOrder, which is Databricks' own: files are read as without it."
    limits = ", ".join(dict.fromkeys(option.written.text.split()[0] for option in options if option.is_limit))
    if not limits or not call.has_watermark:
        return
    if call.is_first_run is not None:
        if not call.is_first_run():
            return
        yield (
            f"the first micro-batch reads all rows that the table has now, because its files are not in the order of "
            f"event time; {limits} holds from the next start of the query on."
        )
    else:
        yield (
            f"{limits} reads the rows that a table has in the order of its files, and rows that are out of the order "
            "of event time by more than the DELAY are late. Leave it out where the query begins, or write CREATE "
            "STREAMING TABLE, which reads them in one micro-batch."
        )


def _in_inputs(statement: ParsedStatement, source: Source, queries: Queries) -> Callable[[RelationName], bool]:
    """A function that returns True if a name is in the input of a clause, and Spark can analyse that input.

    Then Spark knows the name, and need not be asked for it: the clause is bound to the columns of the same query.
    """

    def is_plain(part: ClauseSite) -> bool:
        relation = part.clause.relation
        return not statement.ctes(part.whole) and not any(_is_within(x.whole, relation) for x in statement.parts)

    inputs = [part.clause.relation for part in statement.of(ClauseSite) if is_plain(part)]

    @cache
    def is_analysed(relation: Fragment) -> bool:
        return queries.keep(input_query(source.of(relation)))

    def is_known(name: RelationName) -> bool:
        is_input = name.parts[-1] in queries.helpers
        return is_input or any(_is_within(name, relation) and is_analysed(relation) for relation in inputs)

    return is_known


def _is_within(part: Fragment | RelationName, whole: Fragment) -> bool:
    return whole.start <= part.start and part.stop <= whole.stop


def _open_source(
    mention: Mention, call: SqlCall, statement: ParsedStatement, queries: Queries, *, is_portable: bool
) -> tuple[SourceRows, Iterator[Edit], Section]:
    """A table of Kafka, the edits that let a statement read it, and the section of EXPLAIN MATCH about it."""
    view, place = mention.view, Place(call.text, mention.name.start, mention.name.stop)
    if is_portable:
        message = f"{view.name} is a table of Kafka, which Spark does not know"
        raise UnsupportedError("KAFKA_TABLE", message, place=place, hint=NOT_PORTABLE)
    read = source_read(statement.tree, mention.name)
    with with_its_settings(view, call.spark, place):
        opened = open_table(call, view, read.options, read.reader, place)
        relation = queries.name(opened.rows)
    title = f", which the statement reads as {relation}"
    section = Section(kind="Kafka", name=view.name, title=title, text=lambda: opened.explained(read.reader))
    return opened, read.edits(relation), section


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
    """An edit that replaces a view's name by a relation, which the statement can still read under that name."""
    tokens = statement.tree.tokens
    before = index_at(tokens, mention.name.start) - 1
    is_table = before >= 0 and tokens[before].word == "TABLE"  # after TABLE there can be no alias
    alias = f" AS `{mention.view.name}`" if statement.tree.is_bare(mention.name) and not is_table else ""
    return Edit(mention.name.start, mention.name.stop, relation + alias)
