"""ASOF JOIN of tables whose files one worker reads: it orders and pairs their rows on the threads of all cores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from sqlext.engine.joins.local_sides import LocalSides, local_cores, local_sides, same_types
from sqlext.engine.joins.paired_types import refusal_by_types
from sqlext.engine.planning.planner import PlannedPart
from sqlext.engine.planning.stream_clause import StreamClause
from sqlext.engine.queries.queries import Queries
from sqlext.engine.scan.file_relation import NotRead
from sqlext.operators.asof.plan import TIME
from sqlext.operators.scan.read_sides import Columns
from sqlext.rewriter.joins.asof_pairs_sql import Pairs, sides_plan, sides_sql
from sqlext.rewriter.text.splice import Text, join


@dataclass(frozen=True, kw_only=True)
class LocalAsof(PlannedPart):
    """The join, what the worker reads, and the columns that it returns."""

    pairs: Pairs
    sides: LocalSides
    schema: T.StructType
    has_effect: ClassVar[bool] = False
    stream_clauses: ClassVar[tuple[StreamClause, ...]] = ()

    @property
    def reads_files(self) -> bool:
        return True

    def frame(self, queries: Queries, spark: SparkSession) -> DataFrame:
        plan = replace(sides_plan(self.pairs), limits=self.sides.limits)

        def pair(left: Columns, right: Columns) -> Iterator[pa.RecordBatch]:
            from sqlext.operators.asof.pair_sides import pair_sides  # loads Numba, which the driver does not need

            return pair_sides(left, right, plan)

        return self.sides.frame(pair, self.schema)


def local_asof(pairs: Pairs, prefix: Text, queries: Queries, read: str, cores: int | None) -> LocalAsof:
    """The join by one worker. `prefix`: the WITH clause that its relations need. Raises NotRead."""
    plan, threads = sides_plan(pairs), local_cores(read, cores)
    if pairs.asof.carried is None:
        raise NotRead("the left relation is more than one table with a name")
    left, right = (queries.run(join(prefix, text)) for text in sides_sql(pairs))
    same_types(left, right, [(name, name) for name in (TIME, *plan.keys)])
    if refusal := refusal_by_types(plan, T.StructType([*left.schema.fields, *right.schema.fields])):
        raise NotRead(refusal)
    types = {name: left.schema[of].dataType for name, of in plan.of_left.items()}
    types.update({name: right.schema[of].dataType for name, of in plan.of_right.items()})
    schema = T.StructType([T.StructField(name, kind) for name, kind in types.items()])
    return LocalAsof(pairs=pairs, sides=local_sides(left, right, threads), schema=schema)
