"""Random MATCH_RECOGNIZE tasks with rows, as workers of batch and the operator of streams receive them; no Spark."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sqlext.aggregates.bind import BoundAggregate
from sqlext.errors import DataError
from sqlext.operators.match.match_rows import match_batches
from sqlext.operators.match.operator import MatchOperator
from sqlext.operators.match.plan import Bound, MatchOperatorPlan, OperandColumn, Slot
from sqlext.operators.match.stream_plan import StreamMatchPlan
from sqlext.operators.rows.columns import ROW_TIME, WITHIN_END, WITHIN_KEY, SortKey
from sqlext.pattern.batch.parts import may_fail
from sqlext.pattern.program import ast
from sqlext.pattern.program.compile import compile_pattern
from sqlext.pattern.program.program import MatchStart
from sqlext.pattern.task.event_time import NEVER
from sqlext.pattern.task.skip_mode import SKIP_PAST_LAST_ROW, SKIP_TO_FIRST, SKIP_TO_LAST, SKIP_TO_NEXT_ROW
from sqlext.pattern.task.task import (
    Aggregate,
    Condition,
    Literal,
    MachineCall,
    MatchTask,
    Navigation,
    Operand,
    Output,
    Skip,
)
from tests.operators.driven import Driven
from tests.zones import SECOND_US, zone_and_change

LABELS = "ABC"
QUANTIFIERS = [(0, None), (1, None), (0, 1), (2, None), (0, 2), (1, 2), (2, 2)]
ROWTIME = "rowtime"
_KIND = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class Case:
    """`rows`: in the order of their times; `plan`: with the slot of MATCH_ROWTIME(), for batch."""

    plan: MatchOperatorPlan
    stream: StreamMatchPlan
    rows: pa.Table


def random_case(chance: random.Random) -> Case:
    """A pattern of up to eight nodes on three variables over a few keys; everything else is random, too."""
    is_within = chance.random() < 0.4
    task = _task(chance, is_within)
    neighbours = ((0, _neighbour(chance)),) if chance.random() < 0.25 else ()
    output = task.output
    carried = ("k", "u") if output.is_all_rows else ("k",)
    time = WITHIN_KEY if is_within else ROW_TIME
    slots = (*_slots(chance), Slot(name=ROWTIME, kind="rowtime", columns=(time, WITHIN_END) if is_within else (time,)))
    bounds = (Bound(is_inclusive=chance.random() < 0.4),) if is_within else ()
    plan = MatchOperatorPlan(
        task=task,
        masks=("mask",),
        neighbours=neighbours,
        operands=(OperandColumn("v", "bigint", "int"),),
        carried=carried,
        partition_by=("k",),
        slots=slots,
        bounds=bounds,
    )
    rows = _rows(chance, is_within, time)
    conditions = [c for c in (*task.conditions, *(c for _, c in neighbours)) if c is not None]
    stream = StreamMatchPlan(
        worker=replace(plan, slots=slots[:-1]),
        schema=rows.schema,
        time=time,
        sort=(SortKey("u"),),
        back=2,
        counts_matches=True,
        keeps_all_keys=any(isinstance(x, MatchStart) for x in task.program.instructions),
        needs_times=chance.random() < 0.7,
    )
    assert all(_steps(c) >= -2 for c in conditions)
    return Case(plan, stream, rows)


def _steps(condition: Condition) -> int:
    if isinstance(condition, MachineCall):
        return min(map(_steps, condition.arguments), default=0)
    return condition.source.step if isinstance(condition, Operand) and isinstance(condition.source, Navigation) else 0


def _task(chance: random.Random, is_within: bool) -> MatchTask:
    program = compile_pattern(random_tree(chance, chance.randint(1, 8)), tuple(LABELS))
    shows = chance.choice(["one", "one", "all", "omit", "unmatched"])
    output = Output(
        is_all_rows=shows not in ("one",), shows_empty=shows != "omit", shows_unmatched=shows == "unmatched"
    )
    bits = tuple(chance.choice([0, 1, 2, None]) if chance.random() < 0.2 else label for label in range(3))
    task = MatchTask(
        program=program, bits=bits, conditions=(None,) * 3, skip=_skip(chance), output=output, is_within=is_within
    )
    if chance.random() < 0.3:
        conditions = tuple(_condition(chance) if chance.random() < 0.6 else None for _ in LABELS)
        task = replace(task, conditions=conditions)
    return replace(task, skip=replace(task.skip, else_next_row=True)) if may_fail(task) else task


def random_tree(chance: random.Random, size: int) -> ast.Pattern:
    """A tree of about `size` nodes without `$`."""
    if size <= 1:
        leaf = chance.random()
        return (
            ast.Variable(chance.choice(LABELS)) if leaf < 0.92 else chance.choice([ast.Empty(), ast.PartitionStart()])
        )
    kind = chance.choice(
        ["quantified"] * 3 + ["concatenation"] * 4 + ["alternation"] * 2 + ["permutation", "exclusion"]
    )
    if kind == "quantified":
        mode = chance.choice([ast.GREEDY, ast.GREEDY, ast.RELUCTANT])
        item = random_tree(chance, size - 1)
        least, most = chance.choice(QUANTIFIERS)
        return ast.Quantified(item=item, at_least=least, at_most=most, mode=mode)
    if kind == "exclusion":
        return ast.Exclusion(random_tree(chance, size - 1))
    parts = chance.randint(2, 3)
    items = tuple(random_tree(chance, (size - 1) // parts) for _ in range(parts))
    return {"concatenation": ast.Concatenation, "alternation": ast.Alternation, "permutation": ast.Permutation}[kind](
        items
    )


def _skip(chance: random.Random) -> Skip:
    mode = chance.choice([SKIP_PAST_LAST_ROW, SKIP_PAST_LAST_ROW, SKIP_TO_NEXT_ROW, SKIP_TO_FIRST, SKIP_TO_LAST])
    labels = tuple(chance.sample(range(3), chance.randint(1, 2))) if mode.has_target else ()
    return Skip(mode, labels)


def _condition(chance: random.Random) -> Condition:
    """A condition that depends on the match so far."""
    labels = chance.choice([None, (0,), (1,), (0, 1)])
    current = Operand(Navigation(argument=0), "int")
    other = Operand(
        Navigation(
            argument=0,
            labels=labels,
            from_first=chance.random() < 0.5,
            offset=chance.choice([0, 1]),
            step=chance.choice([0, 0, -1, 1, 2]),
        ),
        "int",
    )
    count = Operand(Aggregate(function="count", argument=None, labels=labels), "int")
    total = Operand(Aggregate(function="sum", argument=0, labels=labels), "int")
    limit = Literal(chance.randint(1, 6), "int")
    return chance.choice(
        [
            MachineCall(function="less_equal", arguments=(other, current), kind="bool"),
            MachineCall(function="less_equal", arguments=(count, limit), kind="bool"),
            MachineCall(
                function="or",
                arguments=(
                    MachineCall(function="is_null", arguments=(other,), kind="bool"),
                    MachineCall(function="less", arguments=(total, limit), kind="bool"),
                ),
                kind="bool",
            ),
        ]
    )


def _neighbour(chance: random.Random) -> Condition:
    step = chance.choice([-2, -1, 1, 2])
    return MachineCall(
        function="less_equal",
        arguments=(Operand(Navigation(argument=0), "int"), Operand(Navigation(argument=0, step=step), "int")),
        kind="bool",
    )


def _slots(chance: random.Random) -> tuple[Slot, ...]:
    labels = chance.choice([None, (0,), (1, 2)])
    steps = chance.choice([(0, 0), (0, -1), (-2, 1), (1, 2), (2, -1)])
    slots = [
        Slot(name="number", kind="match number"),
        Slot(name="classifier", kind="classifier", navigation=Navigation(argument=-1, step=chance.choice([0, 0, 1]))),
        Slot(
            name="first",
            kind="value",
            columns=("v",),
            navigation=Navigation(argument=0, labels=labels, from_first=True, step=steps[0]),
        ),
        Slot(
            name="last",
            kind="value",
            columns=("v",),
            navigation=Navigation(argument=0, labels=None, is_final=chance.random() < 0.5, step=steps[1]),
        ),
        Slot(
            name="sum", kind="aggregate", columns=("v",), aggregate=Aggregate(function="sum", argument=0, labels=labels)
        ),
        Slot(
            name="rows",
            kind="array",
            columns=("u",),
            aggregate=Aggregate(function="array_agg", argument=0, labels=None, is_final=chance.random() < 0.5),
        ),
        Slot(
            name="best",
            kind="fold",
            columns=("v", "u"),
            aggregate=Aggregate(function="max_by", argument=0, labels=labels),
            fold=BoundAggregate(function="max_by", types=("bigint", "bigint"), result="bigint"),
        ),
        Slot(
            name="labelled",
            kind="fold",
            columns=("v", "u", "u"),
            by_label=(0, 1, 2),
            aggregate=Aggregate(function="sum", argument=0, is_distinct=True),
            fold=BoundAggregate(function="sum", types=("bigint",), result="bigint", is_distinct=True),
        ),
    ]
    return tuple(slots)


def _rows(chance: random.Random, is_within: bool, time: str) -> pa.Table:
    n = chance.randint(1, 24)
    spread = chance.choice([1, 3, 10])
    times = np.sort([chance.randint(0, spread * n) for _ in range(n)]).astype(np.int64) + 1
    exclusive = chance.random() < 0.4
    mask = [1 << chance.randrange(3) if exclusive else chance.randrange(8) for _ in range(n)]
    _, change = zone_and_change(chance)
    times += chance.choice([0, change * SECOND_US])
    columns = {
        "k": pa.array([chance.randrange(3) for _ in range(n)], pa.int64()),
        "v": pa.array([None if chance.random() < 0.1 else chance.randint(0, 3) for _ in range(n)], pa.int64()),
        "u": pa.array(chance.sample(range(n), n), pa.int64()),
        "mask": pa.array(mask, pa.int8()),
        time: pa.array(times, _KIND),
    }
    if is_within:
        columns[WITHIN_END] = pa.array(times + spread * chance.randint(0, 4), _KIND)
    return pa.table(columns)


# results as multisets of rows


def batch_rows(case: Case) -> Counter:
    """How often batch returns each result row, as (time, everything else)."""
    ordered = case.rows.sort_by([("k", "ascending"), (case.stream.time, "ascending"), ("u", "ascending")])
    results: Counter = Counter()
    for batch in match_batches(iter(ordered.combine_chunks().to_batches()), case.plan):
        times = batch.column(ROWTIME).cast(pa.int64()).to_pylist()
        results.update(zip(times, _as_text(batch.drop_columns([ROWTIME]))))
    return results


def _as_text(batch: pa.RecordBatch) -> list[str]:
    return [str(row) for row in batch.to_pylist()]


def portions(case: Case, chance: random.Random) -> Iterator[tuple[pa.Table, int]]:
    """The rows in random portions, each with a watermark after it that makes no later row late."""
    n = case.rows.num_rows
    times = case.rows.column(case.stream.time).cast(pa.int64()).to_numpy()
    disorder = chance.choice([0, 0, 3, 50])
    order = np.argsort(times + np.array([chance.uniform(0, disorder) for _ in range(n)]), kind="stable")
    at = 0
    while at < n:
        size = chance.choice([0, 1, 1, 2, 5, 50])
        portion = order[at : at + size]
        at += len(portion)
        rest = times[order[at:]]
        highest = min(int(rest.min()) - 1 if len(rest) else int(times.max()) + 100, NEVER - 1)
        yield case.rows.take(pa.array(portion)), chance.randint(highest - 4, highest)
    yield case.rows.slice(0, 0), min(int(times.max()) + 1000, NEVER - 1)


def stream_rows(case: Case, chance: random.Random) -> Iterator[tuple[int, Counter]]:
    """After each step its watermark and all rows emitted so far; the state is stored and read between steps.

    Without `needs_times` the time of every row is 0.
    """
    driven, emitted, watermark = Driven(MatchOperator(plan=case.stream)), Counter(), 0
    for rows, wanted in portions(case, chance):
        watermark = max(watermark, wanted)
        step = driven.step(watermark, rows=rows)
        assert step.late.num_rows == 0
        for times, batch in step.results:
            shown = times.tolist() if case.stream.needs_times else [0] * len(times)
            emitted.update(zip(shown, _as_text(batch)))
        yield watermark, Counter(emitted)


def decided_by_law(case: Case, chance: random.Random) -> int:
    """How many result rows have a time. Asserts that each step emits exactly the rows that its watermark decides."""
    try:
        expected = batch_rows(case)
    except DataError as error:
        assert error.error_class == "SQLEXT_STEP_BUDGET"
        return 0
    for watermark, emitted in stream_rows(case, chance):
        wanted: Counter = Counter()
        for (time, row), n in expected.items():
            if time is not None and time <= watermark:
                wanted[(time if case.stream.needs_times else 0, row)] += n
        assert emitted == wanted, f"at {watermark}: {case.plan.task}"
    return sum(n for (time, _), n in expected.items() if time is not None)
