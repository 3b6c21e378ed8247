"""Flink's broadcast state pattern (rows R1 to R7 of the list of behaviours) in the terms of MATCH_RULES."""

from __future__ import annotations

from dataclasses import replace

from sqlext.operators.rules.operator import RulesOperator
from sqlext.operators.rules.state import RULES, read_versions
from tests.operators.driven import Driven

from .rule_histories import PLAN, SECOND, events_table, results_of, rules_table

ONE = "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS v = 1)"
PAIR = "MATCH_RECOGNIZE (PATTERN (A B) DEFINE A AS v = 1, B AS v = 2)"
EVERY_FIRST = "MATCH_RECOGNIZE (PATTERN (A -> B) DEFINE A AS s = 'x', B AS s = 'y')"


def run(*portions, plan=PLAN):
    """(rule, version, key, time of the first row) of each match, and the last state. A portion: rules, events as (key,
    time, v, s), watermark; all times in seconds."""
    driven = Driven(RulesOperator(plan=plan))
    for rules, events, watermark in portions:
        arriving = events_table([(k, SECOND * t, v, s) for k, t, v, s in events])
        versions = rules_table([(n, v, c, c is not None, f and SECOND * f) for n, v, c, f in rules])
        driven.step(SECOND * watermark, rows=arriving, rules=versions)
    rows = [row for _, batch in driven.results for row in results_of(batch)]
    return sorted((row[0], row[1], *row[3 : len(row) - 3], row[-3] // SECOND) for row in rows), driven.state


def test_r1_events_need_no_key():
    events = [("a", 1, 1, "x"), ("b", 2, 2, "x")]
    assert run(([("r", 1, PAIR, None)], events, 5), ([], [], 9))[0] == []
    assert run(([("r", 1, PAIR, None)], [], 0), ([], events, 9), plan=replace(PLAN, keys=()))[0] == [("r", 1, 1)]


def test_r2_each_bucket_has_the_same_rules_whatever_its_events_are():
    rules = [("r", 2, ONE, None), ("q", 1, PAIR, 7), ("r", 1, PAIR, None)]
    states = [run((rules, events, 5))[1] for events in ([], [("a", 6, 1, "x")])]
    assert read_versions(states[0].tables[RULES]) == read_versions(states[1].tables[RULES])


def test_r3_a_removed_rule_loses_its_partial_matches_in_every_key():
    begun = [("a", 1, 1, "x"), ("b", 1, 1, "x")]
    ends = [("a", 3, 2, "x"), ("b", 4, 2, "x")]
    assert len(run(([("r", 1, PAIR, None)], [], 0), ([], begun, 2), ([], ends, 9))[0]) == 2
    removed = run(([("r", 1, PAIR, None)], [], 0), ([("r", 2, None, None)], begun, 2), ([], ends, 9))
    assert removed[0] == [] and removed[1].keys.num_rows == removed[1].rows.num_rows == 0


def test_r4_a_rule_is_taken_up_at_the_watermark_of_its_micro_batch():
    _, state = run(([], [("a", 1, 1, "x")], 3), ([("r", 1, ONE, None)], [], 5))
    assert [v.taken_up for v in read_versions(state.tables[RULES])] == [5 * SECOND]


def test_r5_a_rule_does_not_apply_to_earlier_events():
    events = [("a", 4, 1, "x"), ("a", 5, 1, "x"), ("a", 6, 1, "x")]
    assert run(([("r", 1, ONE, None)], events, 5), ([], [], 9))[0] == [("r", 1, "a", 6)]
    assert run(([("r", 1, ONE, 5)], [], 0), ([], events, 9))[0] == [("r", 1, "a", 6)]


def test_r6_two_shapes_in_order_for_each_rule_and_key():
    rules = [("xy", 1, EVERY_FIRST, None), ("yx", 1, EVERY_FIRST.replace("'x'", "'z'"), None)]
    events = [("red", 1, 0, "x"), ("blue", 2, 0, "y"), ("red", 3, 0, "z"), ("red", 4, 0, "y"), ("red", 5, 0, "y")]
    assert run((rules, [], 0), ([], events, 9))[0] == [("xy", 1, "red", 1), ("yx", 1, "red", 3)]


def test_r7_a_name_has_one_rule_which_versions_replace_and_remove():
    events = [("a", t, 1, "x") for t in (1, 3, 5, 7)]
    portions = [
        ([("r", 1, ONE, None)], [], 0),
        ([("r", 2, ONE, 2)], [], 0),
        ([("r", 3, None, 4)], [], 0),
        ([("r", 4, ONE, 6)], events, 0),
        ([], [], 9),
    ]
    assert run(*portions)[0] == [("r", 1, "a", 1), ("r", 2, "a", 3), ("r", 4, "a", 7)]
