"""Runs an extended statement: finds its clauses, runs each, innermost first, and gives the rest to Spark as written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from sqlext.engine import batch, udtf
from sqlext.engine.functions import is_aggregate
from sqlext.engine.queries import Queries, SparkOracle
from sqlext.errors import SqlExtError, SqlExtErrors, UnsupportedError, raise_all
from sqlext.rewriter import parameters
from sqlext.rewriter.check import check, warnings
from sqlext.rewriter.clauses import Fragment, MatchClause
from sqlext.rewriter.lower import Input, lower
from sqlext.rewriter.parse_from import visible_ctes
from sqlext.rewriter.parse_match import parse_match
from sqlext.rewriter.plan import MatchPlan
from sqlext.rewriter.scan import Site, scan
from sqlext.rewriter.splice import Edit, Source, Text, join
from sqlext.rewriter.tokens import Token, tokenize

ENGINE, STRATEGY = "sqlext.engine", "sqlext.strategy"  # settings of the session
ENGINES = ("arrow", "udtf")

Sql = Callable[..., DataFrame]


@dataclass(frozen=True)
class RunClause:
    """A clause that has been planned and has its result."""

    plan: MatchPlan
    prefix: Text
    frame: DataFrame


def run(spark: SparkSession, text: str, args: Any, frames: Mapping[str, Any], sql: Sql) -> DataFrame:
    """What `spark.sql(text, args, **frames)` gives for a text with clauses of ours."""
    statement = Statement(spark, text, args, frames, sql)
    statement.run_clauses()
    return statement.finish()


class Statement:
    """One statement on its way from text to DataFrame."""

    def __init__(self, spark: SparkSession, text: str, args: Any, frames: Mapping[str, Any], sql: Sql):
        self.spark, self.text, self.sql = spark, text, sql
        self.tokens: Sequence[Token] = tokenize(text)
        self.sites = scan(text)
        self.clauses = parse_clauses(text, self.tokens, self.sites)
        patterns = [(c.pattern_text.start, c.pattern_text.stop) for c in self.clauses]
        self.source = Source(text, tuple(parameters.bind(text, args, patterns)))
        self.queries = Queries(sql, frames, self.source)
        self.done: list[RunClause] = []

    def run_clauses(self) -> None:
        """Every clause becomes a DataFrame that stands for it in what follows."""
        for site, clause in zip(self.sites, self.clauses):
            done = self._run_clause(site, clause)
            self.done.append(done)
            self._put(clause.whole, self.queries.name(done.frame))

    def _put(self, fragment: Fragment, name: str) -> None:
        self.source = self.source.edited([Edit(fragment.start, fragment.stop, name)])
        self.queries.source = self.source

    def _run_clause(self, site: Site, clause: MatchClause) -> RunClause:
        prefix = self._with_clause(site)
        relation = self.source.slice(clause.relation.start, clause.relation.stop)
        frame = self.queries.run(join(prefix, "SELECT * FROM ", relation))
        if frame.isStreaming:
            raise UnsupportedError("STREAM", "MATCH_RECOGNIZE on a stream is not built yet", place=clause.relation.place,
                                   hint="leave STREAM out to match the rows that are there now.")  # fmt: skip
        is_ansi = self.spark.conf.get("spark.sql.ansi.enabled", "true") == "true"
        given = Input(
            tuple((f.name, f.dataType.simpleString()) for f in frame.schema.fields),
            SparkOracle(self.queries, prefix, relation),
            lambda name: is_aggregate(self.spark, self.sql, name),
            is_ansi,
        )
        plan = lower(clause, self.source, given, self.spark.conf.get(STRATEGY, "auto"))
        return RunClause(plan, prefix, self._engine(plan, prefix, is_ansi))

    def _engine(self, plan: MatchPlan, prefix: Text, is_ansi: bool) -> DataFrame:
        engine = self.spark.conf.get(ENGINE, "arrow")
        if engine == "udtf":
            return udtf.run(plan, self.queries, prefix, self.spark, is_ansi)
        if engine != "arrow":
            raise UnsupportedError("ENGINE", f'there is no engine "{engine}"', hint=f"{ENGINE} is one of {', '.join(ENGINES)}.")
        return batch.run(plan, self.queries, prefix, is_ansi)

    def _with_clause(self, site: Site) -> Text:
        """The CTEs that the clause's input can see, finished clauses in them included."""
        ctes = visible_ctes(self.tokens, site)
        if not ctes:
            return Text()
        return join("WITH ", join(*(self.source.slice(c.start, c.stop) for c in ctes), separator=", "), " ")

    def finish(self) -> DataFrame:
        """The statement itself, by Spark."""
        return self.queries.execute(self.source.slice(0, len(self.text)))


def parse_clauses(text: str, tokens: Sequence[Token], sites: Sequence[Site]) -> list[MatchClause]:
    """The clauses of all sites, checked. Raises the syntax errors of all of them together, then those of the checks."""
    clauses = _collect(sites, lambda site: parse_match(text, tokens, site))
    _collect(clauses, check)
    for clause in clauses:
        for warning in warnings(clause):
            import warnings as python_warnings

            python_warnings.warn(warning, stacklevel=5)
    return clauses


def _collect(items: Sequence[Any], step: Callable[[Any], Any]) -> list[Any]:
    errors: list[SqlExtError] = []
    results = []
    for item in items:
        try:
            results.append(step(item))
        except SqlExtErrors as e:
            errors += e.errors
        except SqlExtError as e:
            errors.append(e)
    raise_all(errors)
    return results
