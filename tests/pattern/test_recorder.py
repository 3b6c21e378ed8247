"""What the recorder tells of a search is what counting all paths by hand gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from sqlext.pattern import strategy
from sqlext.pattern.batch.recorder import CONDITION, MATCH, PARTITION_END, WITHIN, Attempt
from sqlext.pattern.program import ast
from sqlext.pattern.program.program import MatchLabel
from sqlext.pattern.task.skip_mode import SKIP_TO_NEXT_ROW
from sqlext.pattern.task.task import Rows, Skip
from sqlext.pattern.why import words
from sqlext.pattern.why.attempts import attempts
from sqlext.pattern.why.funnel import Funnel, steps_of
from tests.sampling import seeded
from tests.task_harness import cep_task_of, tree_of

from .cep_harness import random_case as random_cep_case
from .cep_harness import with_conditions
from .pattern_harness import packed, rows_of, task_of
from .test_random import random_case

PARTS = ["A", "B", "C", "A+", "B*", "C?", "(A|B)", "A{2,3}", "(A B)*", "PERMUTE(A, C)", "(A|C+)?", "B{0,2}", "()", "$"]


def all_ways(node: ast.Pattern, row: int, takes, rows_taken: list) -> Iterator[int]:
    """The rows after each way to match a node from `row` on; `rows_taken` gets (place of the variable, row)."""
    if isinstance(node, ast.Variable):
        if takes(node.name, row):
            rows_taken.append((node.place, row))
            yield row + 1
    elif isinstance(node, ast.Empty):
        yield row
    elif isinstance(node, ast.PartitionEnd):
        if takes("$", row):
            yield row
    elif isinstance(node, ast.Alternation):
        for item in node.items:
            yield from all_ways(item, row, takes, rows_taken)
    elif isinstance(node, ast.Permutation):
        first, second = node.items
        for order in ((first, second), (second, first)):
            yield from all_ways(ast.Concatenation(order), row, takes, rows_taken)
    elif isinstance(node, ast.Concatenation):
        ends = [row]
        for item in node.items:
            ends = [end for begin in ends for end in all_ways(item, begin, takes, rows_taken)]
        yield from ends
    else:
        assert isinstance(node, ast.Quantified)
        ends, most = [row], 99 if node.at_most is None else node.at_most
        for count in range(most + 1):
            if count >= node.at_least:
                yield from ends
            if count == most:
                return
            ends = list({end for begin in ends for end in all_ways(node.item, begin, takes, rows_taken)})
            if not ends or (node.at_most is None and count > 9):
                return


@pytest.mark.parametrize("part", range(4))
@pytest.mark.random
def test_the_funnel_is_what_brute_force_counts(part):
    for seed in range(part * 100, part * 100 + 100):
        chance = seeded(seed)
        text = " ".join(chance.choice(PARTS[: 12 if i == 0 else None]) for i in range(chance.randint(1, 3)))
        tree, _ = tree_of(text)
        word = "".join(chance.choice("ABCD") for _ in range(chance.randint(1, 7)))
        task = task_of(text, "ABC", skip=Skip(SKIP_TO_NEXT_ROW), is_within=True)
        limit = np.minimum(np.arange(len(word)) + chance.choice([2, 3, 9]), len(word))
        rows = Rows(bounds=np.array([0, len(word)]), mask=rows_of(task, [word]).mask, limit=limit)
        funnel, steps, found = Funnel(), steps_of(tree, is_contiguous=True), list[Attempt]()
        attempts(task, rows, found.append)
        reached: Counter = Counter()
        for attempt in found:
            funnel.add(attempt, 1, steps)
            start, bound, taken = attempt.start, int(limit[attempt.start]), list[tuple]()

            def takes(name: str, row: int, bound=bound, word=word) -> bool:
                return row == len(word) if name == "$" else row < bound and word[row] == name

            ends = list(all_ways(tree, start, takes, taken))
            assert bool(ends) == (attempt.ending == MATCH), (seed, text, word, start)
            if ends:
                reached.update({steps[step][0] for step in attempt.reached})
                continue
            places = [step.place for step in ast.walk(tree) if isinstance(step, ast.Variable)]
            assert {places[steps[step][0]] for step in attempt.reached} == {place for place, _ in taken}, (text, word)
            reached.update({places.index(place) for place, _ in taken})
            furthest = max((row + 1 - start for _, row in taken), default=0)
            assert len(attempt.furthest) == furthest, (text, word, start)
            assert [row for row, _ in attempt.furthest] == list(range(start, start + furthest))
            assert attempt.stops
            assert {stop.row for stop in attempt.stops} == {start + furthest}
            at_bound = start + furthest >= bound
            assert not at_bound or attempt.ending in ((PARTITION_END, "$") if bound == len(word) else (WITHIN, "$"))
            assert at_bound or attempt.ending in (CONDITION, "$")
        assert Counter({e: count for (e, k), count in funnel.reached.items() if k == 0}) == reached, (text, word)
        blocks = list(strategy.match(task, rows))
        assert funnel.matches == sum(len(block.start) for block in blocks) == funnel.endings[MATCH]
        assert funnel.tried == len(word) == sum(funnel.endings.values())


Place = tuple[int, str]  # the row that comes next, and the operator before it


def skipping_ways(node: ast.Pattern, at: Place, rows: tuple[int, int, str], taken: set[tuple]) -> set[Place]:
    """The places after all ways to match a node where rows may be skipped; `rows`: the start row, the bound and the
    letter of each row; `taken` gets (place of the variable, row)."""
    row, operator = at
    start, stop, word = rows
    if isinstance(node, ast.Variable):
        later = [r for r in range(row, stop) if word[r] == node.name]
        if not operator or row == start:
            later = [r for r in later if r == row]
        found = later[:1] if operator == "->" else later
        taken.update((node.place, r) for r in found)
        return {(r + 1, "") for r in found}
    if isinstance(node, ast.Relaxed):
        ends = skipping_ways(node.item, (row, operator or node.operator), rows, taken)
        return {(after, operator if after == row else o) for after, o in ends}
    if isinstance(node, ast.Alternation):
        return set().union(*(skipping_ways(item, at, rows, taken) for item in node.items))
    if isinstance(node, ast.Concatenation):
        places = {at}
        for item in node.items:
            places = set().union(*(skipping_ways(item, place, rows, taken) for place in places))
        return places
    assert isinstance(node, ast.Quantified)
    places, result, most = {at}, set(), 9 if node.at_most is None else node.at_most
    for count in range(most + 1):
        result |= places if count >= node.at_least else set()
        if count < most:
            places = set().union(*(skipping_ways(node.item, place, rows, taken) for place in places))
    return result


SKIPPING_PARTS = ["A", "B", "C", "A+", "B*", "C?", "(A|B)", "A{2,3}", "(A -> B)*", "(A ->> C)", "(B|-> C)", "B{0,2}"]


@pytest.mark.parametrize("part", range(4))
@pytest.mark.random
def test_the_funnel_is_what_brute_force_counts_where_rows_are_skipped(part):
    losses = 0
    for seed in range(part * 100, part * 100 + 100):
        chance = seeded(seed)
        parts = [chance.choice(SKIPPING_PARTS) for _ in range(chance.randint(2, 3))]
        text = parts[0] + "".join(f" {chance.choice(['->', '->>', ''])} {item}" for item in parts[1:])
        tree, labels = tree_of(text)
        word = "".join(chance.choice("ABCD") for _ in range(chance.randint(1, 8)))
        task = cep_task_of(tree, labels, skip=Skip(SKIP_TO_NEXT_ROW), is_within=True)
        limit = np.minimum(np.arange(len(word)) + chance.choice([2, 4, 9]), len(word))
        truth = np.array([[letter == name for name in labels] for letter in word], bool)
        key, end = np.arange(len(word)), limit
        rows = Rows(bounds=np.array([0, len(word)]), mask=packed(truth), limit=limit, key=key, end=end)
        steps, found = steps_of(tree, is_contiguous=False), list[Attempt]()
        places = {place: element for place, (element, _) in steps.items()}
        attempts(task, rows, found.append)
        funnel, reached = Funnel(), Counter()
        for attempt in found:
            funnel.add(attempt, 1, steps)
            taken: set[tuple] = set()
            ways = skipping_ways(tree, (attempt.start, ""), (attempt.start, int(limit[attempt.start]), word), taken)
            assert bool(ways) == (attempt.ending == MATCH), (seed, text, word, attempt.start)
            mine = {places[place] for place, _ in taken}
            if ways:  # the search ends at the first match
                assert {steps[step][0] for step in attempt.reached} <= mine, (seed, text, word)
                mine = {steps[step][0] for step in attempt.reached}
            reached.update(mine)
            losses += not ways and bool(taken)
        assert Counter({e: count for (e, k), count in funnel.reached.items() if k == 0}) == reached, (seed, text, word)
        assert funnel.tried == len(word) == sum(funnel.endings.values())
        blocks = [block for block in strategy.match(task, rows) if block.timed_out is None]
        assert funnel.matches == sum(len(block.start) for block in blocks) == funnel.endings[MATCH]
    assert losses > 50


@pytest.mark.parametrize("part", range(4))
@pytest.mark.random
def test_searching_each_word_once_counts_what_searching_from_each_row_counts(part):
    compared = 0
    for seed in range(part * 300, part * 300 + 300):
        chance = seeded(seed)
        task, rows = random_case(seed)
        if part % 2:
            task, rows = with_conditions(task, rows, chance)
        spans = list(strategy.match(task, rows))
        if not words.applies(task) or any(block.failure is not None for block in spans):
            continue
        steps = {i: (x.label, 1) for i, x in enumerate(task.program.instructions) if isinstance(x, MatchLabel)}
        in_order, by_word = Funnel(), Funnel()
        recorder = attempts(task, rows, partial(in_order.add, times=1, steps=steps))
        starts = words.start_rows(task, rows)
        counts = words.attempts_by_word(task, rows, starts, partial(by_word.add, steps=steps), 10**6)
        assert starts.matches == in_order.matches, seed
        assert by_word == in_order and counts.tests == recorder.tests, seed
        assert counts.left_out == 0
        compared += 1
    assert compared > 100


def relative(attempt: Attempt) -> tuple:
    """What an attempt tells, with rows counted from its start row."""
    start = attempt.start

    def of_path(path) -> tuple:
        return tuple((row - start, label) for row, label in path)

    stops = frozenset(stop._replace(row=stop.row - start) for stop in attempt.stops)
    reached = frozenset((step, row - start) for step, row in attempt.reached.items())
    return attempt.ending, of_path(attempt.furthest), stops, reached, tuple(map(of_path, attempt.matches))


def random_nulls(task, rows: Rows, chance) -> dict[int, bytes]:
    """For some labels, rows on which their conditions are NULL, among those on which they do not hold."""
    nulls = {}
    for label, bit in enumerate(task.bits):
        if bit is not None and task.conditions[label] is None and chance.random() < 0.5:
            fails = rows.mask[:, bit // 8] >> (bit % 8) & 1 == 0
            nulls[label] = (fails & (np.array([chance.random() for _ in fails]) < 0.5)).tobytes()
    return nulls


@pytest.mark.parametrize("part", range(4))
@pytest.mark.random
def test_searching_each_word_once_counts_the_same_where_rows_are_skipped_or_conditions_are_null(part):
    compared = Counter[str]()
    for seed in range(part * 300, part * 300 + 300):
        chance = seeded(seed)
        task, rows = random_cep_case(seed) if part % 2 else random_case(seed)
        nulls = random_nulls(task, rows, chance)
        spans = list(strategy.match(task, rows))
        if not words.applies(task) or any(block.failure is not None for block in spans):
            continue
        in_order, by_word = Counter[tuple](), Counter[tuple]()

        def count(into: Counter, attempt: Attempt, times: int = 1) -> None:
            into[relative(attempt)] += times

        recorder = attempts(task, rows, partial(count, in_order), nulls=nulls)
        starts = words.start_rows(task, rows)
        counts = words.attempts_by_word(task, rows, starts, partial(count, by_word), 10**6, nulls)
        assert by_word == in_order and counts.tests == recorder.tests, seed
        assert starts.matches == sum(len(b.start) for b in spans if b.timed_out is None), seed
        assert counts.left_out == 0
        stops = [stop for _, _, stops, *_ in in_order for stop in stops]
        compared += Counter(stop.reason for stop in stops)
        compared["cases"] += 1
    assert compared["cases"] > 100 and compared["NULL"] > 50, compared


@pytest.mark.parametrize("part", range(2))
@pytest.mark.random
def test_with_skipped_rows_it_tells_of_each_match_and_each_failed_start(part):
    for seed in range(part * 100, part * 100 + 100):
        task, rows = random_cep_case(seed)
        found: list[Attempt] = []
        attempts(task, rows, found.append)
        blocks = [block for block in strategy.match(task, rows) if block.timed_out is None]
        if any(block.failure is not None for block in blocks):
            continue
        starts = {start for block in blocks for start in block.start.tolist()}
        with_matches = {a.start for a in found if any(a.matches) or (a.matches and not task.skip.mode.lists_all)}
        assert with_matches == starts, seed
        steps = steps_of(task.nfa.pattern, is_contiguous=False)
        for attempt in found:
            assert attempt.matches or attempt.stops, (seed, attempt)
            assert all(len(match) <= len(attempt.furthest) for match in attempt.matches)
            assert set(attempt.reached) <= set(steps) or (0, 0) in attempt.reached


CASES = [  # pattern; rows; furthest and why it stopped, for each start row that is tried
    ("A B+ C", "ABBA", "ABB:B FALSE,C FALSE | :A FALSE | :A FALSE | A:B PARTITION END"),
    ("A B", "ABAC", "AB! | A:B FALSE | :A FALSE"),
    ("A $", "AB", "A:$ | :A FALSE"),
    ("A{3}", "AABAAA", "AA:A FALSE | A:A FALSE | :A FALSE | AAA!"),
]


@pytest.mark.parametrize("pattern, word, expected", CASES)
def test_where_each_attempt_stops(pattern, word, expected):
    task = task_of(pattern, "ABC")
    found: list[Attempt] = []
    attempts(task, rows_of(task, [word]), found.append)
    shown = []
    for attempt in found:
        letters = "".join("ABC"[label] for _, label in attempt.furthest)
        stops = [f"{'ABC'[s.label]} {s.reason}" if s.label is not None else s.reason for s in attempt.stops]
        shown.append(letters + ("!" if attempt.matches else ":" + ",".join(stops)))
    assert " | ".join(shown) == expected


def test_a_search_without_a_recorder_and_one_with_it_find_the_same():
    task = task_of("(A|B)+ C", "ABC", skip=Skip(SKIP_TO_NEXT_ROW))
    truth = np.random.default_rng(3).random((200, 3)) < 0.6
    rows = Rows(bounds=np.array([0, 200]), mask=packed(truth))
    found: list[Attempt] = []
    attempts(task, rows, found.append)
    matches = [(a.start, len(a.matches[0])) for a in found if a.matches]
    expected = [
        (start, length)
        for block in strategy.match(task, rows)
        for start, length in zip(block.start.tolist(), block.length.tolist())
    ]
    assert matches == expected
