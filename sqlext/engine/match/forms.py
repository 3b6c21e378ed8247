"""The form in which a clause is run: the cheapest form that gives the right result, and the reason for it.

| form | runs |
|---|---|
| stream | clauses over a stream: a stateful operator |
| window | windows with row patterns: as tasks, but with one result for each row |
| lead | patterns of a single row: a filter of Spark, without Python |
| udtf | every clause, where `sqlext.engine` is udtf |
| local | one worker reads the files of a table by itself, and uses all cores of this machine |
| ranges | one partition on many cores: ranges of its order are matched at once |
| shuffled | whole partitions, in the tasks that Spark makes of the keys; workers order the rows |
| tasks | every clause: the same, but Spark sorts the rows |

For tests and measurements, settings of the session choose the form; "auto" leaves the choice to `choose`.

| setting | values |
|---|---|
| `sqlext.strategy` | auto, lead, or a strategy of `pattern.strategy` |
| `sqlext.prefilter` | auto, off, on: whether keys that cannot match are dropped first, see `engine.match.prefilter` |
| `sqlext.prefilter` | off: rows that no match can use are read too, see `rewriter.lowering.usable_rows` |
| `sqlext.stream.on_data_error` | skip, fail: whether a value that cannot be computed on a stream's row ends the query |
| `sqlext.parallel` | auto, off, on: whether the rows of one key are spread over tasks, see `engine.match.ranges` |
| `sqlext.read` | auto, spark, worker: who reads the files of a table, see `engine.scan.scan_plan` |
| `sqlext.order` | auto, spark, worker: who orders the rows of a key, also of ASOF JOIN, see `engine.match.ordering` |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from sqlext.engine.match import lead, local, ordering, prefilter, ranges, run_batch, run_stream, udtf
from sqlext.engine.match.bind_clause import BoundClause
from sqlext.engine.planning.stream_clause import StreamClause
from sqlext.engine.queries.pushable_columns import pushable_columns
from sqlext.engine.queries.queries import Queries, SparkTypeResolver
from sqlext.engine.queries.session_settings import choice
from sqlext.engine.scan import scan_plan
from sqlext.engine.scan.scan_plan import LocalScan
from sqlext.engine.streams import side_tables
from sqlext.operators.stateful.side_rows import LATE
from sqlext.pattern import strategy
from sqlext.rewriter.lowering import operator_plan, stream_checks
from sqlext.rewriter.lowering.guard import FAIL, ON_DATA_ERROR, SKIP
from sqlext.rewriter.lowering.match_plan import MatchPlan
from sqlext.rewriter.lowering.pushdown import are_repeatable
from sqlext.rewriter.lowering.usable_rows import usable_rows_filter
from sqlext.rewriter.scalars.row_filter import Pushable, RowFilter
from sqlext.rewriter.text.fragments import in_line
from sqlext.rewriter.text.splice import Text, join
from sqlext.spark.kind import master_of


@dataclass(frozen=True, kw_only=True)
class SessionSettings:
    """The session's settings for running clauses."""

    engine: str = "arrow"
    strategy: str = "auto"
    prefilter: str = "auto"
    parallel: str = "auto"
    order: str = "auto"
    read: str = "auto"
    cores: int | None = None
    writes_side_tables: bool = False
    writes_late_rows: bool = False
    skips_failures: bool = True

    @staticmethod
    def of(spark: SparkSession) -> SessionSettings:
        """The settings of a session. Raises BindError for a value that does not exist."""
        tables = side_tables.table_names(spark)
        return SessionSettings(
            engine=choice(spark, "sqlext.engine", "arrow", ("arrow", "udtf")),
            strategy=choice(spark, "sqlext.strategy", "auto", ("auto", lead.NAME, *strategy.STRATEGIES)),
            prefilter=choice(spark, "sqlext.prefilter", "auto", prefilter.MODES),
            parallel=choice(spark, "sqlext.parallel", "auto", ranges.MODES),
            order=choice(spark, "sqlext.order", "auto", ordering.MODES),
            read=choice(spark, "sqlext.read", "auto", scan_plan.MODES),
            cores=ranges.local_cores(master_of(spark)),
            writes_side_tables=bool(tables),
            writes_late_rows=LATE in tables,
            skips_failures=choice(spark, ON_DATA_ERROR, SKIP, (SKIP, FAIL)) == SKIP,
        )


