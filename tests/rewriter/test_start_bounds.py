"""Conjuncts that bound a match as WITHIN does: which ones become bounds, and that the result stays the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from sqlext.pattern.strategy import match
from sqlext.pattern.task.task import MatchTask, Rows
from sqlext.rewriter.lowering.match_plan import MatchPlan

from .cases import blocks
from .lowered import database, plan_of, rows_of

CASES = [
    (title if title.startswith("ORDER") else "ORDER BY ts", *(field.strip() for field in line.split(";")))
    for title, block in blocks("start_bounds.txt")
    for line in block.splitlines()
    if line and not line.startswith("#")
]


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_a_conjunct_is_a_bound_or_stays_a_condition(case):
    order, pattern, define, bounds, left = case
    subset = "SUBSET U = (A, B)" if "U." in define else ""
    plan = plan_of(f"{order} PATTERN ({pattern}) {subset} DEFINE {define}")
    assert ", ".join(shown_bounds(plan)) == bounds
    assert ", ".join(shown_labels(plan.task)) == left


def shown_bounds(plan: MatchPlan) -> list[str]:
    texts = {c.name: str(c.text).removeprefix("CAST(").rpartition(" AS ")[0] for c in plan.columns}
    return [
        f"{texts[b.key].strip('`')} {'<=' if b.is_inclusive else '<'} {texts[b.end]}{' +' * b.admits_start}"
        for b in plan.bounds
    ]


def shown_labels(task: MatchTask) -> list[str]:
    parts = [
        (name, [f"bit {bit}"] * (bit is not None) + ["condition"] * (condition is not None))
        for name, bit, condition in zip(task.program.labels, task.bits, task.conditions)
    ]
    return [f"{name}: {' '.join(tests)}" for name, tests in parts if tests]


KEYS = (None, 0, 1, 2, 4)
VALUES = ((0, 1, 0, 1), (1, 1, 0, 0), (1, 0, 1, 1))
WORDS = [(keys, values) for n in (1, 2, 3, 4) for keys in combinations_with_replacement(KEYS, n) for values in VALUES]
TABLE = [
    (p, key, v, None if key is None else key / 2, (3, None, 1)[(p + i) % 3])
    for p, (keys, values) in enumerate(WORDS)
    for i, (key, v) in enumerate(zip(keys, values))
]
PATTERNS = (
    "A B",
    "A B+",
    "A B*",
    "A B* C",
    "A (B | C)+?",
    "A+ B",
    "(A | B)+",
    "A? B+ C?",
    "A B | C B",
    "A{1,2} C",
    "(A B?)+",
)
BOUNDS = (
    "ts <= FIRST(ts) + 2",
    "ts < FIRST(ts) + 2",
    "ts <= A.ts + 1",
    "ts <= FIRST(A.ts) + 1",
    "ts - FIRST(A.ts) < 2",
    "ts BETWEEN FIRST(A.ts) AND FIRST(A.ts) + 2",
    "ts <= FIRST(A.until)",
    "ts <= FIRST(until)",
)


@pytest.mark.random(every=3)
@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("order", ["ts", "ts NULLS LAST", "ts) WITHIN 3", "ts) WITHIN INCLUSIVE 1"])
def test_a_clause_means_the_same_with_the_bound_and_with_the_condition(bound, order):
    """All partitions of up to four rows, every choice of the variables that have the conjunct."""
    connection = database(TABLE)
    order, _, within = order.partition(")")
    number_bounded = 0
    for pattern, has_bound in choices():
        define = {"A": "v >= 0", "B": "v = 1", "C": "v = 0"}
        conditions = [f"{x} AS {define[x]}{f' AND {bound}' * has}" for x, has in has_bound.items()]
        body = f"ORDER BY {order} PATTERN ({pattern}) {within} DEFINE {', '.join(conditions)}"
        bounded = plan_of(body)
        if not any(b.written for b in bounded.bounds):
            continue
        number_bounded += 1
        unbounded = plan_of(body, takes_start_bounds=False)
        expected = matches(unbounded.task, rows_of(unbounded, connection), "reference")
        rows = rows_of(bounded, connection)
        for strategy in ("auto", "threads", "reference"):
            assert matches(bounded.task, rows, strategy) == expected, (body, strategy)
        assert matches(unbounded.task, rows_of(unbounded, connection), "threads") == expected, body
    assert number_bounded > 5


def choices() -> Iterator[tuple[str, dict[str, bool]]]:
    """Every pattern with every choice of the variables that have the conjunct."""
    for pattern in PATTERNS:
        variables = [x for x in "ABC" if x in pattern]
        for has_bound in product((False, True), repeat=len(variables)):
            yield pattern, dict(zip(variables, has_bound))


def matches(task: MatchTask, rows: Rows, strategy: str) -> list:
    blocks = list(match(replace(task, strategy=strategy), rows))
    return [np.concatenate([getattr(b, name) for b in blocks]).tolist() for name in ("start", "length", "label")]
