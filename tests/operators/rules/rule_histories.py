"""Random histories of rules and events, the stream that runs them, and a slow, obvious model of what it must emit."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from sqlext.errors import DataError, SqlExtError
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.scalar_tree import Scalar, evaluate
from sqlext.expressions.values import from_arrow, to_arrow
from sqlext.operators.match.output import MatchBlock, block_batches
from sqlext.operators.match.read_rows import columns_of, read_rows, rows_needed, time_columns
from sqlext.operators.rows.columns import PARTITION_START, SortKey
from sqlext.operators.rules.operator import RulesOperator
from sqlext.operators.rules.plan import CODE, CompiledRules, RulePlan, RulesPlan
from sqlext.operators.rules.replay import replay
from sqlext.operators.rules.rule_results import result_batch
from sqlext.operators.rules.rule_versions import TakenVersion
from sqlext.operators.rules.state import ARRIVING_VERSIONS, RULES, read_versions
from sqlext.pattern.measures import navigation
from sqlext.pattern.strategy import decide, match
from sqlext.pattern.stream.rowtime import batch_times, result_times
from sqlext.pattern.task.event_time import BEGINNING, NEVER
from sqlext.rewriter.rules.plan_rule import plan_rule
from tests.operators.driven import Driven
from tests.zones import zone_and_change

MICROS = pa.timestamp("us", "UTC")
EVENTS = pa.schema([("k", pa.string()), ("ts", MICROS), ("v", pa.int32()), ("s", pa.string())])
PLAN = RulesPlan(
    schema=EVENTS,
    columns=(("k", "string"), ("ts", "timestamp"), ("v", "int"), ("s", "string")),
    keys=("k",),
    order=("ts",),
    sort=(SortKey("v"), SortKey("s")),
    settings=ExecutionSettings(is_ansi=True, time_zone="UTC"),
    compile=plan_rule,
)
SECOND = 1_000_000
Result = tuple[Any, ...]  # rule, version, number, key, first, last, measures


def clauses() -> list[str]:
    """The clauses of `clauses.txt`."""
    from pathlib import Path

    lines = Path(__file__).with_name("clauses.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


CLAUSES = clauses()


@dataclass(frozen=True)
class MicroBatch:
    rules: list[tuple[str, int, str | None, bool, int | None]]
    events: list[tuple[str, int | None, int | None, str | None]]
    watermark: int


def random_history(chance: random.Random) -> list[MicroBatch]:
    """Micro-batches of rules that are added, changed, disabled, dropped and enabled again, and of events."""
    version: dict[str, int] = {}
    last: dict[str, str] = {}
    batches, watermark, now = [], 0, 1
    for _ in range(chance.randint(2, 7)):
        rules = []
        for _ in range(chance.choice((0, 0, 1, 1, 2, 3))):
            name = chance.choice("pqr")
            version[name] = version.get(name, 0) + 1
            action = chance.choice(("set", "set", "set", "drop", "disable", "enable"))
            clause = chance.choice(CLAUSES) if action == "set" or name not in last else last[name]
            last[name] = clause
            effective = chance.choice((None, None, now + chance.randint(-3, 6)))
            at = None if effective is None else SECOND * effective
            rules.append((name, version[name], None if action == "drop" else clause, action != "disable", at))
        events = []
        for _ in range(chance.randint(0, 9)):
            now += chance.choice((0, 0, 1, 1, 2, 3))
            at = None if chance.random() < 0.03 else SECOND * max(now - chance.choice((0, 0, 0, 1, 2, 9)), 1)
            v = None if chance.random() < 0.08 else chance.randint(0, 3)
            events.append((chance.choice("abc"), at, v, chance.choice(("x", "y", None))))
        watermark = max(watermark, SECOND * chance.choice((now - 3, now - 1, now, now + 2)))
        batches.append(MicroBatch(rules, events, watermark))
    return batches


def events_table(rows: list[tuple]) -> pa.Table:
    columns = list(zip(*rows)) or [[], [], [], []]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, EVENTS)], schema=EVENTS)


def rules_table(rows: list[tuple]) -> pa.Table:
    columns = list(zip(*((*row, row[1]) for row in rows))) or [[]] * 6
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, ARRIVING_VERSIONS)], schema=ARRIVING_VERSIONS)


COMPILED, OPERATOR = CompiledRules(PLAN), RulesOperator(plan=PLAN)


@cache
def plan_in(zone: str) -> RulesPlan:
    """PLAN in another time zone."""
    return PLAN if zone == "UTC" else replace(PLAN, settings=replace(PLAN.settings, time_zone=zone))


@cache
def compiled_in(zone: str) -> CompiledRules:
    return COMPILED if zone == "UTC" else CompiledRules(plan_in(zone))


_SECONDS = re.compile(r"INTERVAL '(\d)' SECONDS")
STRETCH = 6 * 3_600  # a second of a history becomes six hours
_NEAR = (0, 0, 900, 1800, 3600)


def around_a_change(history: list[MicroBatch], chance: random.Random) -> tuple[str, list[MicroBatch]]:
    """A time zone, and the history over some days in which its clocks change; four seconds become 24 hours."""
    zone, change = zone_and_change(chance)
    last = max((at for batch in history for _, at, *_ in batch.events if at), default=0) // SECOND
    first = change - STRETCH * chance.randint(1, max(1, last))

    def moved(time: int | None) -> int | None:
        return None if time is None else first * SECOND + STRETCH * time

    def stretched(clause: str | None) -> str | None:
        return clause and _SECONDS.sub(lambda match: f"INTERVAL '{6 * int(match[1])}' HOURS", clause)

    return zone, [
        MicroBatch(
            [(name, version, stretched(clause), *rest, moved(at)) for name, version, clause, *rest, at in batch.rules],
            [(key, at and moved(at) + SECOND * chance.choice(_NEAR), *rest) for key, at, *rest in batch.events],
            first * SECOND + STRETCH * batch.watermark,
        )
        for batch in history
    ]


def streamed(history: list[MicroBatch], zone: str = "UTC") -> tuple[list[Result], list[TakenVersion], list[tuple]]:
    """What the stream emits with a restart after each micro-batch, the versions it took up, and the events in time."""
    driven, emitted, in_time = Driven(RulesOperator(plan=plan_in(zone))), [], []
    for batch in history:
        before = driven.state.watermark
        in_time += [event for event in batch.events if event[1] is not None and event[1] > before]
        step = driven.step(batch.watermark, rows=events_table(batch.events), rules=rules_table(batch.rules))
        for times, rows in step.results:
            assert all(before < t <= step.watermark for t in times.tolist())
            emitted += results_of(rows)
    return emitted, read_versions(driven.state.tables[RULES]), in_time


def replayed(events: list[tuple], versions: list[TakenVersion], zone: str = "UTC") -> list[Result]:
    found = replay(events_table(events), versions, plan_in(zone), compiled_in(zone))
    return [row for rows in found for row in results_of(rows)]


def results_of(rows: pa.RecordBatch) -> list[Result]:
    columns = [from_arrow(c, "timestamp") if pa.types.is_timestamp(c.type) else c.to_pylist() for c in rows.columns]
    return [(*row[:-1], tuple(row[-1])) for row in zip(*columns)]


# the model


def acts(version: TakenVersion, versions: list[TakenVersion], time: int) -> bool:
    """Return True if the version acts on rows of that time."""
    rivals = [v for v in versions if v.name == version.name and v.first < time]
    current = [v for v in rivals if not any(is_replaced(v, other) for other in rivals)]
    latest = max(current, key=rank, default=None)
    return latest == version


def rank(version: TakenVersion) -> tuple[int, int, int]:
    return version.first, BEGINNING if version.effective_from is None else version.effective_from, version.version


def is_replaced(version: TakenVersion, by: TakenVersion) -> bool:
    return by.effective_from is None and by.version > version.version and by.first <= version.first


def expected(events: list[tuple], versions: list[TakenVersion], watermark: int | None) -> list[Result]:
    """Each version alone over its events, at once, by the plainest engine. `watermark`: None is the end of input."""
    results: list[Result] = []
    for version in versions:
        rule = COMPILED(version.clause or "")
        if not version.matches or isinstance(rule, SqlExtError):
            continue
        own = [e for e in events if acts(version, versions, e[1])]
        ends = [v.first for v in versions if v.name == version.name and v.first > version.first]
        until = next((t for t in sorted(ends) if not acts(version, versions, t + 1)), None)
        limits = [t for t in (watermark, until) if t is not None]
        for key in sorted({e[0] for e in own}):
            mine = sorted((e for e in own if e[0] == key), key=order)
            results += matches_of(version, rule, mine, min(limits) if limits else None)
    return results


def order(event: tuple) -> tuple:
    _, ts, v, s = event
    return (ts, -1 if v is None else v, s or "")


def matches_of(version: TakenVersion, rule: RulePlan, events: list[tuple], limit: int | None) -> list[Result]:
    """The matches of one key that are decided up to `limit`."""
    table = table_of(rule, events)
    columns = columns_of(table)
    worker = rule.stream.worker
    task = replace(worker.task, strategy="reference")
    rows = read_rows(columns, worker, errors={})
    rows = replace(rows, errors={})
    key, end = time_columns(columns)
    times = batch_times(decide_plainly, worker.task, rows, key, end, rows_needed(columns, worker))
    results = []
    for spans in match(task, rows):
        spans = times.of(spans, rows.bounds)
        out = navigation.output_rows(spans, task.output)
        block = MatchBlock(plan=worker, columns=columns, rows=rows, spans=spans, out=out, errors=[])
        batches = list(block_batches(block))
        keys = [pa.array([events[0][0]], pa.string())]
        whole = [r for b in batches for r in results_of(result_batch(version, rule, b, keys, PLAN.result_schema)[0])]
        reads = [slot.navigation for slot in worker.slots if slot.kind == "value"]
        when = result_times(spans, out, reads, rows.bounds, key).tolist()
        results += [row for row, t in zip(whole, when) if limit is None or (t <= limit and t != NEVER)]
    return results


def decide_plainly(task, rows, *others):
    try:
        return decide(task, rows, *others)
    except DataError as e:
        raise AssertionError("the model's conditions never fail") from e


def table_of(rule: RulePlan, events: list[tuple]) -> pa.Table:
    """The columns that workers read, computed value by value."""
    lists = {f.name: list(c) for f, c in zip(EVENTS, zip(*events))}
    rows = [dict(zip(lists, row)) for row in zip(*lists.values())]
    columns = {CODE: pa.array([0] * len(rows), pa.int64())}
    columns |= {name: to_arrow([value(tree, row) for row in rows], tree.type) for name, tree in rule.trees.items()}
    for name, trees in rule.masks.items():
        bits = [sum((value(tree, row) is True) << b for b, tree in enumerate(trees)) for row in rows]
        columns[name] = pa.array(np.array(bits, np.int64))
    columns[PARTITION_START] = pa.array([i == 0 for i in range(len(rows))])
    return pa.table(columns)


def value(tree: Scalar, row: dict[str, Any]) -> Any:
    try:
        return evaluate(tree, row)
    except DataError:
        return None