@dataclass(frozen=True, kw_only=True)
class PhysicalPlan:
    """A bound clause and how it is run.

    `reasons`: (decision, reason) pairs, for EXPLAIN MATCH. `has_effect`: building the DataFrame to run has an effect on
    the session or the catalog. `skips_failures`: a value that cannot be computed does not end a stream. `warnings`:
    sentences about state that is kept for ever. `filters_as_written`: the filters that follow from
    the query around the clause; `usable_rows`: the filter, if any, that drops rows which no match can use.
    """

    plan: MatchPlan
    prefix: Text
    form: Form
    strategy: str
    reasons: tuple[tuple[str, str], ...]
    has_effect: bool = False
    scan: LocalScan | None = None
    skips_failures: bool = True
    warnings: tuple[str, ...] = ()
    filters_as_written: tuple[RowFilter, ...] = ()
    usable_rows: tuple[RowFilter, ...] = ()

    @property
    def filters_of_engine(self) -> tuple[RowFilter, ...]:
        """The filters that this module has added, which drop rows before the shuffle."""
        return self.plan.filters[len(self.filters_as_written) :]

    @property
    def is_streaming(self) -> bool:
        return self.form is STREAM

    @property
    def stream_clauses(self) -> list[StreamClause]:
        """The record of the clause that is stored beside the checkpoint of a stream; empty in batch."""
        return [run_stream.stream_clause(self.plan)] if self.is_streaming else []

    def frame(self, queries: Queries, spark: SparkSession) -> DataFrame:
        """The clause's result."""
        rows = self.form.frame(self, queries, spark)
        return rows if self.plan.shown or rows.isStreaming else rows.select()


@dataclass(frozen=True, kw_only=True)
class Form:
    """A form in which Spark runs clauses.

    `refusal`: the reason why it does not run a clause, as a sentence, or None; `strategy`: (name, reason); `frame`
    builds the result; `input_query`: what Spark computes before the match, None if Spark does not compute anything
    before; `parallel`: how rows are spread over tasks, and `order`: who orders them; None if there is no choice.
    """

    name: str
    refusal: Callable[[BoundClause, SessionSettings], str | None]
    strategy: Callable[[MatchPlan, SessionSettings], tuple[str, str]]
    frame: Callable[[PhysicalPlan, Queries, SparkSession], DataFrame]
    input_query: Callable[[MatchPlan, Text], Text] | None
    parallel: Callable[[MatchPlan, SessionSettings], str] | None
    order: Callable[[BoundClause, SessionSettings], str] | None = None


def choose(clause: BoundClause, settings: SessionSettings, queries: Queries) -> PhysicalPlan:
    """The first form that does not refuse the clause. May run a small job over the input.

    Raises UnsupportedError: STRATEGY_NOT_APPLICABLE, and errors for clauses that cannot run on a stream.
    """
    _check(clause, settings)
    form = next(form for form in FORMS if form.refusal(clause, settings) is None)
    plan, scan, why_scan = clause.plan, None, ""
    if form in (WINDOW, RANGES, SHUFFLED, TASKS):
        scan, why_scan = local.scan_of(clause, settings.read, settings.cores, _asked_of_spark(settings))
        form = form if scan is None else LOCAL
    name, why = form.strategy(plan, settings)
    bounds = [f"{b.written} bounds the match as WITHIN does." for b in plan.bounds if b.written]
    reasons = [(name, " ".join([why, *bounds])), *_filters(plan)]
    usable, why_read = ((), "") if form is LEAD else _usable_rows(clause, settings, queries)
    if form is LEAD:
        plan = replace(plan, pushable=_pushable(clause, queries, lead.conditions(plan)))
    if form.parallel is not None:
        plan, why_filtered = prefilter.prefiltered(plan, clause.prefix, queries, settings.prefilter, usable)
        reasons += [("prefilter", why_filtered), ("parallel", form.parallel(plan, settings))]
    if form.order is not None:
        reasons.append(("order", form.order(clause, settings)))
    if why_scan:
        reasons.append(("read", why_scan))
    if why_read:
        reasons.append(("rows", why_read))
    plan = replace(plan, filters=(*plan.filters, *usable))
    if form.strategy is _strategy_of_workers:
        # so that workers run the strategy that EXPLAIN MATCH names
        plan = replace(plan, task=replace(plan.task, strategy=name))
    return PhysicalPlan(
        plan=plan,
        prefix=clause.prefix,
        form=form,
        strategy=name,
        reasons=tuple(reasons),
        has_effect=form is STREAM and settings.writes_side_tables,
        scan=scan and scan.filtered(each.condition for each in plan.filters),
        skips_failures=settings.skips_failures,
        filters_as_written=clause.plan.filters,
        usable_rows=usable,
        warnings=tuple(stream_checks.warnings(plan)) if form is STREAM else (),
    )


