"""Run MATCH_RULES: over a table, each version over the rows of its own time; over a stream, with the rules as a second
stream."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sqlext.catalog import pattern_rules
from sqlext.engine.planning.answers import KeptClause
from sqlext.engine.planning.fingerprint import Fingerprint, digest_of, fingerprint_of
from sqlext.engine.planning.planner import PlannedPart
from sqlext.engine.planning.stream_clause import StreamClause
from sqlext.engine.queries.queries import Queries, with_whole_keys
from sqlext.engine.rules import rule_reports
from sqlext.engine.rules.rule_reports import REPORTS
from sqlext.engine.shipped.data_types import with_char_types
from sqlext.engine.streams import side_tables
from sqlext.engine.streams.run_operator import bucket_count, decided_rows, result_columns
from sqlext.expressions.spark_types import TIMESTAMP_TYPE
from sqlext.operators.rules.operator import RulesOperator
from sqlext.operators.rules.plan import RulesPlan
from sqlext.operators.rules.rule_parcels import pack_rules
from sqlext.operators.rules.rule_versions import TakenVersion
from sqlext.operators.rules.state import ARRIVING_VERSIONS, in_time
from sqlext.operators.stateful.bucket import REPORT
from sqlext.operators.stateful.parcels import PARCEL_DDL
from sqlext.pattern.task.event_time import BEGINNING
from sqlext.rewriter.rules.rules_clause import RulesClause
from sqlext.rewriter.text.names import Parts, quote, quoted
from sqlext.rewriter.text.splice import Text, TextLike
from sqlext.spark.versions import spark_schema
from sqlext.spark.worker_functions import map_in_arrow


@dataclass(frozen=True, kw_only=True)
class PlannedRules(PlannedPart):
    """A bound MATCH_RULES. `plan`: the plan for workers; `rows`: the events with its columns; `relation`: the events as
    written; `has_effect`: the reports of a stream about rules are written to their tables, and late and failed rows to
    the tables that are set, which are created if they do not exist."""

    clause: RulesClause
    plan: RulesPlan
    rows: DataFrame
    relation: Text
    has_effect: bool

    @property
    def table(self) -> Parts:
        """The name of the table of rules."""
        return self.clause.rules.parts

    @property
    def stream_clauses(self) -> list[StreamClause]:
        if not self.rows.isStreaming:
            return []
        fingerprint = rules_fingerprint(self.plan, self.relation)
        return [StreamClause(text=self.clause.whole.text, place=self.clause.keyword.place, fingerprint=fingerprint)]

    def frame(self, queries: Queries, spark: SparkSession) -> DataFrame:
        return self._on_stream(queries, spark) if self.rows.isStreaming else self._in_batch(queries, spark)

    def kept(self, queries: Queries, spark: SparkSession) -> Iterable[KeptClause]:
        from sqlext.engine.rules.kept_rules import kept_rules  # loads Numba, which other statements need not

        return (kept_rules(self.plan, clause, queries, spark) for clause in self.stream_clauses)

    def _in_batch(self, queries: Queries, spark: SparkSession) -> DataFrame:
        versions, plan = taken_versions(queries, spark, self.table), self.plan

        def match(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from sqlext.operators.rules.replay import replay_batches  # loads Numba, which the driver does not need

            return replay_batches(batches, versions, plan)

        return map_in_arrow(with_whole_keys(self.rows, plan.keys), match, self._result_schema)

    def _on_stream(self, queries: Queries, spark: SparkSession) -> DataFrame:
        plan, fingerprint = self.plan, rules_fingerprint(self.plan, self.relation)
        # A DELETE in the table, if somebody has enabled it, must not end the stream: see docs/rules.md.
        rules = spark.readStream.option("skipChangeCommits", "true").table(quote(self.table))
        pattern_rules.check_columns(self.table, dict(rules.dtypes))
        pack = partial(pack_rules, buckets=bucket_count(spark, plan.keys))
        folders = side_tables.open_folders(spark, fingerprint, queries.identifier) if self.has_effect else {}
        metric = f"{REPORTS}_{uuid.uuid4().hex[:8]}"
        if self.has_effect:
            rule_reports.follow(spark, queries.sql, self.table, metric)
        texts = F.collect_list(F.when(F.col("kind") == REPORT, F.col("rows").cast("string"))).alias("reports")
        decided = decided_rows(
            self.rows,
            RulesOperator(plan=plan, shows_late_rows=side_tables.LATE in folders),
            fingerprint,
            plan.keys,
            folders=folders,
            parcels=map_in_arrow(rules.select(*ARRIVING_VERSIONS.names), pack, PARCEL_DDL),
            observe=lambda rows: rows.observe(metric, texts),
        )
        return result_columns(decided, [], self._result_schema)

    @property
    def _result_schema(self) -> T.StructType:
        return with_char_types(spark_schema(self.plan.result_schema), self.rows.schema)


def taken_versions(queries: Queries, spark: SparkSession, table: Parts) -> Sequence[TakenVersion]:
    """The versions of all rules, with the watermark at which the first stream took each of them up.

    Versions that no stream has taken up act from the last watermark at which a stream took one up, or from the
    beginning if no stream has taken any up.
    """
    log = pattern_rules.log(spark, queries.sql, table)
    taken: dict[tuple[str, int], int] = {}
    for entry in log:
        key = entry.name, entry.version
        taken[key] = min(entry.taken_up, taken.get(key, entry.taken_up))
    last = max(taken.values(), default=BEGINNING)
    versions: dict[tuple[str, int], TakenVersion] = {}
    rows = pattern_rules.versions(queries.sql, table)
    for row in sorted(rows, key=lambda row: in_time(row.name, row.version, row.time, row.clause)):
        if row.name is not None and row.version is not None:
            version = TakenVersion(
                name=row.name,
                version=row.version,
                clause=row.clause,
                is_enabled=row.enabled is not False,
                effective_from=row.effective_from,
                taken_up=taken.get((row.name, row.version), last),
            )
            versions.setdefault((row.name.lower(), row.version), version)
    return list(versions.values())


def rules_fingerprint(plan: RulesPlan, relation: TextLike) -> Fingerprint:
    """The fingerprint of what decides the state. Rules may change, and so may the columns that they read."""
    settings, types = [plan.settings.is_ansi, plan.settings.time_zone], dict(plan.columns)
    read = [*plan.keys, *plan.order]
    parts = {"PARTITION BY": plan.keys, "ORDER BY": plan.order, "the settings for ANSI and the time zone": settings}
    former = [digest_of(["rules", [(name, types[name]) for name in read], len(plan.keys), settings])]
    if plan.settings.timestamp_type != "timestamp":
        parts, former = {**parts, TIMESTAMP_TYPE: plan.settings.timestamp_type}, []
    return fingerprint_of(parts, [quoted(name) for name in read], plan.columns, relation, former)
