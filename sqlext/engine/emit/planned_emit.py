"""A planned query with EMIT: its DataFrame, in batch and on a stream, and what it says about itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from sqlext.engine.emit.local_emit import local_firings
from sqlext.engine.emit.run_emit import (
    batch_firings,
    firing_schema,
    result_query,
    rows_query,
    stream_clause,
    window_plan,
)
from sqlext.engine.planning.answers import Analysis, Explained, KeptClause, WhyQuestion
from sqlext.engine.planning.planner import PlannedPart
from sqlext.engine.planning.stream_clause import StreamClause
from sqlext.engine.queries.queries import Queries
from sqlext.engine.scan.scan_plan import LocalScan
from sqlext.engine.streams import side_tables
from sqlext.engine.streams.run_operator import decided_rows, result_columns, without_failures
from sqlext.engine.why.chosen_rows import no_stream
from sqlext.errors import Place
from sqlext.operators.emit.operator import EmitOperator
from sqlext.operators.emit.parts import ROWTIME
from sqlext.operators.emit.plan import EmitOperatorPlan
from sqlext.operators.rows.columns import FAILURE, LATE_ROW, NOT_COMPUTED
from sqlext.rewriter.emit.lower_emit import TIME, EmitPlan
from sqlext.rewriter.lowering.guard import guarded_columns, guarded_texts
from sqlext.rewriter.text.splice import Text, join


@dataclass(frozen=True, kw_only=True)
class PlannedEmit(PlannedPart):
    """A query with EMIT. `prefix`: the WITH clause that its data needs.

    `scan`: in batch, what a worker reads of the files of a table; None if Spark reads the rows.

    On a stream, `has_effect`: late rows and failures are written into the tables that are set, which are created if
    they do not exist; `skips_failures`: a value that cannot be computed on a row or a firing is NULL (see
    `rewriter.lowering.guard`).
    """

    plan: EmitPlan
    prefix: Text
    is_streaming: bool
    has_effect: bool
    skips_failures: bool
    scan: LocalScan | None = None

    @property
    def reads_files(self) -> bool:
        return self.scan is not None

    @property
    def stream_clauses(self) -> list[StreamClause]:
        """The record of the query that is stored beside the checkpoint of a stream; empty in batch."""
        return [stream_clause(self.plan)] if self.is_streaming else []

    def frame(self, queries: Queries, spark: SparkSession) -> DataFrame:
        if self.is_streaming:
            return self._on_stream(queries, spark)
        rows = self._rows(queries, self.plan.columns)
        windows = window_plan(self.plan, rows.schema)
        firings = batch_firings(rows, windows) if self.scan is None else local_firings(self.scan, windows, rows)
        return queries.run(result_query(self.plan, queries.name(firings)))

    def _on_stream(self, queries: Queries, spark: SparkSession) -> DataFrame:
        plan, clause = self.plan, stream_clause(self.plan)
        windows = self._windows(queries)
        folders = side_tables.open_folders(spark, clause.fingerprint, queries.identifier) if self.has_effect else {}
        columns = [*self._arriving(queries), *([(LATE_ROW, join("to_json(struct(*))"))] if folders else [])]
        rows = self._rows(queries, columns)
        texts = [text for _, text in plan.shown] + ([plan.having] if plan.having is not None else [])
        times = [ROWTIME] if any(ROWTIME in str(text) for text in texts) else []
        decided = decided_rows(
            rows,
            _operator(windows, columns),
            clause.fingerprint,
            windows.keys,
            folders=folders,
            shows_times=bool(times),
        )
        schema = firing_schema(windows, rows.schema)
        firings = queries.name(result_columns(decided, times, schema, plan.clause.keyword.place))
        if not self.skips_failures:
            return queries.run(result_query(plan, firings))
        return _result_of_stream(plan, queries, firings)

    def why(self, queries: Queries, spark: SparkSession, question: WhyQuestion) -> Iterable[Explained]:
        from sqlext.engine.emit.why_emit import explain_emit  # other statements need not load it

        def answer() -> str:
            if self.is_streaming:
                raise no_stream(self._place)
            return explain_emit(self.plan, self.prefix, queries, spark, question.condition)

        yield Explained(kind="EMIT", place=self._place, answer=answer)

    def analysis(self, queries: Queries, spark: SparkSession) -> Iterable[Analysis]:
        from sqlext.engine.emit.analyze_emit import analyze_emit  # other statements need not load it

        run = partial(analyze_emit, self.plan, self.prefix, queries)
        yield Analysis(kind="Windows", place=self._place, is_streaming=self.is_streaming, run=run)

    def kept(self, queries: Queries, spark: SparkSession) -> Iterable[KeptClause]:
        from sqlext.engine.emit.kept_emit import kept_emit  # loads the matchers, which other statements need not

        if self.is_streaming:
            operator = _operator(self._windows(queries), self._arriving(queries))
            yield kept_emit(self.plan, operator, queries, spark)

    @property
    def _place(self) -> Place:
        return self.plan.clause.keyword.place

    def _windows(self, queries: Queries) -> EmitOperatorPlan:
        windows = window_plan(self.plan, self._rows(queries, self.plan.columns).schema)
        return replace(windows, skips_failures=self.skips_failures)

    def _rows(self, queries: Queries, columns: Sequence[tuple[str, Text]]) -> DataFrame:
        return queries.run(rows_query(columns, self.plan, self.prefix))

    def _arriving(self, queries: Queries) -> Sequence[tuple[str, Text]]:
        """The columns that Spark computes of each row, with guards unless a failure ends the query. Only the time has
        no guard, since it cannot fail."""
        plan = self.plan
        if not self.skips_failures:
            return plan.columns

        def is_accepted(expression: Text) -> bool:
            return queries.accepts(join(self.prefix, "SELECT ", expression, " FROM ", plan.relation))

        types = {name.lower(): spark_type for name, spark_type in plan.input_types}
        aggregated = {name for call in plan.aggregates for name in (*call.columns, call.filter)}
        risky = [(name, text) for name, text in plan.columns if name != TIME]
        times = [(name, text) for name, text in plan.columns if name == TIME]
        return [*guarded_columns(risky, aggregated, types, is_accepted), *times]


def _operator(windows: EmitOperatorPlan, columns: Sequence[tuple[str, Text]]) -> EmitOperator:
    """The operator for rows with these columns, which Spark computes."""
    marked = ((name, pa.bool_()) for name, _ in columns if name.startswith(NOT_COMPUTED))
    extra = tuple(name for name, _ in columns if name in (FAILURE, LATE_ROW))
    return EmitOperator(windows=replace(windows, schema=pa.schema([*windows.schema, *marked])), extra=extra)


def _result_of_stream(plan: EmitPlan, queries: Queries, firings: str) -> DataFrame:
    """The result; firings with an expression that cannot be computed are counted in the query's metrics."""

    def is_accepted(expression: Text) -> bool:
        return queries.accepts(join("SELECT ", expression, f" FROM {firings}"))

    having = [] if plan.having is None else [plan.having]
    texts, failure = guarded_texts([*(text for _, text in plan.shown), *having], is_accepted)
    if failure is None:
        return queries.run(result_query(plan, firings))
    names = [name for name, _ in plan.shown]
    shown = *zip(names, texts), (FAILURE, join(FAILURE))
    guards = replace(plan, shown=shown, having=texts[len(names)] if having else None)
    named = queries.run(join("SELECT *, ", failure, f" AS {FAILURE} FROM {firings}"))
    return without_failures(queries.run(result_query(guards, queries.name(named))))
