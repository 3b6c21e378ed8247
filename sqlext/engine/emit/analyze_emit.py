"""EXPLAIN MATCH ANALYZE of a query with EMIT: Spark counts what WHERE and HAVING keep, workers count windows and
firings."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame

from sqlext.engine.emit.emit_report import EmitReport
from sqlext.engine.emit.run_emit import batch_firings, result_query, rows_query, window_plan
from sqlext.engine.queries.queries import Queries, with_whole_keys
from sqlext.engine.reports.counts import Verdicts, all_true, verdict_columns, verdicts
from sqlext.engine.reports.row_json import row_json
from sqlext.operators.emit.plan import EmitOperatorPlan
from sqlext.rewriter.emit.lower_emit import EmitPlan
from sqlext.rewriter.text.splice import Text, TextLike, join
from sqlext.spark.worker_functions import map_in_arrow

_COUNTS, _HOLDS = "counts STRING", "__holds"
_NOTHING = ("rows", "outside", "in_windows", "windows", "largest", "early", "on_time", "never_seen")


def analyze_emit(plan: EmitPlan, prefix: Text, queries: Queries, limit: int | None) -> EmitReport:
    """The report about a query with EMIT in batch, whose input is read twice, and once more for its HAVING. `prefix`:
    the WITH clause that its data needs; `limit`: the report reads at most this many keys."""
    began, clause = time.monotonic(), plan.clause
    read = queries.run(_where_query(plan, prefix)).collect()[0]
    rows = queries.run(rows_query(plan.columns, plan, prefix))
    windows = window_plan(plan, rows.schema)
    rows = _limited(rows, windows, queries, limit)
    having, examples = _having(plan, queries, rows, windows)
    return EmitReport(
        line=clause.keyword.place.line,
        window=clause.call.kind,
        time="" if clause.call.time is None else clause.call.time.text,
        read=read["rows"],
        taken=read["taken"],
        timed=read["timed"],
        conditions=verdicts((written for written, _ in plan.where), read.asDict()),
        counts=_counts(rows, windows),
        having=having,
        examples=examples,
        evictor="" if clause.evictor is None else clause.evictor.whole.in_line,
        limit=limit if windows.keys else None,
        seconds=time.monotonic() - began,
    )


def _where_query(plan: EmitPlan, prefix: Text) -> Text:
    """One row: the rows of the data, the rows that WHERE keeps (`taken`), how many of these have a time (`timed`), and
    t, f, n (TRUE, FALSE, NULL) of each member of WHERE."""
    members = [text for _, text in plan.where]
    whole, (_, of_row) = all_true(members), plan.columns[plan.keys]
    taken, timed = join("count_if(", whole, ") AS taken"), join("count_if(", whole, " AND (", of_row, ") IS NOT NULL)")
    columns: Sequence[TextLike] = ("count(*) AS rows", taken, join(timed, " AS timed"), *verdict_columns(members))
    return join(prefix, "SELECT ", join(*columns, separator=", "), " FROM ", plan.data)


def _limited(rows: DataFrame, windows: EmitOperatorPlan, queries: Queries, limit: int | None) -> DataFrame:
    """The rows of at most `limit` keys, always the same ones."""
    if limit is None or not windows.keys:
        return rows
    name, key = queries.name(rows), f"xxhash64({', '.join(windows.keys)})"
    chosen = f"SELECT h FROM (SELECT DISTINCT {key} AS h FROM {name}) ORDER BY h LIMIT {limit}"
    return queries.run(join(f"SELECT * FROM {name} WHERE {key} IN ({chosen})"))


def _counts(rows: DataFrame, windows: EmitOperatorPlan) -> Mapping[str, int]:
    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from sqlext.operators.emit.trace import count_batch  # loads Numba, which the driver does not need

        return count_batch(batches, windows)

    total: Counter[str] = Counter(dict.fromkeys(_NOTHING, 0))
    for (text,) in map_in_arrow(with_whole_keys(rows, windows.keys), count, _COUNTS).collect():
        counts = json.loads(text)
        largest = max(total["largest"], counts["largest"])
        total.update(counts)
        total["largest"] = largest
    return dict(total)


def _having(
    plan: EmitPlan, queries: Queries, rows: DataFrame, windows: EmitOperatorPlan
) -> tuple[Verdicts | None, tuple[str, ...]]:
    """How often HAVING was TRUE, FALSE and NULL, and two firings that it leaves out."""
    if plan.having is None or plan.clause.having is None:
        return None, ()
    firings = queries.name(batch_firings(rows, windows))
    shown = result_query(replace(plan, having=None, shown=(*plan.shown, (_HOLDS, plan.having))), firings)
    row = row_json(f"struct(* EXCEPT ({_HOLDS}))")
    kept_out = f"CASE WHEN NOT coalesce({_HOLDS}, FALSE) THEN row END"
    counts = verdict_columns([join(_HOLDS)])
    columns = join(*counts, f"min({kept_out}) AS least", f"max({kept_out}) AS most", separator=", ")
    named = join(f"SELECT {_HOLDS}, ", row, " AS row FROM (", shown, ")")
    read = queries.run(join("SELECT ", columns, " FROM (", named, ")")).collect()[0].asDict()
    (having,) = verdicts([plan.clause.having.in_line], read)
    return having, tuple(dict.fromkeys(example for example in (read["least"], read["most"]) if example is not None))
