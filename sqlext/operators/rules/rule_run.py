"""One version of a rule in one step: where its search resumes, which of the shared rows it reads, and what it
decides."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Union

import numpy as np
import pyarrow as pa

from sqlext.errors import DataError, SqlExtError
from sqlext.operators.match.step import RowSearch, search_rows
from sqlext.operators.match.stream_plan import DUE, StreamMatchPlan
from sqlext.operators.rows.arrow import as_arrow, as_numpy, one_chunk
from sqlext.operators.rules.plan import CODE, RulePlan, RulesPlan
from sqlext.operators.rules.row_texts import failure_rows, row_texts
from sqlext.operators.rules.rule_results import result_batch
from sqlext.operators.rules.rule_versions import Acting, TakenVersion
from sqlext.operators.rules.shared_rows import NewRows, SharedRows
from sqlext.operators.rules.state import NO_ROW, POSITION, ROW, RULE, VERSION, position_schema
from sqlext.operators.stateful.operator import FAILURES, KEYS, ROWS, State
from sqlext.operators.stateful.side_rows import error_text, failures_of_keys
from sqlext.pattern.task.event_time import NEVER

Compile = Callable[[str], Union[RulePlan, SqlExtError]]
RuleFault = tuple[str, int, str, str]  # name, version, error class, message
# rows of the result with their times, and the measures that could not be computed, with the columns FAILURES
Emitted = tuple[tuple[np.ndarray, pa.RecordBatch], pa.Table]


def rule_of(version: TakenVersion, compiled: Compile) -> RulePlan | None:
    """The plan of a version; None if it matches nothing."""
    plan = compiled(version.clause or "") if version.matches else None
    return plan if isinstance(plan, RulePlan) else None


@dataclass(frozen=True, kw_only=True)
class Before:
    """The positions of a version in the keys of the step.

    They are rows `index` of the positions in the state, whose columns POSITION are `columns`. `partition: int64[k]`;
    `place`: the place in the shared rows of the first row that the version still reads, or NEVER if there is none.
    """

    columns: Mapping[str, np.ndarray]
    index: np.ndarray
    partition: np.ndarray
    place: np.ndarray

    def column(self, name: str) -> np.ndarray:
        return self.columns[name][self.index]


@dataclass(frozen=True, kw_only=True)
class RuleOutcome:
    """`resumed`: the rows of the state's positions that are replaced; `positions`: the new positions, if there are any,
    with the `partition` and the `place` of the first row that each still reads; `failures`: the expressions that could
    not be computed, with the columns FAILURES; `is_lost`: nothing could be decided, and the search begins anew."""

    results: list[tuple[np.ndarray, pa.RecordBatch]]
    errors: list[RuleFault]
    failures: list[pa.Table] = field(default_factory=list)
    resumed: np.ndarray
    positions: pa.Table | None = None
    partition: np.ndarray
    place: np.ndarray
    is_lost: bool = False


_NOTHING = np.zeros(0, np.int64)
_MOST_FAILED = 100  # in keys


@dataclass(frozen=True, kw_only=True)
class RuleRun:
    """The run of one version. `after`: the watermark of the previous step."""

    version: Acting
    shared: SharedRows
    before: Before
    after: int
    plan: RulesPlan

    def outcome(self, watermark: int, compiled: Compile) -> RuleOutcome:
        """The outcome at the watermark, or at the end of the version's time.

        If it fails, the error is among the errors of the outcome, and the version begins anew on later rows.
        """
        rule = rule_of(self.version.version, compiled)
        if rule is None:
            return self.without(self.before.index, [])
        try:
            return self._decided(min(watermark, self.version.until), rule)
        except Exception as e:  # a rule never ends the stream, whatever error occurs
            return self.without(self.before.index, [self.exception(e)])

    def exception(self, error: Exception) -> RuleFault:
        if isinstance(error, SqlExtError):
            return self.fault(error.error_class, error.message)
        return self.fault("SQLEXT_RULE_FAILED", f"{type(error).__name__}: {error}")

    def fault(self, error_class: str, message: str) -> RuleFault:
        return self.version.version.name, self.version.version.version, error_class, message

    def without(self, resumed: np.ndarray, errors: list[RuleFault]) -> RuleOutcome:
        return RuleOutcome(
            results=[], errors=errors, resumed=resumed, partition=_NOTHING, place=_NOTHING, is_lost=bool(errors)
        )

    def _decided(self, watermark: int, rule: RulePlan) -> RuleOutcome:
        new = self.new_rows(watermark)
        first = self.first_places(new, watermark, rule)
        outcomes = list(self._by_keys(np.flatnonzero(first != NEVER), first, new, watermark, rule))
        positions = [o.positions for o in outcomes if o.positions is not None]
        failures = [*(table for o in outcomes for table in o.failures), *self._failed_rows(new, rule)]
        errors = [*(error for o in outcomes for error in o.errors), *self._row_faults(new, rule)]
        return RuleOutcome(
            results=[result for o in outcomes for result in o.results],
            errors=list({error[:3]: error for error in reversed(errors)}.values())[::-1],  # one error of each class
            failures=failures,
            resumed=np.concatenate([_NOTHING, *(o.resumed for o in outcomes)]),
            positions=pa.concat_tables(positions) if positions else None,
            partition=np.concatenate([_NOTHING, *(o.partition for o in outcomes)]),
            place=np.concatenate([_NOTHING, *(o.place for o in outcomes)]),
        )

    def _by_keys(
        self, partitions: np.ndarray, first: np.ndarray, new: NewRows, watermark: int, rule: RulePlan, failed: int = 0
    ) -> Iterator[RuleOutcome]:
        """The outcomes in these partitions.

        All partitions are decided at once. If that fails, ever fewer are decided at a time, so that an unforeseen error
        in one key concerns this key alone. There the version then begins anew on later rows.

        If a version fails in more than _MOST_FAILED keys, its other keys are not tried one by one.
        """
        if not len(partitions):
            return
        try:
            yield self._decided_in(partitions, first, new, watermark, rule)
            return
        except Exception as e:  # a rule never ends the stream, whatever error occurs
            error = e
        if len(partitions) == 1 or failed > _MOST_FAILED:
            resumed = self.before.index[self.are_in(partitions)]
            yield self.without(resumed, [self.exception(error)])
            return
        for half in np.array_split(partitions, 2):
            for outcome in self._by_keys(half, first, new, watermark, rule, failed):
                failed += outcome.is_lost
                yield outcome

    def _decided_in(
        self, partitions: np.ndarray, first: np.ndarray, new: NewRows, watermark: int, rule: RulePlan
    ) -> RuleOutcome:
        rows = ranges(first[partitions], new.stop[partitions])
        if not len(rows):
            return self.without(_NOTHING, [])
        own = ReadRows(self, rule, rows, self.are_in(partitions))
        search = search_together([own], watermark, rule.stream)
        emitted = [self.emitted(rule, times, batch) for times, batch in search.results() if batch.num_rows]
        return self.searched(emitted, search.failed(), own.is_resumed, new_positions(search, rows, [self]))

    def searched(
        self, emitted: Sequence[Emitted], failed: pa.Table, is_resumed: np.ndarray, positions: NewPositions
    ) -> RuleOutcome:
        """The outcome of a search. `failed`: the expressions of the search that could not be computed, with the columns
        FAILURES; `is_resumed: bool[k]`: the positions before it that it replaces."""
        failed = pa.concat_tables([failed, *(failures for _, failures in emitted)])
        return RuleOutcome(
            results=[result for result, _ in emitted],
            errors=self._faults(failed),
            failures=[self._failed_keys(failed)] if failed.num_rows else [],
            resumed=self.before.index[is_resumed],
            positions=positions.table,
            partition=positions.partition,
            place=positions.place,
        )

    def are_in(self, partitions: np.ndarray) -> np.ndarray:
        """`bool[k]`: the positions in these partitions."""
        are_chosen = np.zeros(self.shared.partitions, np.bool_)
        are_chosen[partitions] = True
        return are_chosen[self.before.partition]

    # which rows are read

    def new_rows(self, watermark: int) -> NewRows:
        return self.shared.between(max(self.after, self.version.version.first), watermark)

    def first_places(self, new: NewRows, watermark: int, rule: RulePlan) -> np.ndarray:
        """`int64[p]`: the first row of each partition that is read, or NEVER if the rule cannot find anything there.

        The rule may find something from the first new row at which a match can begin. It may also find something where
        its search has begun already and there is a new row or a WITHIN that ends.
        """
        begins = self.shared.beginnings(rule, new)[::-1]
        first = np.full(len(new.stop), NEVER)
        first[self.shared.partition[begins]] = begins  # if a partition has several such rows, the first one is kept
        before = self.before
        is_open = before.place != NEVER
        goes_on = is_open & (new.has_new[before.partition] | (before.column(DUE) <= watermark))
        first[before.partition[goes_on]] = before.place[goes_on]
        return first

    # what is decided

    def emitted(self, rule: RulePlan, times: np.ndarray, batch: pa.RecordBatch) -> Emitted:
        """Rows of the result with their times, and the measures that could not be computed, with the columns
        FAILURES."""
        rows, errors = self.result(rule, batch)
        if not errors:
            return (times, rows), FAILURES.empty_table()
        code = as_numpy(batch.column(CODE))
        failed = failures_of_keys(
            [times[at] for at, _ in errors], [e for _, e in errors], [[int(code[at])] for at, _ in errors]
        )
        return (times, rows), failed

    def result(self, rule: RulePlan, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, list[tuple[int, DataError]]]:
        """Rows of the result, computed from the rows of workers, and the measures that could not be computed."""
        keys = list(self.shared.key_values.values())
        return result_batch(self.version.version, rule, batch, keys, self.plan.result_schema)

    def _faults(self, failed: pa.Table) -> list[RuleFault]:
        """The expressions over several rows that could not be computed, one of each class of error."""
        texts = [text.partition(": ") for text in failed.column("error").to_pylist()]
        by_class = {error_class: message for error_class, _, message in reversed(texts)}
        return [self.fault(*pair) for pair in by_class.items()]

    def _row_faults(self, new: NewRows, rule: RulePlan) -> Iterator[RuleFault]:
        """The expressions that could not be computed on new rows."""
        for error, at in self.shared.failures(rule):
            if (at & new.is_new).any():
                yield self.fault(error.error_class, error.message)

    def _failed_rows(self, new: NewRows, rule: RulePlan) -> Iterator[pa.Table]:
        """The new rows on which an expression could not be computed, each once."""
        is_left = new.is_new
        for error, failed in self.shared.failures(rule):
            at, is_left = np.flatnonzero(failed & is_left), is_left & ~failed
            columns = {name: column.take(as_arrow(at)) for name, column in self.shared.values.columns.items()}
            rows = row_texts(columns, self.plan.columns)
            yield failure_rows(self.version.version, self.shared.time[at], [error_text(error)] * len(at), rows)

    def _failed_keys(self, failed: pa.Table) -> pa.Table:
        """The expressions over several rows that could not be computed, with the keys of the rows in place of their
        numbers."""
        number = [json.loads(text)[0] for text in failed.column("row").to_pylist()]
        types = [(name, kind) for name, kind in self.plan.columns if name in self.plan.keys]
        keys = {name: key.take(pa.array(number, pa.int64())) for name, key in self.shared.key_values.items()}
        times, errors = (failed.column(name) for name in ("time", "error"))
        rows = row_texts(keys, types) if types else ["{}"] * len(number)
        return failure_rows(self.version.version, as_numpy(one_chunk(times).view(pa.int64())), errors.to_pylist(), rows)


class ReadRows(NamedTuple):
    """The numbers of the rows that a run reads in some partitions, in their order; `is_resumed: bool[k]`: the positions
    before it in these partitions."""

    run: RuleRun
    rule: RulePlan
    rows: np.ndarray
    is_resumed: np.ndarray


def search_together(runs: Sequence[ReadRows], until: int, stream: StreamMatchPlan) -> RowSearch:
    """The search in the rows of runs whose rules have one shape. CODE is as in `new_positions`."""
    shared, befores = runs[0].run.shared, [own.run.before for own in runs]
    rows = np.concatenate([own.rows for own in runs])
    offset = shared.partitions * np.arange(len(runs))
    code = shared.partition[rows] + np.repeat(offset, [len(own.rows) for own in runs])
    key_code = np.concatenate([b.partition[own.is_resumed] + o for b, own, o in zip(befores, runs, offset)])
    index = np.concatenate([b.index[own.is_resumed] for b, own in zip(befores, runs)])
    columns = {name: as_arrow(befores[0].columns[name][index]) for name in POSITION}
    keys = pa.table({CODE: as_arrow(key_code), **columns})
    state = State({ROWS: stream.schema.empty_table(), KEYS: keys}, runs[0].run.after)
    table = shared.joint_table([(own.rule, own.rows) for own in runs], code, rows)
    return search_rows(table, code, key_code, state, until, stream)


class NewPositions(NamedTuple):
    """The new positions of some runs: `run`, `partition` and `place: int64[k]`, the first row that each still reads;
    and their `table`, None if there are none."""

    run: np.ndarray
    partition: np.ndarray
    place: np.ndarray
    table: pa.Table | None

    def between(self, lo: int, hi: int) -> NewPositions:
        """The positions from number `lo` to `hi` (exclusive)."""
        table = self.table.slice(lo, hi - lo) if self.table is not None and hi > lo else None
        return NewPositions(self.run[lo:hi], self.partition[lo:hi], self.place[lo:hi], table)


def new_positions(search: RowSearch, rows: np.ndarray, runs: Sequence[RuleRun]) -> NewPositions:
    """The positions after a search. CODE is there the number of the run times the number of partitions, plus the
    partition."""
    shared, plan, table = runs[0].shared, runs[0].plan, search.keys()
    if not table.num_rows:
        return NewPositions(_NOTHING, _NOTHING, _NOTHING, None)
    bounds, kept = search.bounds, search.first_kept
    searched = as_numpy(search.block.columns[CODE])[bounds[:-1]]
    place_of = np.full(len(runs) * shared.partitions, NEVER)
    has_rows = kept < bounds[1:]
    place_of[searched[has_rows]] = rows[kept[has_rows]]
    code = as_numpy(one_chunk(table.column(CODE)))
    run, partition = np.divmod(code, shared.partitions)
    place = place_of[code]
    ids = np.where(place == NEVER, NO_ROW, shared.id[np.where(place == NEVER, 0, place)])
    versions = [run.version.version for run in runs]
    columns = {
        **{name: key.take(as_arrow(partition)) for name, key in shared.key_values.items()},
        RULE: pa.array([v.name for v in versions], pa.string()).take(as_arrow(run)),
        VERSION: as_arrow(np.array([v.version for v in versions])[run]),
        ROW: as_arrow(ids),
        **{name: table.column(name) for name in POSITION},
    }
    schema = position_schema(plan)
    return NewPositions(run, partition, place, pa.table([columns[name] for name in schema.names], schema=schema))


def ranges(first: np.ndarray, stop: np.ndarray) -> np.ndarray:
    """The numbers from each `first` to its `stop` (exclusive), one range after the other.

    >>> ranges(np.array([2, 7]), np.array([5, 8])).tolist()
    [2, 3, 4, 7]
    """
    length = stop - first
    ends = np.cumsum(length)
    return np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(first - (ends - length), length)
