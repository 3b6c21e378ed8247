"""Match one partition on many cores: ranges of its sorted rows are matched at once, then the rows between their cuts.

relation → keys, order, masks, arguments (Spark) → ranges of the order, each sorted → mapInArrow: cuts and the matches
between them → leftovers to one task → mapInArrow: their matches → measures (Spark). The workers' part is in
`operators.match.match_ranges`.

All of this is one query: each range finds its cuts by itself, and no job runs before the query.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from sqlext.engine.match.run_batch import check_types, names_read, result, unsorted_query
from sqlext.engine.queries.queries import Queries
from sqlext.engine.shipped.output_schema import output_schema
from sqlext.pattern.batch import parts
from sqlext.rewriter.lowering.match_plan import MatchPlan
from sqlext.rewriter.lowering.operator_plan import are_nulls_last, is_descending, sort_keys, worker_plan
from sqlext.rewriter.text.splice import Text, join
from sqlext.spark.versions import can_repartition_by_id
from sqlext.spark.worker_functions import map_in_arrow

# the columns of match_ranges.PARCELS
PARCELS = "task INT, range_number INT, number INT, kind INT, around INT, rows BINARY"
RANGE, BOUNDS = "__range", "__bounds"
WORTHWHILE_CORES = 3  # for 10 M rows one task takes 4.4 s, ranges on two cores 4.9 s: they need a second exchange
MAX_RANGES = 64  # the code that Spark generates compares each row with each bound
_HAVE_PERCENTILES = r"(tiny|small|big)?int|float|double|date|timestamp(_ntz)?"
_METHODS = {  # methods of Column, by the direction of an ORDER BY key
    "": "asc",
    " DESC": "desc",
    " NULLS FIRST": "asc_nulls_first",
    " NULLS LAST": "asc_nulls_last",
    " DESC NULLS FIRST": "desc_nulls_first",
    " DESC NULLS LAST": "desc_nulls_last",
}


MODES = AUTO, OFF, ON = "auto", "off", "on"


def refusal(plan: MatchPlan, mode: str, cores: int | None) -> str | None:
    """The reason why ranges are not matched at once, as EXPLAIN MATCH shows it, or None.

    `mode`: one of MODES; `cores`: None if their number is not known.
    """
    if mode == OFF:
        return "no, sqlext.parallel is off."
    why = _obstacle(plan)
    if why is not None:
        return f"no, {why}"
    if mode == ON:
        return None
    if plan.partition_by:
        return "by the keys of PARTITION BY; sqlext.parallel = on divides the rows of one key as well."
    if cores is not None and cores < WORTHWHILE_CORES:
        return "no, it costs more than it gains on so few cores; sqlext.parallel = on does it nevertheless."
    return None


def reason(mode: str) -> str:
    """The reason why ranges are matched at once, if nothing prevents it."""
    why = "sqlext.parallel is on" if mode == ON else "there is no PARTITION BY"
    return f"ranges of the order are matched at once, {why}."


def local_cores(master: str) -> int | None:
    """How many tasks run at once with this `spark.master`; None if the master is not local.

    >>> local_cores("local"), local_cores("local[4]"), local_cores("local[2,3]"), local_cores("spark://host:7077")
    (1, 4, 2, None)
    """
    local = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?", master)
    if local is None:
        return None
    return (os.cpu_count() or 1) if local[1] == "*" else int(local[1] or 1)


def _obstacle(plan: MatchPlan) -> str | None:
    """The reason why ranges of a plan's rows cannot be matched at once, as a sentence; None if they can."""
    if not plan.clause.order_by:
        return "there is no ORDER BY."
    if plan.needs_window:
        return "a window over whole partitions is needed."
    if any(slot.kind == "match number" for slot in plan.slots):
        return "MATCH_NUMBER() counts from the partition's first row."
    if any(slot.kind == "rowtime" for slot in plan.slots):
        return "MATCH_ROWTIME() depends on all earlier matches."
    return parts.refusal(plan.task)