def _asked_of_spark(settings: SessionSettings) -> str:
    """The settings that name a way in which Spark reads the rows."""
    asked = {
        "sqlext.order is spark": settings.order == ordering.SPARK,
        "sqlext.parallel is on": settings.parallel == ranges.ON,
        "sqlext.prefilter is on": settings.prefilter == prefilter.ON,
    }
    return " and ".join(name for name, is_asked in asked.items() if is_asked)


def _check(clause: BoundClause, settings: SessionSettings) -> None:
    """Raise an error if the only form for a clause refuses it."""
    if clause.is_streaming:
        stream_checks.check_plan(clause.plan)
    elif settings.strategy == lead.NAME and (refusal := lead.refusal(clause.plan)) is not None:
        error = strategy.not_applicable(clause.plan.task, lead.NAME, refusal)
        raise error.with_(place=clause.plan.clause.keyword.place)


def _filters(plan: MatchPlan) -> list[tuple[str, str]]:
    conditions = " AND ".join(in_line(each.condition) for each in plan.filters)
    return [("filter", f"{conditions} is applied before the match, as WHERE allows.")] if conditions else []


def _usable_rows(clause: BoundClause, settings: SessionSettings, queries: Queries) -> tuple[tuple[RowFilter, ...], str]:
    """The filter, if any, that leaves only rows which a match can use, where that changes nothing else, and the
    reason."""
    if settings.prefilter == "off":
        return (), "all rows are read: sqlext.prefilter is off."
    if clause.is_streaming and settings.writes_late_rows:
        return (), f"all rows are read: {LATE} is set, and late rows are written whether a match can use them or not."

    def is_repeatable(text: Text) -> bool:
        return are_repeatable([text], SparkTypeResolver(queries, clause.prefix, clause.plan.relation))

    return usable_rows_filter(
        clause.plan, is_repeatable, partial(_pushable, clause, queries), is_streaming=clause.is_streaming
    )


def _pushable(clause: BoundClause, queries: Queries, conditions: Sequence[Text]) -> Pushable:
    plan = clause.plan
    return pushable_columns(queries, clause.prefix, plan.relation, plan.input_types, conditions)


def _strategy_of_workers(plan: MatchPlan, settings: SessionSettings) -> tuple[str, str]:
    return strategy.choose(plan.task)


# streams


def _stream_frame(p: PhysicalPlan, queries: Queries, spark: SparkSession) -> DataFrame:
    return run_stream.run_stream(
        p.plan, queries, p.prefix, spark, writes_tables=p.has_effect, skips_failures=p.skips_failures
    )


STREAM = Form(
    name=run_stream.NAME,
    refusal=lambda clause, settings: None if clause.is_streaming else "the input is not a stream.",
    strategy=lambda plan, settings: operator_plan.stream_matcher(plan),
    frame=_stream_frame,
    input_query=lambda plan, prefix: run_batch.unsorted_query(plan),
    parallel=None,
)

