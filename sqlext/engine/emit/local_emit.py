"""EMIT in batch over a table whose files one worker reads: it orders the rows and fires windows on the threads of all
cores. No row passes through Spark before the firings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame

from sqlext.engine.emit.run_emit import firing_schema
from sqlext.engine.scan.file_relation import NotRead
from sqlext.engine.scan.scan_plan import PARTS, LocalScan, chosen_scan, local_scan
from sqlext.operators.emit.operator import LIMITS, fire_blocks
from sqlext.operators.emit.plan import EmitOperatorPlan
from sqlext.rewriter.emit.lower_emit import EmitPlan
from sqlext.rewriter.text.splice import join
from sqlext.spark.kind import is_connect
from sqlext.spark.worker_functions import map_in_arrow

REASON = "one worker reads the files of the table and fires its windows with the threads of all cores."


def scan_of(plan: EmitPlan, rows: DataFrame, mode: str, cores: int | None) -> tuple[LocalScan | None, str]:
    """What a worker reads, None if Spark reads the rows, and the reason, as EXPLAIN MATCH shows it. `rows`: the columns
    of `rows_query`; `mode`: one of `scan_plan.MODES`; `cores`: those of this machine, None if Spark runs on others.

    Raises UnsupportedError: READ_BY_WORKER, if the session asks for it and it is not possible.
    """
    return chosen_scan(partial(_scan, plan, rows, cores), mode, plan.clause.keyword.place, REASON)


def _scan(plan: EmitPlan, rows: DataFrame, cores: int | None) -> LocalScan:
    if is_connect(rows.sparkSession) or cores is None:
        raise NotRead("")
    columns = [(name, join(name)) for name, _ in plan.columns]
    written = {name: str(text) for name, text in plan.columns}
    parts, first = PARTS if plan.keys else 1, columns[0][0]  # a key, or the time
    return local_scan(rows, plan.settings, columns, [], cores, written, parts, first)


def local_firings(scan: LocalScan, windows: EmitOperatorPlan, rows: DataFrame) -> DataFrame:
    """The firings over all rows. `rows`: the columns of `rows_query`."""
    limits, plan = replace(LIMITS, held_bytes=scan.held_bytes, threads=scan.plan.threads), scan.plan

    def fire(files: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from sqlext.operators.rows.worker_memory import free_bytes
        from sqlext.operators.scan.key_order import read_blocks  # loads what the driver does not need

        blocks = read_blocks(files, plan, is_one=not windows.keys)  # a window may have rows of two blocks
        return fire_blocks(blocks, windows, limits.within(free_bytes()))

    return map_in_arrow(scan.files, fire, firing_schema(windows, rows.schema))
