"""The keys whose rows have changed, and the rows of a table that have one of them.

Where Spark runs on this machine, one worker reads the files and drops the rows of other keys at once. Elsewhere the
keys are a DataFrame, which Spark joins and nobody collects.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sqlext.engine.match.ranges import local_cores
from sqlext.engine.materialized.key import value_of
from sqlext.engine.queries.session_settings import choice
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.scan import scan_plan
from sqlext.engine.scan.file_relation import NotRead
from sqlext.engine.scan.rows_of_keys import keys_for_worker, rows_of_keys
from sqlext.rewriter.refresh_keys.separable import SourceColumn
from sqlext.rewriter.text.names import quoted
from sqlext.spark.kind import is_connect, master_of

_VALUE = "__sqlext_key_"


@dataclass(frozen=True, kw_only=True)
class ChangedKeys:
    """`count` keys, in the columns k0, k1, … of `frame`, which is kept until `release`. `values`: those that a
    worker looks for with `cores` threads, None where Spark reads the rows."""

    call: SqlCall
    frame: DataFrame
    count: int
    values: pa.Table | None
    cores: int

    @staticmethod
    def of(call: SqlCall, changed: Sequence[DataFrame]) -> ChangedKeys:
        """The keys in frames with a column for each column of the key."""
        names = [f"k{i}" for i in range(len(changed[0].columns))]
        frame = reduce(DataFrame.unionAll, (rows.toDF(*names) for rows in changed)).distinct().persist()
        cores = _cores(call)
        values = keys_for_worker(frame) if cores is not None else None
        count = frame.count() if values is None else len(values)
        return ChangedKeys(call=call, frame=frame, count=count, values=values, cores=cores or 1)

    def rows_of(self, relation: str, columns: Sequence[SourceColumn], read: Collection[str] | None = None) -> DataFrame:
        """The rows of a relation whose values in `columns` are one of the keys. `read`: names in lower case, among them
        those of the columns that are needed; None if all are."""
        rows = self.call.sql(f"SELECT * FROM {relation}")
        if read is not None:
            needed = {*read, *(column.name.lower() for column in columns)}
            rows = rows.select(*(quoted(column) for column in rows.columns if column.lower() in needed))
        names = {column.name.lower(): f"k{i}" for i, column in enumerate(columns) if column.window is None}
        if self.values is not None and names:
            try:
                rows = rows_of_keys(rows, self.values, names, self.cores)
                if len(columns) == len(names) == 1:
                    return rows
            except NotRead:
                pass
        values = [F.expr(value_of(column)).alias(f"{_VALUE}{i}") for i, column in enumerate(columns)]
        equal = " AND ".join(f"r.{_VALUE}{i} <=> k.k{i}" for i in range(len(columns)))
        found = rows.select("*", *values).alias("r").join(self.frame.alias("k"), F.expr(equal), "left_semi")
        return found.select(*map(quoted, rows.columns))

    def release(self) -> None:
        """Forget the keys that Spark keeps."""
        self.frame.unpersist()


def _cores(call: SqlCall) -> int | None:
    """The cores of this machine, if a worker may read files here."""
    spark = call.spark
    if is_connect(spark) or choice(spark, "sqlext.read", scan_plan.AUTO, scan_plan.MODES) == scan_plan.SPARK:
        return None
    return local_cores(master_of(spark))
