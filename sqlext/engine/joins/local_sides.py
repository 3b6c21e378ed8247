"""Both relations of a join, read by one worker from the files of their tables: no row passes through Spark before the
join."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from sqlext.engine.queries.session_settings import execution_settings
from sqlext.engine.scan import scan_plan
from sqlext.engine.scan.file_relation import NotRead
from sqlext.engine.scan.scan_plan import LocalScan, check_bytes, local_scan
from sqlext.expressions.spark_types import INTEGER_BITS
from sqlext.operators.rows.limits import Limits
from sqlext.operators.scan.read_sides import LEFT, RIGHT, Columns, joined
from sqlext.rewriter.text.splice import join
from sqlext.spark.kind import is_connect
from sqlext.spark.worker_functions import map_in_arrow


@dataclass(frozen=True, kw_only=True)
class LocalSides:
    """What one worker reads of both relations."""

    left: LocalScan
    right: LocalScan

    @property
    def limits(self) -> Limits:
        return Limits(threads=self.left.plan.threads)

    def frame(self, pair: Callable[[Columns, Columns], Iterator[pa.RecordBatch]], schema: T.StructType) -> DataFrame:
        """The rows that `pair` returns of all rows of both relations."""
        plans = {LEFT: self.left.plan, RIGHT: self.right.plan}

        def join_files(files: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return joined(files, plans, pair)

        return map_in_arrow(self._files().coalesce(1), join_files, schema)

    def _files(self) -> DataFrame:
        """The list of the files of both relations."""
        left, right = self.left.files, self.right.files
        return left.selectExpr(f"struct(*) AS `{LEFT}`").unionByName(
            right.selectExpr(f"struct(*) AS `{RIGHT}`"), allowMissingColumns=True
        )


def same_types(left: DataFrame, right: DataFrame, compared: Sequence[tuple[str, str]]) -> None:
    """Raise NotRead if the columns of both relations that are compared have different types that are not integers."""
    types = [dict(side.dtypes) for side in (left, right)]
    for of_left, of_right in compared:
        both = types[0][of_left], types[1][of_right]
        if both[0] != both[1] and not INTEGER_BITS.keys() >= {*both}:
            raise NotRead(f"{both[0]} is compared with {both[1]}")


def local_cores(mode: str, cores: int | None) -> int:
    """The cores for a worker that reads files. `mode`: one of `scan_plan.MODES`. Raises NotRead if Spark reads them."""
    if mode == scan_plan.SPARK:
        raise NotRead("sqlext.read is spark")
    if cores is None:
        raise NotRead("")
    return cores


def local_sides(left: DataFrame, right: DataFrame, cores: int) -> LocalSides:
    """The reading of two relations, whose columns are what the join needs. Raises NotRead."""
    spark = left.sparkSession
    if is_connect(spark):
        raise NotRead("")
    settings = execution_settings(spark)
    scans = [local_scan(side, settings, [(c, join(c)) for c in side.columns], [], cores) for side in (left, right)]
    check_bytes(sum(scan.needed_bytes for scan in scans), scans[0].held_bytes)
    return LocalSides(left=scans[0], right=scans[1])
