"""The joins on time of a statement: each is rewritten as Spark's own SQL, and a star in the query does not show its
extra columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from pyspark.sql import SparkSession

from sqlext.engine.joins.aggregate_ranges import BoundAggregates, bind_aggregates, by_pairs, by_workers
from sqlext.engine.joins.bind_asof import BoundAsof, bind_asof, take_condition
from sqlext.engine.joins.bind_interval import bind_local_or_interval
from sqlext.engine.joins.explain_joins import (
    HOW_WITH_TABLE,
    explained_asof,
    explained_interval,
    how_pairs,
    how_streams,
    how_window,
)
from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.joins.local_asof import LocalAsof
from sqlext.engine.joins.local_interval import LOCAL, LocalInterval, local_interval
from sqlext.engine.joins.pair_asof import JoinComputation, plan_pairs
from sqlext.engine.joins.run_asof import StreamAsof, check_key_types, check_stream_and_table, check_streams
from sqlext.engine.joins.stream_aggregates import bind_stream_aggregates
from sqlext.engine.planning.answers import Analysis, Explained, WhyQuestion
from sqlext.engine.planning.planner import Planned, PlannedPart
from sqlext.engine.queries.queries import Queries
from sqlext.engine.queries.session_settings import time_zone
from sqlext.engine.scan.file_relation import NotRead
from sqlext.engine.scan.scan_plan import reason_of
from sqlext.engine.streams import side_tables
from sqlext.errors import SqlExtError, UnsupportedError
from sqlext.rewriter.joins.asof_pairs_sql import relation_sql
from sqlext.rewriter.joins.asof_sql import AsofJoin, asof_sql, hidden_columns
from sqlext.rewriter.joins.asof_stream_sql import hidden_columns_with_table, joined_stream, with_table
from sqlext.rewriter.joins.interval_sql import RewrittenJoin
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.joins.join_conditions import LEFT, RIGHT, TimeRange
from sqlext.rewriter.joins.outer_filters import filtered_name
from sqlext.rewriter.joins.stars import check_no_column_names, hide, names_around, reader_of
from sqlext.rewriter.statements.parse_statement import ParsedStatement
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.splice import Edit, Source, Text
from sqlext.rewriter.tree.statement_tree import Query
from sqlext.spark.versions import has_asof_join


@dataclass(frozen=True)
class PlannedJoin(PlannedPart):
    """A join, which the text of the statement computes, or a relation that replaces it."""

    sides: JoinSides

    @property
    def is_interval_of_streams(self) -> bool:
        """Whether Spark's own join of streams runs it."""
        sides = self.sides
        is_sparks = sides.clause.kind == "INTERVAL" and sides.clause.aggregate is None
        return is_sparks and all(sides.whole(side).isStreaming for side in (LEFT, RIGHT))

    def why(self, queries: Queries, spark: SparkSession, question: WhyQuestion) -> Iterable[Explained]:
        from sqlext.engine.joins.why_join import explain_join  # other statements need not load it

        clause = self.sides.clause
        answer = partial(explain_join, self.sides, question.condition)
        yield Explained(kind=f"{clause.kind} JOIN", place=clause.keyword.place, answer=answer)

    def about_result(self, error: SqlExtError) -> SqlExtError:
        clause, place = self.sides.clause, error.place
        is_column = error.error_class.startswith("SQLEXT_UNRESOLVED_COLUMN")
        if clause.aggregate is None or place is None or place.text != clause.whole.source or not is_column:
            return error
        column = Fragment(place.text, place.start, place.stop)
        if self.sides.side_of(column) != RIGHT:
            return error
        return error.with_(hint=f"right columns can be read in AGGREGATE only: add last({column.text}) AS name there.")

    def analysis(self, queries: Queries, spark: SparkSession) -> Iterable[Analysis]:
        from sqlext.engine.joins.analyze_join import analyze_join  # other statements need not load it

        is_streaming = any(self.sides.rows(side, "1").isStreaming for side in (LEFT, RIGHT))
        run = partial(analyze_join, self.sides, time_zone(spark))
        yield Analysis(kind="Join", place=self.sides.clause.keyword.place, is_streaming=is_streaming, run=run)


