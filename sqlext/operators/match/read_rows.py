"""Conversion from Arrow columns to the inputs of matchers: `Rows`, and the event times of rows. Loads Numba."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import numpy as np
import pyarrow as pa

from sqlext.errors import DataError
from sqlext.expressions.values import from_arrow
from sqlext.operators.match.plan import MatchOperatorPlan, OperandColumn
from sqlext.operators.rows.arrow import as_numpy, mask_bytes, one_chunk, ranks, strings, to_values
from sqlext.operators.rows.columns import PARTITION_START, ROW_TIME, WITHIN_END, WITHIN_KEY
from sqlext.operators.rows.failed_arguments import failed_rows
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.conditions.columnar import truth
from sqlext.pattern.conditions.condition_reads import rows_ahead
from sqlext.pattern.conditions.conditions import Path, holds
from sqlext.pattern.program.jit import read_only
from sqlext.pattern.task.task import Condition, Rows, Values
from sqlext.pattern.task.within import frame_limits, in_order, limits

_LAST_VALUES = {bits: 2 ** (bits - 1) - 1 for bits in (8, 16, 32, 64)}  # the last values of integers, dates and times


def columns_of(table: pa.Table) -> dict[str, pa.Array]:
    """The columns of a table by name, each as one array."""
    return {name: one_chunk(table.column(name)) for name in table.column_names}


def read_rows(
    columns: dict[str, pa.Array], plan: MatchOperatorPlan, errors: dict[int, DataError] | None = None
) -> Rows:
    """The rows as matchers read them; PARTITION_START is one of the columns.

    `errors`: the list in which to note, by row, conditions on neighbours that cannot be computed and therefore do not
    hold; None: raise DataError.
    """
    starts = as_numpy(columns[PARTITION_START])
    bounds = np.append(np.flatnonzero(starts), len(starts)).astype(np.int64)
    operands, classifiers = _operands(columns, plan)
    rows = Rows(
        bounds=bounds,
        mask=_mask(columns, plan),
        limit=_limit(columns, bounds, plan),
        columns=operands,
        classifiers=classifiers,
        failed=tuple(failed_rows(operand.name, columns) for operand in plan.operands),
    )
    if plan.neighbours:
        noting = replace(rows, errors=errors)
        rows = replace(rows, mask=_with_neighbours(noting, plan))
    if isinstance(plan.task, CepTask) and plan.bounds:
        key, end = (in_order(to_values(columns[name]).values) for name in (plan.bounds[0].key, plan.bounds[0].end))
        rows = replace(rows, key=key, end=end)
    return replace(rows, mask=read_only(rows.mask))


def _mask(columns: dict[str, pa.Array], plan: MatchOperatorPlan) -> np.ndarray:
    """The value of Rows.mask before conditions on neighbours are evaluated."""
    n = len(columns[PARTITION_START])
    if plan.masks:
        return mask_bytes([columns[name] for name in plan.masks], n)
    bits = max((bit for bit in plan.task.bits if bit is not None), default=0) + 1
    return np.full((n, -(-bits // 8)), 255, np.uint8)


def _with_neighbours(rows: Rows, plan: MatchOperatorPlan) -> np.ndarray:
    """The mask without the bits that a row loses because conditions on its neighbours do not hold."""
    mask = rows.mask.copy()
    for bit, condition in plan.neighbours:
        is_true = truth(condition, rows) if rows.errors is None else _truth_by_row(condition, rows)
        mask[:, bit // 8] &= np.where(is_true, np.uint8(255), np.uint8(255 - (1 << bit % 8)))
    return mask


def _truth_by_row(condition: Condition, rows: Rows) -> np.ndarray:
    """The value of `columnar.truth`, computed row by row, so that the rows where the condition cannot be computed are
    known."""
    result = np.zeros(len(rows.mask), np.bool_)
    for first, stop in zip(rows.bounds[:-1].tolist(), rows.bounds[1:].tolist()):
        for row in range(first, stop):
            path = Path(rows=rows, names=("a variable",), partition=(first, stop), start=row, labels=(0,), number=1)
            result[row] = holds(condition, path)
    return result


def _limit(columns: dict[str, pa.Array], bounds: np.ndarray, plan: MatchOperatorPlan) -> np.ndarray | None:
    """The value of Rows.limit: the nearest of the plan's bounds, or the ends of the frames of a window."""
    if plan.task.frame is not None and plan.task.is_within and not plan.bounds:
        end = plan.frame_end
        return frame_limits(bounds, end.rows if end.column is None else to_values(columns[end.column]))
    if not plan.bounds:
        return None
    each = [
        limits(
            bounds,
            to_values(columns[b.key]),
            to_values(columns[b.end]),
            is_inclusive=b.is_inclusive,
            admits_start=b.admits_start,
            last=_LAST_VALUES.get(columns[b.end].type.bit_width) if b.last else None,
        )
        for b in plan.bounds
    ]
    return reduce(np.minimum, each)


def frame_ends(rows: Rows, plan: MatchOperatorPlan) -> np.ndarray:
    """`int64[n]`: where the frame of each row of a window ends. A bound of DEFINE ends the match, not the frame."""
    return frame_limits(rows.bounds, None) if rows.limit is None or plan.bounds else rows.limit


def _operands(columns: dict[str, pa.Array], plan: MatchOperatorPlan) -> tuple[tuple[Values, ...], np.ndarray | None]:
    """The values of Rows.columns and Rows.classifiers.

    Strings are represented by their ranks among all strings that occur, including the names of the labels.
    """
    if not plan.operands:
        return (), None
    names = strings(plan.task.program.labels)
    texts = [columns[operand.name] for operand in plan.operands if operand.kind == "rank"]
    ranked = iter(ranks([names, *texts]))
    classifiers = next(ranked).values
    values = tuple(
        next(ranked) if operand.kind == "rank" else _values(columns[operand.name], operand) for operand in plan.operands
    )
    return values, classifiers


def _values(column: pa.Array, operand: OperandColumn) -> Values:
    if operand.kind != "object":
        return to_values(column)
    values = np.empty(len(column), np.object_)
    values[:] = from_arrow(column, operand.spark_type)
    return Values(values)


# event times


def time_columns(columns: dict[str, pa.Array]) -> tuple[Values, Values | None]:
    """The times of the rows, and where WITHIN ends for each of them, as int64 in the order of the times."""
    if WITHIN_END in columns:
        return _ordered(columns[WITHIN_KEY]), _ordered(columns[WITHIN_END])
    return _ordered(columns[ROW_TIME]), None


def _ordered(column: pa.Array) -> Values:
    values = to_values(column)
    return Values(in_order(values.values), values.valid)


def rows_needed(columns: dict[str, pa.Array], plan: MatchOperatorPlan) -> np.ndarray | None:
    """The value of EventTimes.need: the last row that each condition reads on each row; None if no condition reads
    NEXT.

    The value of a condition with NEXT is known when the rows that it reads have arrived. It is known earlier where the
    part that reads no neighbours, which Spark has computed, is false.
    """
    task = plan.task
    ahead = [rows_ahead(condition) for condition in task.conditions]
    for bit, condition in plan.neighbours:
        ahead = [max(a, rows_ahead(condition)) if bit == task.bits[v] else a for v, a in enumerate(ahead)]
    if not any(ahead):
        return None
    mask = _mask(columns, plan)
    need = np.tile(np.arange(len(mask)), (len(ahead), 1))
    for label, (distance, own) in enumerate(zip(ahead, task.bits)):
        need[label] += distance if own is None else distance * (mask[:, own // 8] >> (own % 8) & 1).astype(np.int64)
    return need
