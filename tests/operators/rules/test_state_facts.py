"""The rows that MATCH_RULES announces for a key: each comes at the watermark that is named. The state in words."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

from sqlext.engine.rules.kept_rules import failed_in_rules
from sqlext.operators.rules.kept_rules import kept_rules
from sqlext.operators.rules.state_facts import rules_facts
from sqlext.operators.rules.step import kept_rows
from sqlext.operators.stateful.key_state import LAST_WATERMARK, coming, distinct_keys, of_key
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.rules.rule_text import read_rule
from tests.operators.driven import Driven, row_texts
from tests.sampling import seeded

from .rule_histories import (
    CLAUSES,
    COMPILED,
    OPERATOR,
    PLAN,
    SECOND,
    MicroBatch,
    events_table,
    random_history,
    results_of,
    rules_table,
)

CASES, PARTS = 360, 48
# Rules with matches that the facts about rows do not name: a match that waits for NEXT has another time, and of several
# matches that map a row only the first one is named.
APART = re.compile(r"NEXT\(|NO SKIP")
FAILED = failed_in_rules(PLAN)
TEXTS = row_texts({name: name for name in PLAN.schema.names})


def parsed(clause: str) -> MatchClause:
    return read_rule(clause)


def emitted(step) -> Counter:
    return Counter((time, row) for times, batch in step.results for time, row in zip(times.tolist(), results_of(batch)))


def matches_in_facts(state) -> set[tuple]:
    """The matches of which the facts say that they map a row: rule, version, number, time. The result row of a match
    whose measures read later rows has another time, so such rules are left out."""
    rules = kept_rules(state, kept_rows(state, PLAN), COMPILED, lambda clause: parsed(clause).pattern)
    found = set()
    for rule in rules:
        if "NEXT(" in (rule.version.version.clause or ""):
            continue
        for mapped in rule.search.later if rule.search is not None else ():
            if mapped is not None and mapped.time > state.watermark:
                found.add((rule.version.version.name, rule.version.version.version, mapped.number, mapped.time))
    return found


def waiting_history(chance: random.Random) -> list[MicroBatch]:
    """Rules, then events that the watermark has passed in part."""
    rules = [(name, 1, chance.choice(CLAUSES), True, chance.choice((None, None, 6 * SECOND))) for name in "pqr"]
    times = (SECOND * chance.randint(2, 14) for _ in range(chance.randint(4, 16)))
    events = [(chance.choice("ab"), time, chance.randint(0, 3), chance.choice("xy")) for time in times]
    return [MicroBatch(rules, [], SECOND), MicroBatch([], events, SECOND * chance.randint(2, 13))]


@pytest.mark.random(every=6)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_row_that_is_not_yet_there_comes_exactly_at_the_watermark_that_is_named(part):
    announced = 0
    for seed in range(part, CASES, PARTS):
        chance = seeded(seed)
        driven, history = Driven(OPERATOR), waiting_history(chance)
        if chance.random() < 0.3:
            history = random_history(chance)
            history = history[: len(history) // 2 + 1]
        for batch in history:
            driven.step(batch.watermark, rows=events_table(batch.events), rules=rules_table(batch.rules))
        state, expected = driven.state, Counter()
        apart = {rule[:2] for batch in history for rule in batch.rules if APART.search(rule[2] or "")}
        keys = distinct_keys([state], ["k"])
        for i in range(keys.num_rows):
            of_one = of_key(state, ["k"], keys.slice(i, 1))
            own = Counter((row.time, results_of(row.rows.slice(row.row, 1))[0]) for row in coming(OPERATOR, of_one))
            assert all(time < LAST_WATERMARK for time, _ in own)
            listed = {(*row[:3], time) for time, row in own}
            mapped = matches_in_facts(of_one)
            unlisted = {match for match in listed - mapped if match[2] is not None and match[:2] not in apart}
            assert mapped <= listed and not unlisted
            facts = list(rules_facts(OPERATOR, of_one, lambda c: parsed(c).pattern, FAILED, TEXTS, str))
            assert facts or not own  # a position may be left of a version that has ended
            expected += own
        announced += expected.total()
        for time in sorted({time for time, _ in expected}):
            assert time > state.watermark
            assert not emitted(driven.step(time - 1, rows=events_table([])))
            due = Counter({row: n for row, n in expected.items() if row[0] == time})
            assert emitted(driven.step(time, rows=events_table([]))) == due
        assert not emitted(driven.step(2**62, rows=events_table([])))
    assert announced


PAIR = "MATCH_RECOGNIZE (MEASURES B.v AS v PATTERN (A B) WITHIN INTERVAL 9 SECONDS DEFINE A AS v = 1, B AS v > 5)"
ALONE = "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS v = 7)"


def test_the_state_of_a_key_in_words():
    driven = Driven(OPERATOR)
    rules = [("pair", 1, PAIR, True, None), ("alone", 1, ALONE, True, None), ("broken", 1, "oops", True, None)]
    driven.step(SECOND, rules=rules_table(rules))
    events = [("a", 2, 1, "x"), ("a", 4, 1, "y"), ("a", 9, 6, "z"), ("b", 3, 1, "x")]
    driven.step(5 * SECOND, rows=events_table([(k, t * SECOND, v, s) for k, t, v, s in events]))
    state = of_key(driven.state, ["k"], distinct_keys([driven.state], ["k"]).slice(0, 1))
    facts = rules_facts(OPERATOR, state, lambda c: parsed(c).pattern, FAILED, TEXTS, lambda us: f"{us // SECOND}")
    day = "1970-01-01 00:00:0"
    assert [f"{fact.kind} {fact.time and fact.time // SECOND}: {fact.text}".replace(day, "") for fact in facts] == [
        'row 4: {"k":"a","ts":"4+00:00","v":1}; pair, version 1: it is A of match 1 at 9, if no further row comes',
        'row 9: {"k":"a","ts":"9+00:00","v":6,"s":"z"}; the watermark has not passed it; pair, version 1: it is '
        "B of match 1 at 9, if no further row comes; AFTER MATCH SKIP lets no match begin here",
        "rule 1: pair, version 1: it acts on rows after 1",
        "search position 4: pair, version 1: the search waits at this row: earlier start rows are decided; the next "
        "match is number 1",
        "partial match 4: pair, version 1: A (4) waits for B; WITHIN ends it when the watermark reaches 13",
        "rule None: no match can begin at a kept row: alone, version 1",
        "rule None: broken, version 1, does nothing: this is no rule",
    ]


def test_a_reason_has_the_values_that_the_state_keeps():
    rule = "MATCH_RECOGNIZE (MEASURES B.v AS v PATTERN (A B C) DEFINE A AS v = 1, B AS v > A.v AND v < 5, C AS s = 'z')"
    driven = Driven(OPERATOR)
    driven.step(SECOND, rules=rules_table([("rising", 1, rule, True, None)]))
    events = [("a", 2, 1, "x"), ("a", 4, 9, "y"), ("a", 6, 1, "y"), ("a", 8, 3, "y"), ("a", 9, 3, "y")]
    driven.step(3 * SECOND, rows=events_table([(k, t * SECOND, v, s) for k, t, v, s in events]))
    state = of_key(driven.state, ["k"], distinct_keys([driven.state], ["k"]))
    facts = rules_facts(OPERATOR, state, lambda c: parsed(c).pattern, FAILED, TEXTS, lambda us: f"{us // SECOND}")
    reasons = [fact.text.partition("the closest is ")[2] for fact in facts if fact.kind == "no match"]
    assert list(filter(None, reasons)) == [
        "A (2); the row of 4 cannot be B: v < 5 is false (v = 9)",
        "A (6) B (8); the row of 9 cannot be C: s = 'z' is not true",
    ]
