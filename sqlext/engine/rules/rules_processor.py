"""MATCH_RULES for one bucket of keys, in Spark's stateful operator: the state has a third table, the rules."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from sqlext.engine.rules.row_texts import row_texts
from sqlext.engine.rules.rule_plan import CompiledRules, RulesPlan
from sqlext.engine.rules.rules_state import (
    ARRIVING_VERSIONS,
    VERSIONS,
    RulesState,
    first_state,
    position_schema,
    row_schema,
    with_schema,
)
from sqlext.engine.stream import side_tables
from sqlext.engine.stream.parcels import table_of
from sqlext.engine.stream.processor import KEYS, ROWS, Answer, BucketProcessor, Call
from sqlext.engine.stream.state_log import Header, Log, Stored
from sqlext.engine.worker.arrow import one_chunk, strings
from sqlext.rewriter.match.match_plan import LATE_ROW

if TYPE_CHECKING:
    from sqlext.engine.rules.rules_step import RulesStep

RULES = "rules"  # the third table of the state
OF_RULES = b"sqlext_rules"  # in the metadata of a parcel: its rows are those of the rules table
FIRST_BUCKET = 0  # the number of the bucket that reports the versions; all buckets take up the same


@dataclass(frozen=True, kw_only=True)
class RulesBucketPlan:
    """The plan of a step as the operator reads it, see `BucketPlan`."""

    rules: RulesPlan
    is_processing_time: bool = False
    ends_by_clock: bool = False

    @property
    def arriving(self) -> pa.Schema:
        return self.rules.schema

    @property
    def schema(self) -> pa.Schema:
        return row_schema(self.rules)

    @property
    def key_schema(self) -> pa.Schema:
        return position_schema(self.rules)

    @property
    def time(self) -> str:
        return self.rules.time


class RulesProcessor(BucketProcessor):
    """Each bucket holds its own copy of the rules, so each decides alone."""

    compiled: CompiledRules

    def open(self, handle, header, chunks) -> None:
        super().open(handle, header, chunks)
        plan = self._rules
        key = (self.plan.fingerprint, plan.columns, plan.max_length, tuple(plan.functions.values()))
        self.compiled = _COMPILED.setdefault(key, CompiledRules(plan))

    def answer(self, call: Call) -> Answer:
        from sqlext.engine.rules.rules_step import advance  # loads Numba, which the driver does not need

        before = None if call.before is None else with_columns(call.before, self._rules)
        state = first_state(self._rules) if before is None else rules_state_of(before, self._rules)
        rules = table_of([p for p in call.parcels if is_of_rules(p)], ARRIVING_VERSIONS)
        arrived = table_of([p for p in call.parcels if not is_of_rules(p)], self._rules.schema)
        step = advance(state, rules, arrived, call.watermark, self._rules, self.compiled)
        self._write_tables(step, state.watermark, call.name)
        after = rules_stored_after(before, step, self.plan.fingerprint, self.buckets())
        text = report(step, after if call.bucket == FIRST_BUCKET else None)
        return Answer(results=step.results, after=after, text=text)

    def _write_tables(self, step: RulesStep, watermark: int, name: str) -> None:
        """Write the late rows and the failures of a step."""
        plan = self._rules
        if self.plan.late_folder and step.late.num_rows:
            columns = {name: one_chunk(column) for name, column in zip(step.late.column_names, step.late.columns)}
            late = step.late.append_column(LATE_ROW, strings(row_texts(columns, plan.columns)))
            side_tables.write(side_tables.late_table(late, plan.time, watermark), self.plan.late_folder, name)
        if self.plan.failed_folder:
            side_tables.write(step.failures, self.plan.failed_folder, name)

    @property
    def _rules(self) -> RulesPlan:
        return cast(RulesBucketPlan, self.plan.stream).rules


_COMPILED: dict[tuple, CompiledRules] = {}  # a processor lives for one micro-batch, a worker longer


def is_of_rules(parcel: bytes) -> bool:
    with pa.ipc.open_stream(pa.py_buffer(parcel)) as stream:
        return OF_RULES in (stream.schema.metadata or {})


def rules_state_of(stored: Stored, plan: RulesPlan) -> RulesState:
    """The state as the step reads it."""
    logs = stored.logs
    return RulesState(
        rows=logs[ROWS].table(row_schema(plan)),
        positions=logs[KEYS].table(position_schema(plan)),
        versions=logs[RULES].table(VERSIONS),
        watermark=stored.header.watermark,
    )


def with_columns(stored: Stored, plan: RulesPlan) -> Stored:
    """The state with the columns of the plan, which may have changed since it was written."""
    schema = row_schema(plan)
    chunks = tuple(replace(chunk, rows=with_schema(chunk.rows, schema)) for chunk in stored.logs[ROWS].chunks)
    return replace(stored, logs={**stored.logs, ROWS: Log(chunks)})


def rules_stored_after(stored: Stored | None, step: RulesStep, fingerprint: str, buckets: int = 1) -> Stored:
    """The state to store after a step."""
    header = Header(plan=fingerprint, watermark=step.watermark, buckets=buckets)
    before = stored or Stored(header, {ROWS: Log(), KEYS: Log(), RULES: Log()})
    number, rules = before.header.next_number, before.logs[RULES]
    keeps_all = [True] * sum(chunk.count for chunk in rules.chunks)
    logs = {
        ROWS: before.logs[ROWS].changed(step.keeps_row, step.new_rows, number),
        KEYS: before.logs[KEYS].changed(step.keeps_position, step.new_positions, number + 1),
        RULES: rules.changed(pa.array(keeps_all, pa.bool_()).to_numpy(False), step.new_versions, number + 2),
    }
    late, failed = before.header.late + step.late.num_rows, before.header.failed + step.failures.num_rows
    header = replace(
        before.header, plan=fingerprint, watermark=step.watermark, next_number=number + 3, late=late, failed=failed
    )
    return Stored(header, logs)


def report(step: RulesStep, after: Stored | None) -> bytes | None:
    """What the driver writes into the tables of the log and of errors: JSON, None for nothing."""
    taken = []
    if after is not None:
        table = after.logs[RULES].table(VERSIONS)
        times = table.column("taken_up").cast(pa.int64()).to_pylist()
        taken = list(zip(table.column("name").to_pylist(), table.column("version").to_pylist(), times))
    errors = [(name, version, kind, message[:1000]) for name, version, kind, message in step.errors[:100]]
    return json.dumps({"taken": taken, "errors": errors}).encode() if taken or errors else None
