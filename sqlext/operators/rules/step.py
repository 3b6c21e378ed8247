"""One step of MATCH_RULES: arriving rules, arriving rows and a watermark in, results and the next state out.

    order    discard late rows, keep rows above the watermark for later, sort the others once for all rules
    match    resume the search of each version that acts, in the keys where it may find something
    keep     the rows that a version may still read, with the columns that those versions read
    rules    take up new versions: they act on rows above the watermark, which keep all their columns

A step is pure, like the step of MATCH_RECOGNIZE: the same rows in any portions give the same results. A version whose
time ends in the step decides what it can by then, and its positions are dropped. No rule can make a step fail.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sqlext.errors import SqlExtError
from sqlext.expressions.column_values import ColumnValues
from sqlext.operators.match.stream_plan import DUE
from sqlext.operators.rows.arrow import as_arrow, as_numpy, one_chunk
from sqlext.operators.rows.columns import SortKey
from sqlext.operators.rows.row_order import key_codes, sorted_rows
from sqlext.operators.rules.joint_runs import outcomes
from sqlext.operators.rules.plan import RulesPlan
from sqlext.operators.rules.rule_run import Before, Compile, RuleFault, RuleRun, rule_of
from sqlext.operators.rules.rule_versions import Acting, acting
from sqlext.operators.rules.shared_rows import SharedRows
from sqlext.operators.rules.state import (
    POSITION,
    ROW,
    RULE,
    RULES,
    VERSION,
    new_versions,
    position_schema,
    read_versions,
    with_ids,
)
from sqlext.operators.stateful.arrivals import Arrivals, arrivals, times
from sqlext.operators.stateful.key_state import LAST_WATERMARK
from sqlext.operators.stateful.operator import FAILURES, KEYS, ROWS, Change, State, Step
from sqlext.pattern.task.event_time import BEGINNING, NEVER

FIRST_BUCKET = 0  # the number of the bucket that reports the versions


@dataclass(frozen=True, kw_only=True)
class RulesReport:
    """`errors`: the errors of the rules in this step; `versions`: all versions that were taken up."""

    errors: list[RuleFault]
    versions: pa.Table

    def text(self, bucket: int) -> bytes | None:
        """The rows that the driver writes into the tables of the log and of errors, as JSON. Only one bucket reports
        the versions, because all buckets take up the same versions."""
        taken = []
        if bucket == FIRST_BUCKET:
            taken = [(v.name, v.version, v.taken_up) for v in read_versions(self.versions)]
        errors = [(name, version, kind, message[:1000]) for name, version, kind, message in self.errors[:100]]
        return json.dumps({"taken": taken, "errors": errors}).encode() if taken or errors else None


def advance(state: State, arrived: Mapping[str, pa.Table], watermark: int, plan: RulesPlan, compiled: Compile) -> Step:
    """Run one step. `arrived`: events as ROWS, rows of the rules table as RULES; `compiled`: the plan of each clause,
    or its error."""
    rows = with_ids(arrived[ROWS], state.rows)
    came = arrivals(state, rows, watermark, time=plan.time, keys=plan.keys)
    known = state.tables[RULES]
    search = _search(came, state, plan, compiled)
    versions, errors = new_versions(known, arrived[RULES], came.watermark, plan.max_versions)
    errors += _compile_errors(versions, compiled)
    kept = came.kept(search.keeps_row & ~came.has_passed)
    passed = _passed_rows(search, came, plan)
    positions = pa.concat_tables([position_schema(plan).empty_table(), *search.positions])
    return Step(
        results=search.results,
        late=came.late,
        failures=pa.concat_tables([FAILURES.empty_table(), *search.failures]),
        changes={
            ROWS: Change(kept.keeps, pa.concat_tables([passed, kept.added])),
            KEYS: Change(search.keeps_position, positions),
            RULES: Change(np.ones(known.num_rows, np.bool_), versions),
        },
        watermark=came.watermark,
        report=RulesReport(errors=search.errors + errors, versions=pa.concat_tables([known, versions])),
    )


def _passed_rows(search: _Outcome, came: Arrivals, plan: RulesPlan) -> pa.Table:
    """The rows that have passed the watermark and are still read, with the columns that are still read."""
    passed = search.rows.filter(pa.array(came.has_passed & search.keeps_row))
    needed = {*plan.keys, plan.time, ROW, *search.columns}
    for at, field in enumerate(passed.schema):
        if field.name not in needed:
            passed = passed.set_column(at, field, pa.nulls(passed.num_rows, field.type))
    return passed


def _compile_errors(versions: pa.Table, compiled: Compile) -> list[RuleFault]:
    """The errors in the clauses of new versions."""
    matching = [v for v in read_versions(versions) if v.matches]
    plans = [(v, compiled(v.clause or "")) for v in matching]
    errors = [(v, e) for v, e in plans if isinstance(e, SqlExtError)]
    return [(v.name, v.version, e.error_class, str(e).removeprefix(f"{e.error_class}: ")) for v, e in errors]


@dataclass(frozen=True, kw_only=True)
class _Outcome:
    """The decisions of the versions: results, errors and failures, rows and old positions to keep, and new positions.

    `rows`: the rows with ROW, in their order; `columns`: the columns that the continuing versions read.
    """

    rows: pa.Table
    columns: set[str]
    results: list[tuple[np.ndarray, pa.RecordBatch]]
    errors: list[RuleFault]
    failures: list[pa.Table]
    keeps_row: np.ndarray
    keeps_position: np.ndarray
    positions: list[pa.Table]


def _search(came: Arrivals, state: State, plan: RulesPlan, compiled: Compile) -> _Outcome:
    """Resume the searches of all versions that act between the two watermarks."""
    watermark, code = came.watermark, came.code
    versions = acting(read_versions(state.tables[RULES]))
    current = [a for a in versions if a.version.first < watermark and a.until > state.watermark]
    later = [a for a in versions if a.version.first >= watermark]
    owner = _owners(state.keys, [*current, *later])
    has_ended = np.array([*(a.until <= watermark for a in current), *(False for _ in later), True])[owner]
    is_active = came.are_active((_integers(state.keys, DUE) <= watermark) | has_ended)
    rows = _numbered(came, plan)
    searched = np.flatnonzero(~came.is_waiting & is_active[code])
    searched = searched[np.lexsort((_integers(rows, ROW)[searched], came.time[searched], code[searched]))]
    shared, partition_of = _shared_rows(
        rows.take(as_arrow(searched)), code[searched], len(is_active), plan, state.watermark
    )
    position_partition = partition_of[came.key_code]
    place = np.where(position_partition < 0, NEVER, shared.places(_integers(state.keys, ROW)))
    columns = {name: _integers(state.keys, name) for name in POSITION}
    results, errors, failures, positions = [], [], [], []
    keeps_position, needed = ~has_ended, np.full(len(shared.bounds) - 1, NEVER)
    own_positions = _by_owner(owner, position_partition >= 0, len(current))
    rules = [rule_of(a.version, compiled) for a in current]
    fallible = frozenset(tree for rule in rules if rule is not None for tree in rule.fallible)
    runs = (
        RuleRun(
            version=version,
            shared=shared,
            before=Before(columns=columns, index=own, partition=position_partition[own], place=place[own]),
            after=state.watermark,
            plan=plan,
        )
        for version, rule, own in zip(current, rules, own_positions)
        if len(own) or (rule is not None and shared.concern(rule, fallible))
    )
    for run, outcome in outcomes(runs, watermark, compiled):
        results += outcome.results
        errors += outcome.errors
        failures += outcome.failures
        keeps_position[outcome.resumed] = False
        if run.version.until > watermark and outcome.positions is not None:
            positions.append(outcome.positions)
            np.minimum.at(needed, outcome.partition, outcome.place)
    still = keeps_position & (position_partition >= 0)
    np.minimum.at(needed, position_partition[still], place[still])
    keeps_row = np.ones(rows.num_rows, np.bool_)
    keeps_row[searched] = np.arange(len(searched)) >= needed[shared.partition]
    return _Outcome(
        rows=rows,
        columns=_columns_read((a for a in current if a.until > watermark), compiled),
        results=results,
        errors=errors,
        failures=failures,
        keeps_row=keeps_row,
        keeps_position=keeps_position,
        positions=positions,
    )


def _numbered(came: Arrivals, plan: RulesPlan) -> pa.Table:
    """The rows, with new numbers for the rows that have passed the watermark.

    The new numbers follow the order of these rows. Later steps take the order from the numbers alone, because the state
    does not keep all the columns by which the rows are sorted.
    """
    rows, passed = came.table, np.flatnonzero(came.has_passed)
    number = _integers(rows, ROW).copy()
    passed = sorted_rows(passed, came.code, came.time, rows, (*plan.sort, SortKey(ROW)))
    number[passed] = number.max(initial=-1) + 1 + np.arange(len(passed))
    at = rows.schema.get_field_index(ROW)
    return rows.set_column(at, rows.schema.field(at), as_arrow(number))


def _columns_read(versions: Iterable[Acting], compiled: Compile) -> set[str]:
    """The columns of the events that the rules of these versions read."""
    plans = (rule_of(a.version, compiled) for a in versions)
    return set().union(*(plan.reads for plan in plans if plan is not None))


def _by_owner(owner: np.ndarray, is_searched: np.ndarray, versions: int) -> list[np.ndarray]:
    """The searched positions of each version, in ascending order.

    >>> [own.tolist() for own in _by_owner(np.array([1, 0, 1, 2]), np.array([True, True, True, False]), 3)]
    [[1], [0, 2], []]
    """
    positions = np.flatnonzero(is_searched)
    positions = positions[np.argsort(owner[positions], kind="stable")]
    return np.split(positions, np.searchsorted(owner[positions], np.arange(versions + 1)))[1:-1]


def _owners(positions: pa.Table, versions: list[Acting]) -> np.ndarray:
    """`int64[k]`: the index of the version that has each position; the number of versions if that version no longer
    acts."""
    if not positions.num_rows:
        return np.zeros(0, np.int64)
    number = {(a.version.name, a.version.version): i for i, a in enumerate(versions)}
    rules = one_chunk(positions.column(RULE)).dictionary_encode()
    version, names = _integers(positions, VERSION), rules.dictionary.to_pylist()
    pair, code = np.unique(as_numpy(rules.indices) + version * len(names), return_inverse=True)
    keys = ((names[int(p) % len(names)], int(p) // len(names)) for p in pair.tolist())
    return np.array([number.get(key, len(versions)) for key in keys])[code]


def _shared_rows(
    table: pa.Table, code: np.ndarray, codes: int, plan: RulesPlan, after: int
) -> tuple[SharedRows, np.ndarray]:
    """Sorted rows, and `int64[codes]`: the partition of each key, -1 for a key that has none of the rows. `after`: rows
    up to this time are new for no version."""
    starts = np.flatnonzero(np.diff(code, prepend=-1))
    bounds = np.append(starts, len(code)).astype(np.int64)
    partition_of = np.full(codes, -1)
    partition_of[code[starts]] = np.arange(len(starts))
    shared = SharedRows(
        partition=partition_of[code],
        bounds=bounds,
        time=times(table, plan.time),
        id=_integers(table, ROW),
        values=ColumnValues(
            columns={name: one_chunk(table.column(name)) for name in plan.schema.names}, rows=table.num_rows
        ),
        keys=tuple(plan.keys),
        after=after,
    )
    return shared, partition_of


def shared_rows(rows: pa.Table, plan: RulesPlan) -> SharedRows:
    """All rows of a table with ROW, sorted."""
    (code,) = key_codes([rows], plan.keys)
    time = times(rows, plan.time)
    order = sorted_rows(np.arange(len(code)), code, time, rows, (*plan.sort, SortKey(ROW)))
    codes = int(code.max(initial=-1)) + 1
    return _shared_rows(rows.take(as_arrow(order)), code[order], codes, plan, BEGINNING)[0]


def kept_rows(state: State, plan: RulesPlan) -> SharedRows:
    """The rows of the state, all of one key, in the order in which rules read them."""
    none = with_ids(plan.schema.empty_table(), state.rows)
    rows = _numbered(arrivals(state, none, LAST_WATERMARK, time=plan.time, keys=plan.keys), plan)
    rows = rows.take(as_arrow(np.lexsort((_integers(rows, ROW), times(rows, plan.time)))))
    return _shared_rows(rows, np.zeros(rows.num_rows, np.int64), 1, plan, state.watermark)[0]


def _integers(table: pa.Table, name: str) -> np.ndarray:
    return as_numpy(one_chunk(table.column(name)))
