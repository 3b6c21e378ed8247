"""Versions whose rules differ only in their conditions and measures are searched at once.

A search takes about a millisecond of Python, however few rows it reads. With many rules over a small micro-batch this
was nearly all of the time. So the rows that versions of one shape read are concatenated, one version after the other:
each version and key is a partition of its own, and no search sees the others.

A version joins only if none of its expressions can fail on the rows of the step. So nothing is evaluated for it before
its turn that could count as failed for another version. If a search of several versions fails, ever fewer are searched
at a time, at last each of them alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sqlext.errors import DataError
from sqlext.operators.match.step import RowSearch
from sqlext.operators.rows.arrow import as_arrow, as_numpy
from sqlext.operators.rules.plan import CODE, Shape
from sqlext.operators.rules.rule_run import (
    Compile,
    Emitted,
    ReadRows,
    RuleOutcome,
    RuleRun,
    new_positions,
    ranges,
    rule_of,
    search_together,
)
from sqlext.operators.stateful.operator import FAILURES
from sqlext.pattern.task.event_time import NEVER

MOST_ROWS = 1 << 16  # of a search of several versions, so that its memory is bounded


def outcomes(runs: Iterable[RuleRun], watermark: int, compiled: Compile) -> Iterator[tuple[RuleRun, RuleOutcome]]:
    """Each run with its outcome, as `RuleRun.outcome` has it.

    A run that joins no other is decided before the next one is taken from `runs`.
    """
    begun: list[RuleRun] = []
    decided: dict[int, RuleOutcome] = {}
    joint: dict[tuple[Shape, int], list[int]] = {}
    for i, run in enumerate(runs):
        begun.append(run)
        rule = rule_of(run.version.version, compiled)
        if rule is None or not all(map(run.shared.values.cannot_fail, rule.fallible)):
            decided[i] = run.outcome(watermark, compiled)
        else:
            joint.setdefault((rule.shape, min(watermark, run.version.until)), []).append(i)
    for (_, until), group in joint.items():
        decided |= zip(group, _together([begun[i] for i in group], until, compiled))
    return ((run, decided[i]) for i, run in enumerate(begun))


def _together(runs: Sequence[RuleRun], until: int, compiled: Compile) -> list[RuleOutcome]:
    """The outcomes of runs that may be searched at once."""
    if len(runs) == 1:
        return [runs[0].outcome(until, compiled)]
    unforeseen: Exception | None = None
    try:
        return joint_outcomes(runs, until, compiled)
    except DataError:
        pass  # a condition of some run, which does not hold where it cannot be computed
    except Exception as e:  # a rule never ends the stream, whatever error occurs
        unforeseen = e
    middle = len(runs) // 2
    halves = [*_together(runs[:middle], until, compiled), *_together(runs[middle:], until, compiled)]
    if unforeseen is not None and not any(outcome.errors for outcome in halves):
        halves[0] = replace(halves[0], errors=[runs[0].exception(unforeseen)])
    return halves


def joint_outcomes(runs: Sequence[RuleRun], until: int, compiled: Compile) -> list[RuleOutcome]:
    """The outcomes of runs of one shape, none of whose expressions can fail on the rows.

    Raises what a search raises.
    """
    begun = (_begun(run, until, compiled) for run in runs)
    return [outcome for some in _limited(begun) for outcome in _decided(some, until)]


def _begun(run: RuleRun, until: int, compiled: Compile) -> ReadRows:
    rule = rule_of(run.version.version, compiled)
    assert rule is not None, "it has a shape"
    new = run.new_rows(until)
    first = run.first_places(new, until, rule)
    partitions = np.flatnonzero(first != NEVER)
    return ReadRows(run, rule, ranges(first[partitions], new.stop[partitions]), run.are_in(partitions))


def _limited(runs: Iterable[ReadRows]) -> Iterator[Sequence[ReadRows]]:
    """The runs in their order, as many at a time as read at most MOST_ROWS rows, but at least one."""
    some: list[ReadRows] = []
    rows = 0
    for joint in runs:
        if some and rows + len(joint.rows) > MOST_ROWS:
            yield some
            some, rows = [], 0
        some.append(joint)
        rows += len(joint.rows)
    yield some


def _decided(runs: Sequence[ReadRows], until: int) -> list[RuleOutcome]:
    rows = np.concatenate([joint.rows for joint in runs])
    if not len(rows):
        return [joint.run.without(joint.run.before.index[:0], []) for joint in runs]
    search = search_together(runs, until, replace(runs[0].rule.stream, skips_failures=False))
    positions = new_positions(search, rows, [joint.run for joint in runs])
    bounds = np.searchsorted(positions.run, np.arange(len(runs) + 1)).tolist()
    emitted: list[list[Emitted]] = [[] for _ in runs]
    for at, times, batch in _by_run(search, runs):
        emitted[at].append(runs[at].run.emitted(runs[at].rule, times, batch))
    return [
        joint.run.searched(own, FAILURES.empty_table(), joint.is_resumed, positions.between(lo, hi))
        for joint, own, lo, hi in zip(runs, emitted, bounds[:-1], bounds[1:])
    ]


def _by_run(search: RowSearch, runs: Sequence[ReadRows]) -> Iterator[tuple[int, np.ndarray, pa.RecordBatch]]:
    """The result rows with their times, by the number of their run, as the search of this run alone has them."""
    partitions = runs[0].run.shared.partitions
    for times, batch in search.results():
        run, partition = np.divmod(as_numpy(batch.column(CODE)), partitions)
        at = batch.schema.get_field_index(CODE)
        columns = [as_arrow(partition) if i == at else column for i, column in enumerate(batch.columns)]
        batch = pa.RecordBatch.from_arrays(columns, schema=batch.schema)
        order = np.argsort(run, kind="stable")
        numbers, first = np.unique(run[order], return_index=True)
        for number, own in zip(numbers.tolist(), np.split(order, first[1:])):
            yield number, times[own], batch.take(as_arrow(own))
