"""Rows of the rules table that nobody should have written: each is an error of its own, and the step goes on."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from sqlext.errors import SqlExtError
from sqlext.operators.rules.operator import RulesOperator
from sqlext.operators.rules.plan import CompiledRules, RulePlan
from sqlext.operators.rules.state import RULES
from tests.operators.driven import Driven

from .rule_histories import CLAUSES, OPERATOR, PLAN, SECOND, events_table, results_of, rules_table

TEXT = """
    MATCH_RECOGNIZE ( ) PATTERN DEFINE MEASURES AS A B v s ts > < = + - * / % , . ' '' " ` ; -- /* */ {2,} {- -} ->
    ->> ! !-> | ^ $ WITHIN INTERVAL '1' DAY SELECT FROM DROP TABLE x CAST CASE WHEN END NULL 1e9999 0x1F \\ \0 ü 🙂
    rand() current_timestamp() explode(s) (SELECT 1) :p ? ALL ROWS PER MATCH PARTITION BY ORDER BY AFTER MATCH SKIP TO
"""
WORDS = TEXT.split()
GOOD = CLAUSES[0]


def mutated(chance: random.Random) -> str:
    """A clause with words that were removed, doubled, swapped or put in from elsewhere."""
    words = chance.choice(CLAUSES).split()
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(words))
        words[at : at + chance.randint(0, 2)] = chance.choices(WORDS, k=chance.randint(0, 2))
        words = words or ["x"]
    return chance.choice(("", "x ", "/* ")) * (chance.random() < 0.1) + " ".join(words)


@pytest.mark.slow
def test_any_text_is_a_rule_or_an_error_of_ours():
    chance, compiled = random.Random(1), CompiledRules(PLAN)
    texts = [mutated(chance) for _ in range(600)]
    texts += ["", " ", "(" * 5000, "x" * 200_000, "MATCH_RECOGNIZE (PATTERN (" + "A " * 5000 + ") DEFINE A AS v > 1)"]
    outcomes = [compiled(text) for text in texts]
    assert all(isinstance(x, RulePlan | SqlExtError) for x in outcomes)
    assert [
        t for t, x in zip(texts, outcomes) if isinstance(x, SqlExtError) and x.error_class == "SQLEXT_RULE_FAILED"
    ] == []


def test_bad_rows_are_reported_once_and_the_others_match():
    rows = [
        ("good", 1, GOOD, True, None),
        ("good", 1, "another text", True, None),
        ("good", 1, GOOD, True, None),  # as ALTER … COMMENT writes it
        (None, 1, GOOD, True, None),
        ("numberless", None, GOOD, True, None),
        ("nonsense", 1, "'; DROP TABLE events; --", True, None),
        ("empty", 1, "", True, None),
        ("late", -(2**63), GOOD, None, 2**62),
        ("divides", 2**63 - 1, "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS 1 / v > 0)", True, None),
    ]
    driven = Driven(OPERATOR)
    step = driven.step(0, rules=rules_table(rows))
    assert sorted((name, error) for name, _, error, _ in step.report.errors) == [
        ("", "SQLEXT_RULE_ROW"),
        ("empty", "SQLEXT_RULE_TEXT"),
        ("good", "SQLEXT_RULE_ROW"),
        ("nonsense", "SQLEXT_RULE_TEXT"),
        ("numberless", "SQLEXT_RULE_ROW"),
    ]
    events = events_table([("a", SECOND, 2, "x"), ("a", 2 * SECOND, 0, "x"), ("a", 3 * SECOND, 1, "x")])
    step = driven.step(5 * SECOND, rows=events)
    assert [(name, error) for name, _, error, _ in step.report.errors] == [("divides", "SQLEXT_DIVIDE_BY_ZERO")]
    matches = [row[:3] for _, batch in step.results for row in results_of(batch)]
    assert matches == [("divides", 2**63 - 1, 1), ("divides", 2**63 - 1, 2), ("good", 1, 1)]


def test_rules_beyond_the_bound_are_reported():
    driven = Driven(RulesOperator(plan=replace(PLAN, max_versions=2, max_length=200)))
    rows = [(f"r{i}", 1, GOOD if i else GOOD + " " * 300, True, None) for i in range(4)]
    step = driven.step(0, rules=rules_table(rows))
    assert [(n, e) for n, _, e, _ in step.report.errors] == [
        ("r2", "SQLEXT_TOO_MANY_RULES"), ("r3", "SQLEXT_TOO_MANY_RULES"), ("r0", "SQLEXT_RULE_SIZE")
    ]  # fmt: skip
    assert driven.state.tables[RULES].column("name").to_pylist() == ["r0", "r1"]