def run_ranges(plan: MatchPlan, queries: Queries, prefix: Text) -> DataFrame:
    """The clause's result. `prefix`: the WITH clause that the relation may need."""
    rows = queries.run(input_query(plan, prefix))
    keys = _sort_columns(plan)
    read = [F.col(name) for name in names_read(plan)] or [F.lit(1).alias("__one")]
    ranges = _in_ranges(plan, rows, keys, queries).sortWithinPartitions(*keys).select(*read)
    check_types(plan, ranges.schema)
    worker = worker_plan(plan)

    def within_ranges(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from sqlext.operators.match.match_ranges import match_range  # loads Numba, which the driver does not need

        context = TaskContext.get()
        assert context is not None, "not in a Spark task"
        return match_range(batches, worker, context.partitionId())

    def across_ranges(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from sqlext.operators.match.match_ranges import match_seams  # loads Numba, which the driver does not need

        return match_seams(batches, worker)

    parcels = map_in_arrow(ranges, within_ranges, PARCELS)
    gathered = parcels.repartition("task").sortWithinPartitions("range_number", "number")
    matches = map_in_arrow(gathered, across_ranges, output_schema(plan, ranges.schema))
    return result(plan, matches, queries, prefix)


def input_query(plan: MatchPlan, prefix: Text) -> Text:
    """The rows of the relation, not yet in ranges of their order."""
    return join(prefix, unsorted_query(plan))


def _in_ranges(plan: MatchPlan, rows: DataFrame, keys: list[Column], queries: Queries) -> DataFrame:
    """The rows, with each range of their order in one task.

    `repartitionByRange` runs a job over all rows and columns and then finds the range of each row, which is half as
    much work as the whole query without ranges. So if the rows are ordered by one number or time, they are divided by
    percentiles of a sample of that key. Equal keys stay together.
    """
    name, _, direction = sort_keys(plan)[0]
    has_percentiles = re.fullmatch(_HAVE_PERCENTILES, rows.schema[name].dataType.simpleString())
    if plan.partition_by or not has_percentiles or not can_repartition_by_id(rows):
        return rows.repartitionByRange(*keys)
    tasks = min(int(queries.sql("SET spark.sql.shuffle.partitions").collect()[0].value), MAX_RANGES)
    ranged = queries.run(join(range_query(queries.name(rows), name, direction, tasks)))
    return ranged.repartitionById(tasks, RANGE)


def range_query(rows: str, key: str, direction: str, ranges: int) -> str:
    """The rows of a relation with the number of their range by a key, from 0 in the order of its direction.

    >>> print(range_query("t", "ts", " DESC", 2))
    SELECT * EXCEPT (__bounds), IF(ts IS NULL, 1, 1 - coalesce(IF(ts >= __bounds[0], 1, 0), 0)) AS __range
    FROM (SELECT *, (SELECT percentile_approx(ts, array(0.5), 1000)
        FROM (SELECT ts FROM t) TABLESAMPLE (1 PERCENT) REPEATABLE (1)) AS __bounds FROM t)
    """
    shares = ", ".join(f"{i / ranges:.4g}" for i in range(1, ranges))
    passed = " + ".join(f"IF({key} >= {BOUNDS}[{i}], 1, 0)" for i in range(ranges - 1)) or "0"
    number = f"coalesce({passed}, 0)"
    return (
        f"SELECT * EXCEPT ({BOUNDS}), IF({key} IS NULL, {ranges - 1 if are_nulls_last(direction) else 0}, "
        f"{f'{ranges - 1} - ' if is_descending(direction) else ''}{number}) AS {RANGE}\n"
        f"FROM (SELECT *, (SELECT percentile_approx({key}, array({shares or 0.5}), 1000)\n"
        f"    FROM (SELECT {key} FROM {rows}) TABLESAMPLE (1 PERCENT) REPEATABLE (1)) AS {BOUNDS} FROM {rows})"
    )


def _sort_columns(plan: MatchPlan) -> list[Column]:
    keys = [F.col(name) for name in plan.carried[: len(plan.partition_by)]]
    return keys + [getattr(F.col(name), _METHODS[direction])() for name, _, direction in sort_keys(plan)]
