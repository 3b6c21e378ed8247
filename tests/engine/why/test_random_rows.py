"""Random small clauses over random rows: every near miss gives a match, and no partial match comes closer."""

from __future__ import annotations

import random

import numpy as np
import pytest

from sqlext.engine.why.explain_row import PartitionWhy
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.conditions.conditions import satisfier
from sqlext.pattern.program import ast
from sqlext.pattern.strategy import match
from sqlext.pattern.task.task import MatchTask, Rows
from sqlext.pattern.why.row_search import closest
from sqlext.rewriter.match.relaxations import edited
from tests.rewriter import lowered
from tests.sampling import seeded

from .harness import partition_why

COLUMNS = dict(lowered.COLUMNS)
CONDITIONS = (
    "v = 1", "v > 1", "v < 3", "v > PREV(v)", "v < PREV(v)", "v >= FIRST(v)", "v <> 2 AND d > 0.5", "v > 0 AND v < 3",
    "COUNT(*) < 3", "v + 1 > NEXT(v)", "d > PREV(d) AND v >= 1", "SUM(v) < 6",
)  # fmt: skip


def pattern(chance: random.Random, size: int, relaxes: bool) -> str:
    """The text of a pattern over A, B and C."""
    if size <= 1:
        return chance.choice("ABC")
    kind = chance.random()
    if kind < 0.3:
        inner = pattern(chance, size - 1, relaxes)
        return f"({inner}){chance.choice(['+', '*', '?', '{2}', '{2,3}', '+?'])}"
    if kind < 0.4:
        return f"({pattern(chance, size // 2, relaxes)} | {pattern(chance, size // 2, relaxes)})"
    items = [pattern(chance, max(1, size // 2), relaxes) for _ in range(chance.randint(2, 3))]
    gaps = [chance.choice([" -> ", " ->> ", " !-> N -> ", " !N "]) if relaxes and chance.random() < 0.4 else " "
            for _ in items]  # fmt: skip
    return items[0] + "".join(gap + item for gap, item in zip(gaps, items[1:]))


def case(seed: int, relaxes: bool) -> tuple[str, list[tuple]]:
    """The body of a clause, and rows of COLUMNS; `until` numbers the rows."""
    chance = seeded(seed)
    text = pattern(chance, chance.randint(2, 4), relaxes)
    names = [name for name in "ABCN" if name in text]
    within = chance.choice(["", "", "WITHIN 3", "WITHIN INCLUSIVE 2"])
    definitions = [f"{name} AS {chance.choice(CONDITIONS)}" for name in names if chance.random() < 0.9]
    define = f" DEFINE {', '.join(definitions or [f'{names[0]} AS TRUE'])}"
    skip = chance.choice(["", "", "AFTER MATCH SKIP TO NEXT ROW ", "AFTER MATCH NO SKIP "])
    times = np.cumsum([chance.choice([0, 1, 1, 2]) for _ in range(chance.randint(3, 7))]).tolist()
    rows = [(0, t, chance.choice([None, 0, 1, 2, 3]), chance.choice([0.0, 1.0, None]), i) for i, t in enumerate(times)]
    return f"PARTITION BY p ORDER BY ts MEASURES v AS x, d AS y {skip}PATTERN ({text}) {within}{define}", rows


def statement(body: str) -> str:
    return f"SELECT * FROM t MATCH_RECOGNIZE ({body}) m"


def about(body: str, rows: list[tuple]) -> PartitionWhy:
    return partition_why(statement(body), COLUMNS, rows, chosen=range(len(rows)))


def is_matched(text: str, rows: list[tuple], row: int) -> bool:
    """Whether a match of the statement maps the row, by the usual plan and strategy over rows of SQLite."""
    body = text.partition("MATCH_RECOGNIZE (")[2].removesuffix(") m")
    plan, database = lowered.plan_of(body), lowered.database(rows)
    order = ", ".join(f"{text}{direction}" for text, direction in plan.order_by)
    places = [x for (x,) in database.execute(f"SELECT until FROM t ORDER BY p, {order}")]
    place = places.index(row)
    for spans in match(plan.task, lowered.rows_of(plan, database)):
        for i in range(len(spans.start)):
            lo, hi = spans.offset[i], spans.offset[i + 1]
            mapped = range(spans.start[i], spans.start[i] + hi - lo) if spans.row is None else spans.row[lo:hi]
            if place in mapped:
                return True
    return False


@pytest.mark.random(every=6)
@pytest.mark.parametrize("part", range(24))
def test_each_near_miss_gives_a_match_through_the_row(part):
    proposed = 0
    for seed in range(part * 1000, part * 1000 + 10):
        body, rows = case(seed, relaxes=seed % 2 == 1)
        why = about(body, rows)
        for row in why.chosen():
            at = int(why.order[row])
            is_mine = any(found.maps(row) for found in why.matches or ())
            assert is_mine == is_matched(statement(body), rows, at), (body, rows, at)
            assert why.lines(row)
            if is_mine:
                continue
            for relaxation in why.relaxed(closest(why.task, why.rows, row, why.budget), row):
                proposed += 1
                text = edited(statement(body), relaxation.edits)
                assert relaxation.sql in " ".join(text.split()), text
                assert is_matched(text, rows, at), (body, rows, at, relaxation)
    assert proposed


def words(node: ast.Pattern, longest: int) -> set[tuple[str, ...]]:
    """The sequences of variables that a contiguous pattern maps, up to a length."""
    if isinstance(node, ast.Variable):
        return {(node.name,)}
    if isinstance(node, ast.Alternation):
        return set().union(*(words(item, longest) for item in node.items))
    if isinstance(node, ast.Concatenation):
        result: set[tuple[str, ...]] = {()}
        for item in node.items:
            result = {x + y for x in result for y in words(item, longest) if len(x + y) <= longest}
        return result
    assert isinstance(node, ast.Quantified)
    most = longest if node.at_most is None else node.at_most
    rounds: set[tuple[str, ...]] = {()}
    result = set(rounds) if node.at_least == 0 else set()
    for number in range(1, most + 1):
        rounds = {x + y for x in rounds for y in words(node.item, longest) if len(x + y) <= longest}
        result |= rounds if number >= node.at_least else set()
    return result


def least_missing(why: PartitionWhy, rows: Rows, row: int) -> int:
    """How many rows a match at least needs after a path that maps the row or ends before it, over all paths."""
    assert isinstance(why.task, MatchTask)
    satisfies, labels = satisfier(why.task, rows), why.task.program.labels
    n, best = len(why.order), 100
    every = words(why.plan.clause.pattern, n + 6)
    for start in range(row + 1):
        limit = n if rows.limit is None else int(rows.limit[start])
        for word in every:
            taken: list[int] = []
            for name in [*word, ""]:
                at = start + len(taken)
                if (name and at == row) or start <= row < at:
                    best = min(best, len(word) - len(taken))
                label = labels.index(name) if name else -1
                if label < 0 or at >= min(n, limit) or not satisfies(start, 1, taken, label):
                    break
                taken.append(label)
    return best


@pytest.mark.random(every=3)
@pytest.mark.parametrize("part", range(3))
def test_no_partial_match_through_the_row_lacks_fewer_rows(part):
    compared = 0
    for seed in range(part * 1000, part * 1000 + 60):
        body, rows = case(seed, relaxes=False)
        why = about(body, rows)
        if isinstance(why.task, CepTask):
            continue
        for row in why.chosen():
            if not any(found.maps(row) for found in why.matches or ()):
                near = closest(why.task, why.rows, row, why.budget)
                assert near.is_complete
                assert near.missing == least_missing(why, why.rows, row), (body, rows, row, near)
                compared += 1
    assert compared > 50
