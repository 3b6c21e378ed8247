"""Match rows that one worker reads from the files of a table: no row passes through Spark before the match.

list of files (Spark) → mapInArrow: read, keys, order, masks, arguments, match, navigate (one worker, on the threads of
all cores) → measures (Spark). Which relations are read so: `engine.scan`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from pyspark.sql import DataFrame

from sqlext.engine.match import ordering
from sqlext.engine.match.bind_clause import BoundClause
from sqlext.engine.match.run_batch import matched, unsorted_query
from sqlext.engine.queries.queries import Queries
from sqlext.engine.scan import scan_plan
from sqlext.engine.scan.file_relation import NotRead
from sqlext.engine.scan.scan_plan import LocalScan
from sqlext.operators.rows.limits import Limits
from sqlext.rewriter.lowering.match_plan import MatchPlan
from sqlext.rewriter.lowering.operator_plan import mask_conditions, sort_keys, sort_of, worker_plan
from sqlext.rewriter.text.splice import Text, join
from sqlext.spark.kind import is_connect

NAME = "local"
ROWS, BYTES = 1 << 19, 1 << 26  # of a chunk: threads share Python, of which each chunk takes about as much as another


def scan_of(clause: BoundClause, mode: str, cores: int | None, asked: str) -> tuple[LocalScan | None, str]:
    """What a worker reads and computes of the input of a clause, None if Spark reads it, and the reason, as EXPLAIN
    MATCH shows it; empty where no table is read. `mode`: one of `scan_plan.MODES`; `asked`: why the session asks for
    another way, in words.

    Raises UnsupportedError: READ_BY_WORKER, if the session asks for it and it is not possible.
    """
    if clause.rows is None:  # the rows of another window
        return None, ""
    if asked and mode == scan_plan.AUTO:
        return None, f"Spark reads the rows, {asked}."
    place = clause.plan.clause.keyword.place
    return scan_plan.chosen_scan(partial(_scan, clause, cores), mode, place, scan_plan.REASON)


def _scan(clause: BoundClause, cores: int | None) -> LocalScan:
    plan = clause.plan
    assert clause.rows is not None
    if is_connect(clause.rows.sparkSession) or cores is None:
        raise NotRead("")
    if plan.needs_window:
        raise NotRead("a window over whole partitions is needed")
    if refusal := ordering.refusal(clause, ordering.WORKER):
        raise NotRead(refusal.rstrip("."))
    read = {c.name for c in plan.columns}
    computed = [(c.name, c.computed) for c in plan.columns]
    computed += [(name, text) for name, text, _ in sort_keys(plan) if name not in read]
    parts, first = (scan_plan.PARTS, plan.carried[0]) if plan.clause.partition_by else (1, None)
    masks = mask_conditions(plan)
    return scan_plan.local_scan(clause.rows, plan.settings, computed, masks, cores, clause.written, parts, first)


def run_local(plan: MatchPlan, scan: LocalScan, queries: Queries, prefix: Text) -> DataFrame:
    """The clause's result. `prefix`: the WITH clause that the relation may need."""
    schema = queries.run(join(prefix, unsorted_query(plan))).schema
    limits = Limits(rows=ROWS, bytes=BYTES, held_bytes=scan.held_bytes, threads=scan.plan.threads)
    worker = replace(worker_plan(plan), sort=sort_of(plan), limits=limits)
    return matched(plan, worker, scan.files, schema, queries, prefix, scan.plan)