# the form of windows with row patterns

WINDOW = Form(
    name="window",
    refusal=lambda clause, settings: None if clause.plan.task.frame is not None else "the clause is no window.",
    strategy=_strategy_of_workers,
    frame=lambda p, queries, spark: _tasks_frame(p, queries, spark),
    input_query=run_batch.input_query,
    parallel=None,
)

# the form lead


def _refuses_lead(clause: BoundClause, settings: SessionSettings) -> str | None:
    if settings.strategy == lead.NAME:
        return None
    if (settings.strategy, settings.engine) != ("auto", "arrow"):
        return "the session names another strategy or engine."
    return lead.refusal(clause.plan)


def _lead_strategy(plan: MatchPlan, settings: SessionSettings) -> tuple[str, str]:
    if settings.strategy == lead.NAME:
        return lead.NAME, f'strategy "{lead.NAME}" was asked for.'
    return lead.NAME, lead.REASON


LEAD = Form(
    name=lead.NAME,
    refusal=_refuses_lead,
    strategy=_lead_strategy,
    frame=lambda p, queries, spark: lead.run_lead(p.plan, queries, p.prefix),
    input_query=None,
    parallel=None,
)

# forms with Python workers


def _tasks_frame(p: PhysicalPlan, queries: Queries, spark: SparkSession) -> DataFrame:
    return run_batch.run_batch(p.plan, queries, p.prefix)


def _local_frame(p: PhysicalPlan, queries: Queries, spark: SparkSession) -> DataFrame:
    assert p.scan is not None
    return local.run_local(p.plan, p.scan, queries, p.prefix)


def _by_keys(plan: MatchPlan, settings: SessionSettings) -> str:
    return ranges.refusal(plan, settings.parallel, settings.cores) or ""


def _refuses_shuffled(clause: BoundClause, settings: SessionSettings) -> str | None:
    return ordering.refusal(clause, settings.order)


def _refuses_ranges(clause: BoundClause, settings: SessionSettings) -> str | None:
    return ranges.refusal(clause.plan, settings.parallel, settings.cores)


UDTF = Form(
    name="udtf",
    refusal=lambda clause, settings: None if settings.engine == "udtf" else "sqlext.engine is not udtf.",
    strategy=_strategy_of_workers,
    frame=lambda p, queries, spark: udtf.run_udtf(p.plan, queries, p.prefix, spark),
    input_query=run_batch.input_query,
    parallel=lambda plan, settings: "no, the engine udtf matches one bucket of keys in each task.",
)
LOCAL = Form(
    name=local.NAME,
    refusal=lambda clause, settings: "it is chosen instead of the forms below it.",
    strategy=_strategy_of_workers,
    frame=_local_frame,
    input_query=lambda plan, prefix: join(prefix, run_batch.unsorted_query(plan)),
    parallel=None,
)
RANGES = Form(
    name="ranges",
    refusal=_refuses_ranges,
    strategy=_strategy_of_workers,
    frame=lambda p, queries, spark: ranges.run_ranges(p.plan, queries, p.prefix),
    input_query=ranges.input_query,
    parallel=lambda plan, settings: ranges.reason(settings.parallel),
)
SHUFFLED = Form(
    name="shuffled",
    refusal=_refuses_shuffled,
    strategy=_strategy_of_workers,
    frame=lambda p, queries, spark: run_batch.run_batch(p.plan, queries, p.prefix, orders_rows=True),
    input_query=run_batch.shuffled_query,
    parallel=_by_keys,
    order=lambda clause, settings: ordering.reason(settings.order),
)
TASKS = Form(
    name="tasks",
    refusal=lambda clause, settings: None,
    strategy=_strategy_of_workers,
    frame=_tasks_frame,
    input_query=run_batch.input_query,
    parallel=_by_keys,
    order=lambda clause, settings: _refuses_shuffled(clause, settings) or "",
)

FORMS = (STREAM, WINDOW, LEAD, UDTF, RANGES, SHUFFLED, TASKS)