class JoinPlanner:
    """Plans the joins of one statement. Joins in the operands of another join are planned before it.

    `hidden_in_inputs`: receives the columns of joins in the input of a MATCH_RECOGNIZE that the clause must not see, by
    the first character of its keyword; `joins`: receives each join, for EXPLAIN MATCH ANALYZE, WHY and FOR KEY.
    """

    def __init__(
        self,
        spark: SparkSession,
        statement: ParsedStatement,
        queries: Queries,
        computation: JoinComputation,
        hidden_in_inputs: dict[int, list[str]],
        joins: list[PlannedJoin],
    ):
        self.spark, self.statement, self.queries, self.computation = spark, statement, queries, computation
        self.time_zone = time_zone(spark)
        self.hidden_in_inputs, self.joins = hidden_in_inputs, joins
        self.hidden: dict[Query, dict[str, list[str]]] = {}

    def plan(self, clause: JoinClause, source: Source, prefix: Text) -> Planned:
        planned = self._planned(clause, source, prefix)
        last = [join for join in self.statement.of(JoinClause) if join.query == clause.query][-1]
        if clause == last:
            hidden = self.hidden.get(clause.query, {})
            edits = [*planned.edits, *hide(self.statement.tree, clause.query, hidden)]
            return replace(planned, edits=edits)
        return planned

    def _planned(self, clause: JoinClause, source: Source, prefix: Text) -> Planned:
        sides = JoinSides(
            clause,
            number=self.statement.of(JoinClause).index(clause),
            tree=self.statement.tree,
            source=source,
            prefix=prefix,
            queries=self.queries,
            hidden={name: tuple(columns) for name, columns in self.hidden.get(clause.query, {}).items()},
        )
        self.joins.append(PlannedJoin(sides))
        if clause.kind == "ASOF":
            take_condition(sides)
            return self._planned_asof(sides.clause, sides)
        if clause.aggregate is not None:
            return self._planned_aggregates(clause, sides)
        interval = bind_local_or_interval(sides, self.time_zone, partial(self._by_worker, sides))
        self._hide(clause, {"": interval.hidden} if interval.hidden else {})
        if isinstance(interval, RewrittenJoin):
            section = explained_interval(clause, interval.reasons)
            return Planned(edits=interval.edits, sections=[section])
        name = self.queries.name(interval.frame(self.queries, self.spark))
        edit = Edit(clause.whole.start, clause.whole.stop, interval.text(name, sides.number))
        section = explained_interval(clause, [LOCAL])
        return Planned(edits=[edit], relations={name: interval}, sections=[section], needs_workers=True)

    def _planned_aggregates(self, clause: JoinClause, sides: JoinSides) -> Planned:
        bound = bind_aggregates(sides, self.time_zone)
        if bound.is_streaming:
            return self._planned_stream_aggregates(clause, bound)
        aggregated = by_workers(bound, self.statement, self.computation)
        whole = clause.whole
        if isinstance(aggregated, str):
            text, hidden, reasons = by_pairs(bound, self.time_zone, aggregated)
            self._hide(clause, {"": hidden})
            sections = [explained_interval(clause, reasons)]
            return Planned(edits=[Edit(whole.start, whole.stop, text)], sections=sections)
        self._hide(clause, {"": aggregated.hidden})
        name = self.queries.name(aggregated.frame(self.queries, self.spark))
        edit, section = (
            Edit(whole.start, whole.stop, aggregated.text(name)),
            explained_interval(clause, aggregated.reasons),
        )
        return Planned(edits=[edit], relations={name: aggregated}, sections=[section], needs_workers=True)

    def _planned_stream_aggregates(self, clause: JoinClause, bound: BoundAggregates) -> Planned:
        if self.computation.is_portable:
            raise _not_portable("INTERVAL JOIN … AGGREGATE of streams", clause)
        stream = bind_stream_aggregates(
            bound,
            self.time_zone,
            skips_failures=self.computation.skips_failures,
            has_effect=bool(side_tables.table_names(self.spark)),
        )
        self._hide(clause, {"": stream.hidden})
        name = self.queries.name(replace(stream, has_effect=False).frame(self.queries, self.spark))
        edit = Edit(clause.whole.start, clause.whole.stop, stream.text(name))
        section = explained_interval(clause, stream.reasons)
        return Planned(edits=[edit], relations={name: stream}, sections=[section], needs_workers=True)

    def _by_worker(self, sides: JoinSides, range_: TimeRange, times: Mapping[str, Text]) -> LocalInterval | str:
        """The join by one worker, or the reason why Spark reads the rows."""
        try:
            return self._local_interval(sides, range_, times)
        except NotRead as refusal:
            return reason_of(refusal, self.computation.read, sides.clause.words.place)

    def _local_interval(self, sides: JoinSides, range_: TimeRange, times: Mapping[str, Text]) -> LocalInterval:
        """The join by one worker. Raises NotRead."""
        computation, tree = self.computation, self.statement.tree
        if computation.is_portable or computation.why_windows:
            raise NotRead(computation.why_windows)
        columns = {name.lower() for side in (LEFT, RIGHT) for name in sides.whole(side).columns}
        if name := filtered_name(tree, sides.clause, columns - {unquoted(n).lower() for n in sides.only_names}):
            raise NotRead(f"it applies a WHERE on {name} before the join")
        return local_interval(sides, range_, times, computation.read, computation.cores)

    def _planned_asof(self, clause: JoinClause, sides: JoinSides) -> Planned:
        bound = bind_asof(sides)
        streams = [side for side in (LEFT, RIGHT) if sides.whole(side).isStreaming] if bound.is_streaming else []
        if streams == [LEFT, RIGHT]:
            return self._planned_streams(clause, sides, bound)
        if streams:
            check_stream_and_table(clause, streams)
            asof = replace(bound.asof, carried=None)
            self._hide(clause, hidden_columns_with_table(asof))
            return self._rewritten(clause, asof, with_table(asof), HOW_WITH_TABLE)
        by_workers = plan_pairs(bound, sides, self.statement, self.computation)
        asof = bound.asof if isinstance(by_workers, str) else by_workers[0].pairs.asof
        self._hide(clause, hidden_columns(asof))
        if isinstance(by_workers, str):
            reason_of(NotRead(by_workers), self.computation.read, clause.words.place)
            return self._rewritten(clause, asof, asof_sql(asof), how_window(asof, by_workers))
        paired, rows = by_workers
        name = self.queries.name(rows)
        text = asof_sql(asof, relation_sql(paired.pairs, name))
        how = how_pairs(asof, None if isinstance(paired, LocalAsof) else paired.why_read)
        planned = self._rewritten(clause, asof, text, how)
        return replace(planned, relations={name: paired}, needs_workers=True)

    def _rewritten(self, clause: JoinClause, asof: AsofJoin, text: Text, how: Sequence[str]) -> Planned:
        """The plan of an ASOF JOIN of which Spark's own could be the same. `text`: what replaces it."""
        section = explained_asof(clause, asof, how, is_in_spark=has_asof_join(self.spark))
        return Planned(edits=[Edit(clause.whole.start, clause.whole.stop, text)], sections=[section])

    def _planned_streams(self, clause: JoinClause, sides: JoinSides, bound: BoundAsof) -> Planned:
        check_streams(sides, bound.asof, bound.times)
        check_key_types(clause, bound.asof.conditions.keys, bound.keys)
        if self.computation.is_portable:
            raise _not_portable("ASOF JOIN of streams", clause)
        assert bound.asof.carried is not None  # check_streams ensures it
        asof = replace(bound.asof, carried=replace(bound.asof.carried, keys={}))
        stream = StreamAsof(
            clause=clause,
            asof=asof,
            prefix=sides.prefix,
            fields=tuple(sides.whole(side).schema.fields for side in (LEFT, RIGHT)),
            has_effect=bool(side_tables.table_names(self.spark)),
        )
        name = self.queries.name(replace(stream, has_effect=False).frame(self.queries, self.spark))
        self._hide(clause, hidden_columns(asof))
        edit = Edit(clause.whole.start, clause.whole.stop, joined_stream(asof, name))
        section = explained_asof(clause, asof, how_streams(asof), without_keys="pairs")
        return Planned(edits=[edit], relations={name: stream}, sections=[section], needs_workers=True)

    def _hide(self, clause: JoinClause, columns: Mapping[str, Sequence[str]]) -> None:
        """Note, by relation, which helper columns the query around the join must not show."""
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


def _not_portable(what: str, clause: JoinClause) -> UnsupportedError:
    message, hint = f"{what} cannot be written in plain SQL", "run the statement with spark.sql."
    return UnsupportedError("STREAM_JOIN", message, place=clause.words.place, hint=hint)
