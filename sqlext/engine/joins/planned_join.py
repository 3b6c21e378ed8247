"""A planned join on time, and what it says about itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from pyspark.sql import SparkSession

from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.planning.answers import Analysis, Explained, WhyQuestion
from sqlext.engine.planning.planner import PlannedPart
from sqlext.engine.queries.queries import Queries
from sqlext.engine.queries.session_settings import time_zone
from sqlext.rewriter.joins.join_conditions import LEFT, RIGHT


@dataclass(frozen=True)
class PlannedJoin(PlannedPart):
    """A join, which the text of the statement computes, or a relation that replaces it."""

    sides: JoinSides

    @property
    def is_interval_of_streams(self) -> bool:
        """Whether Spark's own join of streams runs it."""
        sides = self.sides
        return sides.clause.kind == "INTERVAL" and all(sides.whole(side).isStreaming for side in (LEFT, RIGHT))

    def why(self, queries: Queries, spark: SparkSession, question: WhyQuestion) -> Iterable[Explained]:
        from sqlext.engine.joins.why_join import explain_join  # other statements need not load it

        clause = self.sides.clause
        answer = partial(explain_join, self.sides, question.condition)
        yield Explained(kind=f"{clause.kind} JOIN", place=clause.keyword.place, answer=answer)

    def analysis(self, queries: Queries, spark: SparkSession) -> Iterable[Analysis]:
        from sqlext.engine.joins.analyze_join import analyze_join  # other statements need not load it

        is_streaming = any(self.sides.rows(side, "1").isStreaming for side in (LEFT, RIGHT))
        run = partial(analyze_join, self.sides, time_zone(spark))
        yield Analysis(kind="Join", place=self.sides.clause.keyword.place, is_streaming=is_streaming, run=run)
