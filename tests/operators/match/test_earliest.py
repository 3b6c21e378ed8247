"""Each result comes in the first step that decides it: cases in earliest.txt."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

from sqlext.operators.match.operator import MatchOperator
from sqlext.operators.match.plan import Bound, MatchOperatorPlan, Slot
from sqlext.operators.match.stream_plan import StreamMatchPlan
from sqlext.operators.rows.columns import ROW_TIME, WITHIN_END, WITHIN_KEY, SortKey
from sqlext.pattern.program.program import MatchStart
from sqlext.pattern.task.skip_mode import NO_SKIP, SKIP_PAST_LAST_ROW, SKIP_TO_NEXT_ROW
from sqlext.pattern.task.task import CLASSIFIER, Aggregate, Navigation, Output, Skip
from tests.operators.driven import Driven
from tests.task_harness import any_task, tree_of

_KIND = pa.timestamp("us", "UTC")
_LETTERS = "ABCD"
_MODES = {"past": SKIP_PAST_LAST_ROW, "next": SKIP_TO_NEXT_ROW, "every": NO_SKIP}


@dataclass(frozen=True)
class Case:
    title: str
    pattern: str
    options: dict[str, str]
    steps: list[tuple[int, str, str]]  # time, letter, what is given out


def cases() -> list[Case]:
    text = (Path(__file__).parent / "earliest.txt").read_text()
    blocks = [b.strip().splitlines() for b in text.split("\n== ")[1:]]
    return [_case(block) for block in blocks]


def _case(lines: list[str]) -> Case:
    pattern, _, options = lines[1].partition(";")
    steps = []
    for line in lines[2:]:
        row, _, found = line.partition("=>")
        time, letter = row.split()
        steps.append((int(time), letter, found.strip()))
    named = dict(word.partition("=")[::2] for word in options.split())
    return Case(lines[0], pattern.strip(), named, steps)


def plan_of(case: Case) -> StreamMatchPlan:
    tree, labels = tree_of(case.pattern)
    show = case.options.get("show", "one")
    is_within = "within" in case.options
    task = any_task(
        tree,
        labels,
        bits=tuple(_LETTERS.index(label) for label in labels),
        skip=Skip(_MODES[case.options.get("skip", "past")]),
        output=Output(
            is_all_rows=show in ("all", "unmatched"),
            shows_empty=True,
            shows_unmatched=show == "unmatched",
            shows_timeouts=show == "timeouts",
        ),
        is_within=is_within,
        is_between="between" in case.options,
    )
    slots = [
        Slot(name="number", kind="match number"),
        Slot(name="labels", kind="array", columns=(), aggregate=Aggregate(function="array_agg", argument=CLASSIFIER)),
        Slot(name="label", kind="classifier", navigation=Navigation(argument=CLASSIFIER)),
        Slot(name="timed_out", kind="timed out"),
    ]
    if "next" in case.options:
        slots.append(
            Slot(
                name="next",
                kind="value",
                columns=("u",),
                navigation=Navigation(argument=0, step=int(case.options["next"])),
            )
        )
    bounds = (Bound(is_inclusive="inclusive" in case.options),) if is_within else ()
    time = WITHIN_KEY if is_within else ROW_TIME
    fields = [("u", pa.int64()), ("mask", pa.int8()), (time, _KIND)] + ([(WITHIN_END, _KIND)] if is_within else [])
    return StreamMatchPlan(
        worker=MatchOperatorPlan(task=task, masks=("mask",), slots=tuple(slots), bounds=bounds),
        schema=pa.schema(fields),
        time=time,
        sort=(SortKey("u"),),
        counts_matches=True,
        keeps_all_keys=any(isinstance(x, MatchStart) for x in task.program.instructions),
    )


def rows_of(case: Case, plan: StreamMatchPlan, number: int, time: int, letter: str) -> pa.Table:
    if letter == "-":
        return plan.schema.empty_table()
    columns = [[number], [1 << _LETTERS.index(letter)], [time], [time + int(case.options.get("within", 0))]]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, plan.schema)], schema=plan.schema)


def found_in(step, is_all_rows: bool) -> list[str]:
    found = []
    for _, batch in step.results:
        for row in batch.to_pylist():
            if row["timed_out"]:
                found.append(f"out: {''.join(row['labels'])}")
            elif row["number"] is None:
                found.append("-")
            else:
                labels = (row["label"] or "") if is_all_rows else "".join(row["labels"])
                found.append(f"{row['number']}: {labels}".strip())
    return sorted(found)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.title)
def test_results_come_in_the_first_step_that_decides_them(case):
    plan = plan_of(case)
    driven, pending = Driven(MatchOperator(plan=plan)), []
    for number, (time, letter, wanted) in enumerate(case.steps):
        pending.append(rows_of(case, plan, number, time, letter))
        if number + 1 < len(case.steps) and case.steps[number + 1][0] == time:
            continue  # rows of one time arrive together, what they give is written on the last
        step, pending = driven.step(time, rows=pa.concat_tables(pending)), []
        found = found_in(step, plan.worker.task.output.is_all_rows)
        assert found == sorted(w.strip() for w in wanted.split(",") if w.strip()), (time, letter)
