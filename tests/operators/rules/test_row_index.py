"""The index of rows changes nothing but the time: a rule whose first condition it cannot read has the same results."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from sqlext.expressions.column_values import ColumnValues
from sqlext.operators.rules.plan import RulePlan
from sqlext.operators.rules.row_index import RowIndex
from sqlext.operators.rules.step import RulesReport
from sqlext.operators.stateful.operator import Step
from tests.operators.driven import Driven
from tests.sampling import SAMPLE, seeded

from .rule_histories import (
    COMPILED,
    EVENTS,
    OPERATOR,
    SECOND,
    MicroBatch,
    events_table,
    random_history,
    results_of,
    rules_table,
)

CASES, PARTS = 240, 12
FIRST = 0 if SAMPLE == "all" else CASES * int(SAMPLE)  # other cases each day
TESTS = ("s = 'x'", "s = 'y'", "s = 'nobody'", "s IN ('x', 'none')", "v > 1", "2 <= v", "v = 3", "v < 0", "v > 1.5",
         "v BETWEEN 1 AND 2", "v BETWEEN 9 AND 20", "v IN (1, 7)", "ts > TIMESTAMP '1970-01-01 00:00:09Z'",
         "v <> 2", "s IS NOT NULL", "v IS NULL", "NOT v > 1", "s = 'y' OR v > 2",
         "CAST(v AS DOUBLE) >= 'NaN'")  # fmt: skip
FALLIBLE = ("100 / v > 40", "CAST(s AS INT) > 1", "1000000000 * v > 1", "100 / v > 40 OR v > 2", "lower(s) = 'x'")
PATTERNS = ("(A B)", "(A -> B) WITHIN INTERVAL '4' SECONDS", "((A | B) C)", "(A{2,} B)", "(A)", "(A ->> B)",
            "(A !-> B) WITHIN INTERVAL '3' SECONDS", "(A* B)", "(^ A B)")  # fmt: skip


def random_parts(chance: random.Random) -> list[str]:
    parts = [chance.choice(TESTS) for _ in range(chance.choice((1, 1, 2, 3)))]
    if chance.random() < 0.35:
        parts.insert(chance.randint(0, len(parts)), chance.choice(FALLIBLE))
    return parts


def joined(parts: list[str]) -> str:
    return " AND ".join(f"({part})" for part in parts)


def hidden(parts: list[str]) -> str:
    """The same condition, in which the index sees no tests. Rules share the same parts of conditions as before."""
    return joined([f"NOT (NOT ({part}))" if part in TESTS else part for part in parts])


def clause(pattern: str, conditions: list[str]) -> str:
    variables = [name for name in "ABC" if name in pattern.partition("WITHIN")[0]]
    define = ", ".join(f"{name} AS {condition}" for name, condition in zip(variables, conditions))
    return f"MATCH_RECOGNIZE (MEASURES A.v AS v, COUNT(*) AS n PATTERN {pattern} DEFINE {define})"


def pair_of_histories(chance: random.Random) -> tuple[list[MicroBatch], list[MicroBatch]]:
    """A random history with random rules, and the same one with conditions that have no tests."""
    history = random_history(chance)
    conditions = [random_parts(chance) for _ in range(4)]  # rules share conditions, and so their failures
    histories: tuple[list[MicroBatch], list[MicroBatch]] = ([], [])
    for batch in history:
        made: list[list] = [[], []]
        for name, version, text, is_enabled, effective in batch.rules:
            pattern, own = chance.choice(PATTERNS), chance.choices(conditions, k=3)
            for rules, form in zip(made, (joined, hidden)):
                written = None if text is None else clause(pattern, [form(condition) for condition in own])
                rules.append((name, version, written, is_enabled, effective))
        for rules, whole in zip(made, histories):
            whole.append(MicroBatch(rules, batch.events, batch.watermark))
    return histories


def shown(step: Step) -> tuple:
    """Everything that a step returns but the texts of the rules."""
    assert isinstance(step.report, RulesReport)
    reported = step.report.errors
    results = sorted(repr((t, r)) for times, rows in step.results for t, r in zip(times.tolist(), results_of(rows)))
    changes = {name: (change.keeps.tolist(), change.added.num_rows) for name, change in step.changes.items()}
    return results, sorted(reported), sorted(map(repr, step.failures.to_pylist())), changes


@pytest.mark.slow
@pytest.mark.random(every=3)
@pytest.mark.parametrize("part", range(PARTS))
def test_rules_with_and_without_tests_in_their_conditions_agree(part):
    emitted = failures = 0
    for seed in range(FIRST + part, FIRST + CASES, PARTS):
        tested, plain = pair_of_histories(seeded(seed))
        one, other = Driven(OPERATOR), Driven(OPERATOR)
        for batch, same in zip(tested, plain):
            steps = [
                driven.step(b.watermark, rows=events_table(b.events), rules=rules_table(b.rules))
                for driven, b in ((one, batch), (other, same))
            ]
            assert shown(steps[0]) == shown(steps[1]), f"case {seed}"
            emitted, failures = emitted + len(steps[0].results), failures + steps[0].failures.num_rows
    assert emitted
    assert failures


@pytest.mark.random
@pytest.mark.parametrize("seed", range(4))
def test_candidates_include_all_rows_on_which_a_condition_is_true(seed):
    chance = seeded(1000 * FIRST + seed)
    events = [
        (chance.choice("ab"), SECOND * chance.randint(1, 20), chance.choice((None, *range(5))),
         chance.choice(("x", "y", "none", "7", None)))
        for _ in range(200)
    ]  # fmt: skip
    table: pa.Table = events_table(events)
    columns = {field.name: table.column(field.name).combine_chunks() for field in EVENTS}
    rows = pa.array(sorted(chance.sample(range(200), 40))).to_numpy()
    index = RowIndex(values=ColumnValues(columns=columns, rows=200), rows=rows)
    for text in [*TESTS, *(joined(random_parts(chance)) for _ in range(60))]:
        opening, whole = index_opening(text), ColumnValues(columns=columns, rows=200)
        truth = rows[whole.truth(opening.condition)[rows]].tolist()
        failed = whole.vector(opening.condition).failed
        candidates = index.candidates(opening)
        assert candidates is None or set(truth) <= set(candidates.tolist()), text
        assert candidates is None or candidates.tolist() == sorted(candidates.tolist())
        assert not index.is_out(opening) or not (truth or (failed is not None and failed[rows].any())), text
        assert opening.fallible or failed is None, text
        if candidates is not None:
            assert candidates[index.values.truth_at(opening.condition, candidates)].tolist() == truth, text


def index_opening(text: str):
    plan = COMPILED(f"MATCH_RECOGNIZE (MEASURES A.v AS v PATTERN (A) DEFINE A AS {text})")
    assert isinstance(plan, RulePlan), plan
    assert plan.openings is not None
    return plan.openings[0]
