"""What a stream keeps for a key, and which result rows come: each at the watermark that is named."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from sqlext.errors import DataError
from sqlext.operators.match.open_matches import kept_key, with_times
from sqlext.operators.match.operator import MatchOperator
from sqlext.operators.match.plan import Bound, MatchOperatorPlan, Slot
from sqlext.operators.match.state_facts import by_text, match_facts
from sqlext.operators.match.stream_plan import StreamMatchPlan
from sqlext.operators.rows.columns import ROW_TIME, WITHIN_END, WITHIN_KEY, SortKey
from sqlext.operators.stateful.key_state import coming, distinct_keys, of_key
from sqlext.operators.stateful.operator import State
from sqlext.pattern.cep.cep_task import cep_task
from sqlext.pattern.cep.nfa_compile import compile_nfa, is_contiguous, skeleton
from sqlext.pattern.program.compile import compile_pattern
from sqlext.pattern.task.skip_mode import NO_SKIP, SKIP_PAST_LAST_ROW, SkipMode
from sqlext.pattern.task.task import MatchTask, Navigation, Output, Skip
from sqlext.rewriter.match.parse_pattern import parse_pattern
from tests.operators.driven import Driven, row_texts
from tests.sampling import seeded

from .stream_cases import Case, portions, random_case
from .test_cep_law import cep_case

CASES, PARTS = 1200, 24


def emitted(step) -> Counter:
    return Counter(str(row) for _, batch in step.results for row in batch.to_pylist())


def rows_that_came_as_said(case: Case, chance) -> int:
    """How many rows of the result were announced after a random micro-batch. Asserts that each of them comes at its
    watermark, and none other."""
    operator, driven, watermark = MatchOperator(plan=case.stream), Driven(MatchOperator(plan=case.stream)), 0
    parts = list(portions(case, chance))
    for rows, wanted in parts[: chance.randint(1, len(parts) - 1)]:
        watermark = max(watermark, wanted)
        driven.step(watermark, rows=rows)
    state, announced = driven.state, 0
    told = replace(operator, plan=with_times(case.stream))
    expected: dict[int, Counter] = {}
    keys = distinct_keys([state], case.stream.keys)
    for i in range(keys.num_rows):
        for row in coming(told, of_key(state, case.stream.keys, keys.slice(i, 1))):
            assert row.time > watermark
            expected.setdefault(row.time, Counter())[str(row.rows.slice(row.row, 1).to_pylist()[0])] += 1
    nothing = case.rows.slice(0, 0)
    for time in sorted(expected):
        assert not emitted(driven.step(time - 1, rows=nothing)), f"before {time}: {case.plan.task}"
        assert emitted(driven.step(time, rows=nothing)) == expected[time], f"at {time}: {case.plan.task}"
        announced += expected[time].total()
    assert not emitted(driven.step(2**62, rows=nothing))
    return announced


@pytest.mark.random(every=6)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_row_that_is_not_yet_there_comes_exactly_at_the_watermark_that_is_named(part):
    announced = 0
    for seed in range(part, CASES, PARTS):
        chance = seeded(seed)
        case = random_case(chance) if chance.random() < 0.6 else cep_case(chance)
        try:
            announced += rows_that_came_as_said(case, chance) if case is not None else 0
        except DataError as error:
            assert error.error_class == "SQLEXT_STEP_BUDGET"
    assert announced


# partial matches


def driven_by(
    pattern: str,
    letters: str,
    watermark: int,
    within: int,
    skip: SkipMode = SKIP_PAST_LAST_ROW,
    *,
    shows_timeouts: bool = False,
):
    """The plan of a pattern, its tree, and its operator, to which rows of one key have come at the times 1, 2, …, each
    with one letter, and then a watermark."""
    tree, _ = parse_pattern(pattern, 0, len(pattern))
    labels = tuple(sorted({c for c in pattern if c.isupper()}))
    task = MatchTask(
        program=compile_pattern(skeleton(tree), labels), bits=tuple(range(len(labels))),
        conditions=(None,) * len(labels), is_within=within > 0, skip=Skip(skip),
        output=Output(shows_timeouts=shows_timeouts),
    )  # fmt: skip
    if not is_contiguous(tree):
        task = cep_task(task, compile_nfa(tree, labels))
    kind = pa.timestamp("us", "UTC")
    time = WITHIN_KEY if within else ROW_TIME
    names = [("k", pa.string()), ("mask", pa.int8()), ("i", pa.int64()), (time, kind)]
    schema = pa.schema([*names, (WITHIN_END, kind)] if within else names)
    slot = Slot(name="f", kind="value", columns=("i",), navigation=Navigation(argument=0, from_first=True))
    worker = MatchOperatorPlan(
        task=task, masks=("mask",), carried=("k",), partition_by=("k",), slots=(slot,),
        bounds=(Bound(),) if within else (),
    )  # fmt: skip
    plan = StreamMatchPlan(worker=worker, schema=schema, time=time, sort=(SortKey("i"),), counts_matches=True)
    n = len(letters)
    masks = [1 << labels.index(c) if c in labels else 0 for c in letters]
    columns = [["x"] * n, masks, list(range(1, n + 1)), list(range(1, n + 1)), [t + within for t in range(1, n + 1)]]
    rows = pa.table([pa.array(c, f.type) for c, f in zip(columns, schema)], schema=schema)
    driven = Driven(MatchOperator(plan=plan))
    driven.step(watermark, rows=rows)
    return plan, tree, driven


def lines_of(pattern: str, letters: str, watermark: int, within: int) -> list[str]:
    """What is kept of the rows of one key at a watermark."""
    plan, tree, driven = driven_by(pattern, letters, watermark, within)
    kept = kept_key(driven.state, plan, tree)
    assert not kept.is_cut
    lines = [f"kept {kept.table.num_rows}, passed {kept.passed}, next start row {kept.start}, number {kept.number}"]
    for match in kept.open:
        path = " ".join(f"{name}{kept.time[row]}" for row, name in match.rows)
        end = "" if match.end is None else f"; ends at {match.end}"
        waits = "; ".join(match.waits)
        lines.append(f"{path}{' is a match' if match.is_match else ''}; waits for {waits}{end}")
    announced = coming(MatchOperator(plan=with_times(plan)), driven.state)
    lines += [f"not yet: {row.rows.column('f')[row.row]} at {row.time}" for row in announced]
    return lines


@pytest.mark.parametrize("case", Path(__file__).with_name("open_matches.txt").read_text().strip().split("\n\n"))
def test_the_partial_matches_of_a_key_say_what_they_wait_for(case):
    head, *expected = case.split("\n")
    pattern, letters, watermark, within = (part.strip() for part in head.split("/"))
    assert lines_of(pattern, letters, int(watermark), int(within)) == expected


def test_a_state_is_cut_to_one_key():
    table = pa.table({"k": ["x", None, "x"], "v": [1, 2, 3]})
    state = State({"rows": table, "keys": table.slice(0, 1)}, 7)
    keys = distinct_keys([state], ["k"])
    assert sorted(map(str, keys["k"].to_pylist())) == ["None", "x"]
    cut = [of_key(state, ["k"], keys.slice(i, 1)).rows["v"].to_pylist() for i in range(2)]
    assert sorted(cut) == [[1, 3], [2]]


CLOSEST = "it is in no match, if no further row comes: "


@pytest.mark.parametrize(
    ("pattern", "letters", "within", "reasons"),
    [
        ("A B+ C", "ABXAC", 0, {4: "the closest is A (4); the row of 5 cannot be B: b > 1 is not true"}),
        ("A B C", "ABC", 1, {1: "the closest is A (1); the row of 2 is too late for WITHIN, which ended at 2"}),
        ("A !-> B", "AB", 5, {1: "the closest is A (1); the row of 2 satisfies B, which must be absent there"}),
        ("^ A B", "AAB", 0, {3: "none can begin at it; ^ needs the first row of the partition"}),
        ("A B C | A", "ABC", 0, {}),
    ],
)
def test_the_state_says_why_a_row_is_in_no_match(pattern, letters, within, reasons):
    plan, tree, driven = driven_by(pattern, letters, 1, within)
    facts = match_facts(kept_key(driven.state, plan, tree), row_texts({}), by_text({"B": "b > 1"}), str)
    found = {fact.time: fact.text for fact in facts if fact.kind == "no match"}
    assert {time: found[time] for time in reasons} == {time: CLOSEST + reason for time, reason in reasons.items()}
    assert reasons or not found


def test_a_row_whose_matches_have_been_emitted_is_not_said_to_be_in_none():
    """With NO SKIP it stays, because later rows may make further matches with it."""
    plan, tree, driven = driven_by("A ->> B", "ABXC", 3, 9, NO_SKIP)
    facts = match_facts(kept_key(driven.state, plan, tree), row_texts({}), by_text({"B": "b > 1"}), str)
    assert [fact.time for fact in facts if fact.kind == "no match"] == [3, 4]


def test_a_row_of_a_partial_match_that_comes_when_its_time_is_over_is_said_to_be_in_it():
    plan, tree, driven = driven_by("A -> B", "AXA", 3, 5, shows_timeouts=True)
    facts = list(match_facts(kept_key(driven.state, plan, tree), row_texts({}), by_text({}), str))
    announced = coming(MatchOperator(plan=with_times(plan)), driven.state)
    assert [(row.rows.column("f")[row.row].as_py(), row.time) for row in announced] == [(1, 6), (3, 8)]
    texts = [fact.text for fact in facts if fact.kind in ("row", "no match")]
    over = "it is A of a partial match that SHOW TIMEOUT MATCHES shows at {}"
    assert texts[0] == f"{{}}; by itself it may be A; {over.format(6)}, if no further row comes"
    assert texts[1] == "{}; by itself it may be no variable; it is in no further match, if no further row comes"
    closest = ", and in no match, if no further row comes: the closest is A (1); "
    assert [text.partition(closest)[0] for text in texts[3:] if closest in text] == [over.format(6), over.format(8)]


def test_the_state_of_a_key_in_words():
    plan, tree, driven = driven_by("A B+ C", "ABXAC", 4, 0)
    kept = kept_key(driven.state, plan, tree)
    facts = match_facts(kept, row_texts({"i": "id"}), by_text({"B": "b > 1"}), str)
    assert [f"{fact.kind} {fact.time}: {fact.text}" for fact in facts] == [
        'row 4: {"id":4}; by itself it may be A; it is in no further match, if no further row comes',
        'row 5: {"id":5}; by itself it may be C; the watermark has not passed it, it is in no further match, if no '
        "further row comes",
        "search position 4: the search waits at this row: earlier start rows are decided; the next match is number 1",
        "partial match 4: A (4) waits for B",
        f"no match 4: {CLOSEST}the closest is A (4); the row of 5 cannot be B: b > 1 is not true",
        "no match 5: for the same reason as the row of 4",
    ]
