"""For each workload, the Python loop over the rows of a group that a Spark user would write for `applyInPandas`.

Each loop receives the rows of one group, in order, as named tuples, and returns the measures of its matches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import pandas as pd

from benchmarks.workload import Workload


def partitions(rows):
    measures, at = [], 0
    while at + 1 < len(rows):
        if rows[at].v == 0 and rows[at + 1].v == 1:
            measures.append((rows[at].i,))
            at += 2
        else:
            at += 1
    return measures


def funnel(rows):
    measures, at = [], 0
    while at + 2 < len(rows):
        if [row.step for row in rows[at : at + 3]] == ["browse", "select", "checkout"]:
            measures.append((rows[at].i,))
            at += 3
        else:
            at += 1
    return measures


def sessionize(rows):
    measures, n = [], 1
    for before, row in pairwise(rows):
        if row.t - before.t <= 100:
            n += 1
        else:
            measures.append((n,))
            n = 1
    return [*measures, (n,)]


def streak(rows):
    measures, n = [], 1
    for before, row in pairwise(rows):
        if row.v > before.v:
            n += 1
        else:
            measures.append((n,))
            n = 1
    return [*measures, (n,)]


def v_shape(rows):
    measures, start = [], 0
    while start + 2 < len(rows):
        bottom = start
        while bottom + 1 < len(rows) and rows[bottom + 1].v < rows[bottom].v:
            bottom += 1
        end = bottom
        while end + 1 < len(rows) and rows[end + 1].v > rows[end].v:
            end += 1
        if start < bottom < end:
            top, low = rows[start].v, rows[bottom].v
            measures.append((top, low, top - low, end - start + 1))
            start = end
        else:
            start += 1
    return measures


@dataclass(frozen=True)
class Loop:
    find: Callable  # rows of a group → measures of its matches
    columns: tuple[str, ...]  # names of the measures, all BIGINT


LOOPS = {
    "partitions": Loop(partitions, ("began",)),
    "funnel": Loop(funnel, ("began",)),
    "sessionize": Loop(sessionize, ("n",)),
    "streak": Loop(streak, ("n",)),
    "v_shape": Loop(v_shape, ("high", "low", "fall", "n")),
}


def matches(spark, workload: Workload, table: str):
    """The matches of the workload's loop, as a DataFrame of their measures."""
    loop, order = LOOPS[workload.name], list(workload.order)

    def find(group: pd.DataFrame) -> pd.DataFrame:
        rows = list(group.sort_values(order).itertuples(index=False))
        return pd.DataFrame(loop.find(rows), columns=list(loop.columns), dtype="int64")

    schema = ", ".join(f"{name} BIGINT" for name in loop.columns)
    rows = spark.table(table).select(*workload.reads)
    return rows.groupBy(*workload.keys).applyInPandas(find, schema)
