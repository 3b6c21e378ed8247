"""Rows on which functions fail: the alerts of other keys and rules are those without them, and they are counted."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sqlext.operators.rules.plan import RulePlan
from sqlext.operators.rules.rule_run import Before, RuleRun
from sqlext.operators.rules.rule_versions import TakenVersion, acting
from sqlext.operators.rules.state import POSITION, row_schema, with_ids
from sqlext.operators.rules.step import shared_rows
from sqlext.operators.stateful.operator import Step
from sqlext.pattern.task.event_time import BEGINNING
from tests.expressions.extremes import DATES, DIGITS, JSON, LONG, TEXTS
from tests.operators.driven import Driven
from tests.sampling import SAMPLE

from .rule_histories import CLAUSES, COMPILED, OPERATOR, PLAN, SECOND, events_table, results_of, rules_table

SEED = 0 if SAMPLE == "all" else int(SAMPLE)
HOSTILE = [line for line in Path(__file__).with_name("hostile.txt").read_text().splitlines() if line and line[0] != "#"]
USUAL = ["1", "2", "12", '{"n": 5}', "yyyy", "x", "y", None]
UNFORESEEN = ("SQLEXT_RULE_FAILED", "SQLEXT_FUNCTION_FAILED", "SQLEXT_VALUE_OF_TYPE")
Events = list[tuple]


def steps(rules: list[tuple], portions: list[tuple[Events, int]]) -> list[Step]:
    """The steps of a stream that takes up the rules first, with its state stored in between."""
    driven = Driven(OPERATOR)
    driven.step(0, rules=rules_table(rules))
    for events, watermark in portions:
        driven.step(SECOND * watermark, rows=events_table(events))
    return driven.steps


def alerts(taken: list[Step]) -> list[tuple]:
    return [row for step in taken for _, batch in step.results for row in results_of(batch)]


def portions_of(chance: random.Random, *, is_hostile: bool) -> list[tuple[Events, int]]:
    """Three micro-batches of events of the keys a, b and c, and hostile ones of the key z."""
    texts = [*DIGITS, *DATES, *JSON, *TEXTS]
    result = []
    for at in (1, 11, 21):
        events = [(k, SECOND * (at + i), chance.randint(0, 3), chance.choice(USUAL)) for i in range(9) for k in "abc"]
        times = [*(SECOND * chance.randint(at, at + 8) for _ in range(25)), LONG, LONG - 5 * SECOND]
        z = [("z", time, chance.choice((2**31 - 1, -(2**31), 0, 1, None)), chance.choice(texts)) for time in times]
        result.append((events + z if is_hostile else events, at + 9))
    return result


@pytest.mark.slow
@pytest.mark.parametrize("seed", [SEED, SEED + 100])
def test_hostile_rows_of_one_key_change_nothing_for_the_others(seed):
    clauses = [*CLAUSES, *HOSTILE]
    rules = [(f"r{i}", 1, clause, True, None) for i, clause in enumerate(clauses)]
    usual = steps(rules, portions_of(random.Random(seed), is_hostile=False))
    hostile = steps(rules, portions_of(random.Random(seed), is_hostile=True))
    expected = alerts(usual)
    assert [row for row in alerts(hostile) if row[3] != "z"] == expected
    unforeseen = [error for step in hostile for error in step.report.errors if error[2] in UNFORESEEN]
    assert unforeseen == []


@pytest.mark.slow
def test_each_clause_that_hostile_rows_try_finds_something_in_usual_rows():
    clauses = {f"r{i}": clause for i, clause in enumerate(HOSTILE)}
    rules = [(name, 1, clause, True, None) for name, clause in clauses.items()]
    compiled = {name for name, clause in clauses.items() if isinstance(COMPILED(clause), RulePlan)}
    portions = (portions_of(random.Random(seed), is_hostile=False) for seed in range(5))
    assert {row[0] for part in portions for row in alerts(steps(rules, part))} == compiled


class FailsInZ(RuleRun):
    """A version whose search fails, as none does that is known, where the key z is searched."""

    def _decided_in(self, partitions, first, new, watermark, rule):
        if "z" in self.shared.key_values["k"].take(pa.array(partitions)).to_pylist():
            raise ZeroDivisionError("unforeseen")
        return super()._decided_in(partitions, first, new, watermark, rule)


def test_what_nobody_foresaw_in_one_key_concerns_this_key_alone():
    clause = "MATCH_RECOGNIZE (MEASURES A.v AS v PATTERN (A) DEFINE A AS v > 1)"
    version = TakenVersion(name="r", version=1, clause=clause, is_enabled=True, effective_from=None, taken_up=0)
    events = events_table([(k, SECOND, 2, "x") for k in "abcdeyz"])
    none = np.zeros(0, np.int64)
    before = Before(columns=dict.fromkeys(POSITION, none), index=none, partition=none, place=none)
    shared = shared_rows(with_ids(events, row_schema(PLAN).empty_table()), PLAN)
    run = FailsInZ(version=acting([version])[0], shared=shared, before=before, after=BEGINNING, plan=PLAN)
    outcome = run.outcome(5 * SECOND, COMPILED)
    assert sorted(row[3] for _, batch in outcome.results for row in results_of(batch)) == list("abcdey")
    assert outcome.errors == [("r", 1, "SQLEXT_RULE_FAILED", "ZeroDivisionError: unforeseen")]


PAIR = [("a", SECOND, 1, "x"), ("a", 2 * SECOND, 0, "x"), ("a", 3 * SECOND, 2, "y"), ("b", SECOND, 5, "x"),
        ("b", 2 * SECOND, 5, "y")]  # fmt: skip
DIVIDED = "DIVIDE_BY_ZERO: division by zero"
AGGREGATE = "ARGUMENT_FAILED: {} is over a row on which its argument could not be computed"
IN_DEFINE = "ARGUMENT_FAILED: an aggregate is over a row that could not be computed in the condition that DEFINE gives "
IN_DEFINE += "for B"


@pytest.mark.parametrize(
    ("measures", "define", "shown", "failures"),
    [
        ("SUM(100 / v) AS m", "s = 'y'", [None, "40.0"], [AGGREGATE.format("sum"), DIVIDED]),
        ("COUNT(100 / v) AS m", "s = 'y'", [None, "2"], [AGGREGATE.format("count"), DIVIDED]),
        ("array_agg(100 / v) AS m", "s = 'y'", [None, "[20.0,20.0]"], [AGGREGATE.format("array_agg"), DIVIDED]),
        ("SUM(DISTINCT 100 / v) AS m", "s = 'y'", [None, "20.0"], [AGGREGATE.format("sum"), DIVIDED]),
        ("max_by(v, 100 / v) AS m", "s = 'y'", [None, "5"], [AGGREGATE.format("max_by"), DIVIDED]),
        ("SUM(100 / v) FILTER (WHERE v <> 0) AS m", "s = 'y'", ["150.0", "40.0"], []),
        ("100 / (LAST(A.v)) AS m", "s = 'y'", [None, "20.0"], [DIVIDED]),
        ("B.v AS m", "s = 'y' AND SUM(100 / A.v) > 0", ["5"], [DIVIDED, IN_DEFINE, IN_DEFINE]),
        ("B.v AS m", "s = 'y' AND median(100 / A.v) > 0", ["5"], [DIVIDED, IN_DEFINE, IN_DEFINE]),
        ("SUM(try_divide(100, v)) AS m", "s = 'y'", ["150.0", "40.0"], []),
    ],
)  # fmt: skip
def test_an_aggregate_over_a_failed_row_is_null_and_counted(measures, define, shown, failures):
    clause = f"MATCH_RECOGNIZE (MEASURES {measures} PATTERN (A+ B) DEFINE A AS s = 'x', B AS {define})"
    taken = steps([("r", 1, clause, True, None)], [(PAIR, 5)])
    assert [dict(row[-1])["m"] for row in alerts(taken)] == shown
    errors = [text for step in taken for text in step.failures.column("error").to_pylist()]
    assert sorted(text.removeprefix("r 1: SQLEXT_") for text in errors) == sorted(failures)
    reported = {error[2].removeprefix("SQLEXT_") for step in taken for error in step.report.errors}
    assert reported == {text.partition(":")[0] for text in failures}
