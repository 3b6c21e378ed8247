"""How a clause is run: the cheapest way that is right, and why.

Settings of the session choose for tests and measurements; "auto" leaves the choice to `choose`.

| setting | values |
|---|---|
| `sqlext.strategy` | auto, lead (`engine.lead`), a strategy of `pattern.matcher` |
| `sqlext.prefilter` | auto, off, on: see `engine.prefilter` |
| `sqlext.parallel` | auto, off, on: are the rows of one key spread over tasks, see `engine.ranges` |
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from sqlext.engine.batch import lead, prefilter, ranges, run_batch, udtf
from sqlext.engine.queries import Queries
from sqlext.engine.stream import run_stream
from sqlext.errors import BindError, UnsupportedError
from sqlext.pattern import strategy
from sqlext.rewriter.match.match_plan import MatchPlan
from sqlext.rewriter.text.splice import Text


@dataclass(frozen=True)
class PlannedClause:
    """What is to be computed. `prefix`: the WITH clause that the input needs; `is_streaming`: the input has no end."""

    plan: MatchPlan
    prefix: Text
    is_ansi: bool
    is_streaming: bool = False


@dataclass(frozen=True)
class Settings:
    """What the session says about how to run clauses."""

    engine: str = "arrow"
    strategy: str = "auto"
    prefilter: str = "auto"
    parallel: str = "auto"
    cores: int | None = None

    @staticmethod
    def of(spark: SparkSession) -> Settings:
        """Raises BindError: a value that does not exist."""
        engine = _setting(spark, "sqlext.engine", "arrow", ("arrow", "udtf"))
        named = _setting(spark, "sqlext.strategy", "auto", ("auto", lead.NAME, *strategy.STRATEGIES))
        return Settings(
            engine,
            named,
            _setting(spark, "sqlext.prefilter", "auto", prefilter.MODES),
            _setting(spark, "sqlext.parallel", "auto", ranges.MODES),
            ranges.local_cores(spark.conf.get("spark.master", "") or ""),
        )


def _setting(spark: SparkSession, name: str, default: str, values: tuple[str, ...]) -> str:
    value = spark.conf.get(name, default) or default
    if value not in values:
        what = name.removeprefix("sqlext.")
        raise BindError(what.upper(), f'there is no {what} "{value}"', hint=f"{name} is {', '.join(values)}.")
    return value


@dataclass(frozen=True)
class Physical:
    """A planned clause and the way it is run; `reasons` are shown by EXPLAIN MATCH: (decision, why)."""

    plan: MatchPlan
    prefix: Text
    is_ansi: bool
    engine: str
    reasons: tuple[tuple[str, str], ...]
    strategy: str = ""
    is_parallel: bool = False

    @property
    def is_streaming(self) -> bool:
        return self.strategy == run_stream.NAME


def choose(planned: PlannedClause, settings: Settings, queries: Queries) -> Physical:
    """May run a small job over the input. Raises UnsupportedError: STRATEGY_NOT_APPLICABLE."""
    if planned.is_streaming:
        reasons = ((run_stream.NAME, run_stream.reason(planned.plan)), *_pushed(planned.plan))
        return Physical(planned.plan, planned.prefix, planned.is_ansi, settings.engine, reasons, run_stream.NAME)
    strategy, why = _strategy(planned.plan, settings)
    bounds = [f"{b.written} bounds the match like WITHIN." for b in planned.plan.bounds if b.written]
    plan, why_filtered = _prefiltered(planned, strategy, settings, queries)
    is_parallel, why_parallel = _parallel(plan, strategy, settings)
    reasons = (
        (strategy, " ".join([why, *bounds])),
        *_pushed(planned.plan),
        ("prefilter", why_filtered),
        ("parallel", why_parallel),
    )
    return Physical(plan, planned.prefix, planned.is_ansi, settings.engine, reasons, strategy, is_parallel)


def _strategy(plan: MatchPlan, settings: Settings) -> tuple[str, str]:
    """(strategy, why). Ranges on all cores are worth more than doing without Python, no shuffle is worth more still."""
    if settings.strategy == lead.NAME:
        why_not = lead.objection(plan)
        if why_not is not None:
            cheapest, _ = strategy.choose(replace(plan.task, strategy="auto"))
            raise UnsupportedError(
                "STRATEGY_NOT_APPLICABLE",
                f'strategy "{lead.NAME}" cannot run this clause: {why_not}',
                place=plan.clause.keyword.place,
                hint=f'leave the strategy at "auto", which takes {cheapest}.',
            )
        return lead.NAME, f'strategy "{lead.NAME}" was asked for.'
    is_free = (settings.strategy, settings.engine) == ("auto", "arrow")
    if is_free and lead.objection(plan) is None:
        is_parallel, _ = ranges.choose(plan, settings.parallel, settings.cores)
        if not is_parallel or not lead.needs_window(plan):
            return lead.NAME, lead.reason(plan)
    return strategy.choose(plan.task)


def _pushed(plan: MatchPlan) -> list[tuple[str, str]]:
    conditions = " AND ".join(" ".join(str(f).split()) for f in plan.filters)
    return [("filter", f"{conditions} is applied before the match, as WHERE allows.")] if conditions else []


def _prefiltered(planned: PlannedClause, strategy: str, settings: Settings, queries: Queries) -> tuple[MatchPlan, str]:
    if strategy == lead.NAME and not lead.needs_window(planned.plan):
        return planned.plan, "none, nothing is shuffled."
    return prefilter.prefiltered(planned.plan, planned.prefix, queries, settings.prefilter)


def _parallel(plan: MatchPlan, strategy: str, settings: Settings) -> tuple[bool, str]:
    if strategy == lead.NAME and lead.needs_window(plan):
        return False, "no, Spark's window functions take all rows of a key together."
    if strategy == lead.NAME:
        return False, "as the input is, nothing is shuffled."
    if settings.engine == "udtf":
        return False, "no, the engine udtf gives a bucket of keys to each task."
    return ranges.choose(plan, settings.parallel, settings.cores)


def run(physical: Physical, queries: Queries, spark: SparkSession) -> DataFrame:
    """The clause's result."""
    if physical.is_streaming:
        return run_stream.run(physical.plan, queries, physical.prefix, physical.is_ansi, spark)
    if physical.strategy == lead.NAME:
        return lead.run(physical.plan, queries, physical.prefix)
    if physical.engine == "udtf":
        return udtf.run(physical.plan, queries, physical.prefix, spark, physical.is_ansi)
    if physical.is_parallel:
        return ranges.run(physical.plan, queries, physical.prefix, physical.is_ansi)
    return run_batch.run(physical.plan, queries, physical.prefix, physical.is_ansi)
