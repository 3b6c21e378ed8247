"""Versions that are searched at once decide exactly what each of them decides alone.

The stream that searches them alone differs in nothing but the shapes of its rules, of which no two are equal there.
"""

from __future__ import annotations

import gc
import random
import weakref
from collections import Counter
from dataclasses import replace
from itertools import count

import numpy as np
import pyarrow as pa
import pytest

from sqlext.operators.rules.joint_runs import joint_outcomes, outcomes
from sqlext.operators.rules.operator import RulesOperator
from sqlext.operators.rules.plan import CompiledRules, RulePlan, RulesPlan
from sqlext.operators.rules.rule_run import Before, RuleRun
from sqlext.operators.rules.rule_versions import TakenVersion, acting
from sqlext.operators.rules.state import POSITION, RULES, read_versions, row_schema, with_ids
from sqlext.operators.rules.step import shared_rows
from sqlext.pattern.task.event_time import BEGINNING
from sqlext.rewriter.rules.plan_rule import plan_rule
from tests.operators.driven import Driven
from tests.sampling import SAMPLE, seeded

from .rule_histories import CLAUSES, COMPILED, PLAN, SECOND, MicroBatch, events_table, results_of, rules_table

HISTORIES, PARTS = 60, 12
FIRST = 0 if SAMPLE == "all" else HISTORIES * int(SAMPLE)  # other histories each day
NAMES = "abcdefghijklmn"
TEMPLATES = (
    "MEASURES LAST(B.v) AS b PATTERN (A B) DEFINE A AS v > {0}, B AS v < {1}",
    "MEASURES COUNT(*) AS n, SUM(v) AS t PATTERN (A+ B) DEFINE A AS v > {0}, B AS s = 'x' AND v <= {1}",
    "MEASURES A.v AS a, B.v AS b PATTERN (A -> B) WITHIN INTERVAL '5' SECONDS DEFINE A AS v = {0}, B AS v >= {1}",
    "MEASURES A.ts AS t PATTERN (A !-> B) WITHIN INTERVAL '3' SECONDS DEFINE A AS v = {0}, B AS v = {1}",
    "MEASURES array_agg(v) AS vs AFTER MATCH NO SKIP PATTERN (A ->> B) WITHIN INTERVAL '4' SECONDS "
    "DEFINE A AS v = {0}, B AS v IN ({1}, 3)",
    "AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) DEFINE A AS v >= {0}, B AS v > LAST(A.v)",
    "MEASURES PREV(A.v) AS p PATTERN (A B) DEFINE A AS v >= {0} AND v > PREV(v), B AS v < {1}",
    "MEASURES NEXT(A.v) AS n PATTERN (A) DEFINE A AS v = {0}",
    "MEASURES B.v AS b ONE ROW PER MATCH SHOW TIMEOUT MATCHES PATTERN (A -> B) WITHIN INTERVAL '3' SECONDS "
    "DEFINE A AS v = {0}, B AS v = {1}",
    "PATTERN (^ A B) DEFINE A AS v > {0}",
    "MEASURES 6 / (LAST(B.v) - {0}) AS d PATTERN (A B) DEFINE A AS v >= {1}",  # a measure that fails
    "PATTERN (A B) DEFINE A AS 6 / v > {0}, B AS v > {1}",  # conditions that fail on a row,
    "PATTERN (A) DEFINE A AS v + 2147483645 > {0}",  # only on some rows,
    "PATTERN (A B) DEFINE A AS s = 'x' AND CAST(s AS INT) > {0}, B AS v > 0",  # where another does not decide,
    "PATTERN (A+ B) DEFINE A AS v <= {0}, B AS 10 / SUM(A.v) > 1",  # and in the search
)  # fmt: skip


class Alone(RulePlan):
    """A rule whose shape no other has, not even itself."""

    _numbers = count()

    @property
    def shape(self) -> int:
        return next(self._numbers)


def planned_alone(clause: str, plan: RulesPlan) -> RulePlan:
    rule = plan_rule(clause, plan)
    return Alone(stream=rule.stream, trees=rule.trees, masks=rule.masks, measures=rule.measures, opening=rule.opening)


JOINT, SEPARATE = RulesOperator(plan=PLAN), RulesOperator(plan=replace(PLAN, compile=planned_alone, max_length=99_999))


def history(chance: random.Random) -> list[MicroBatch]:
    """Micro-batches of events, and of many rules of few shapes that begin, change and end; some are empty."""
    shapes = [chance.choice(TEMPLATES) for _ in range(chance.choice((1, 2, 4)))]
    version: dict[str, int] = {}
    batches, watermark, now = [], 0, 1
    for i in range(chance.randint(3, 8)):
        rules = []
        for _ in range(chance.choice((0, 1, 3, 9)) + 8 * (i == 0)):
            name = chance.choice(NAMES)
            version[name] = version.get(name, 0) + 1
            clause = f"MATCH_RECOGNIZE ({chance.choice(shapes).format(chance.randint(0, 2), chance.randint(0, 3))})"
            if chance.random() < 0.1:
                clause = chance.choice(CLAUSES)
            at = SECOND * (now + chance.randint(-3, 6)) if chance.random() < 0.3 else None
            is_dropped = chance.random() < 0.1
            rules.append((name, version[name], None if is_dropped else clause, chance.random() < 0.9, at))
        events = []
        for _ in range(chance.choice((0, 0, 2, 9, 20))):
            now += chance.choice((0, 0, 1, 1, 2))
            v = None if chance.random() < 0.08 else chance.randint(0, 3)
            is_late = chance.choice((0, 0, 0, 1, 9))
            events.append((chance.choice("abc"), SECOND * max(now - is_late, 1), v, chance.choice(("x", "y", None))))
        now += chance.choice((0, 0, 4))  # a bound ends although nothing arrives
        watermark = max(watermark, SECOND * chance.choice((now - 3, now, now + 2)))
        batches.append(MicroBatch(rules, events, watermark))
    return batches


@pytest.mark.random(every=2)
@pytest.mark.parametrize("part", range(PARTS))
def test_versions_decide_the_same_together_and_alone(part):
    rows = sum(compared(seed) for seed in range(FIRST + part, FIRST + HISTORIES, PARTS))
    assert rows


def compared(seed: int) -> int:
    """The number of result rows of a random history, with a restart after each micro-batch."""
    streams = [Driven(JOINT), Driven(SEPARATE)]
    most_together = 0
    for number, batch in enumerate(history(seeded(seed))):
        arrived = {"rows": events_table(batch.events), "rules": rules_table(batch.rules)}
        joint, alone = (stream.step(batch.watermark, **arrived) for stream in streams)
        where = f"history {seed}, micro-batch {number}"
        assert emitted(joint) == emitted(alone), where
        assert joint.report.errors == alone.report.errors, where
        assert joint.failures.to_pylist() == alone.failures.to_pylist(), where
        assert joint.late == alone.late, where
        tables = [stream.state.tables for stream in streams]
        assert {name: t.to_pylist() for name, t in tables[0].items()} == {
            name: t.to_pylist() for name, t in tables[1].items()
        }, where
        rules = [COMPILED(a.version.clause or "") for a in acting(read_versions(tables[0][RULES]))]
        shapes = Counter(rule.shape for rule in rules if isinstance(rule, RulePlan))
        most_together = max(most_together, *shapes.values(), 0)
    assert most_together >= 2, f"history {seed}"
    return sum(batch.num_rows for _, batch in streams[0].results)


def emitted(step) -> list[tuple]:
    """The result rows in their order, with their times."""
    return [pair for times, batch in step.results for pair in zip(times.tolist(), results_of(batch))]


# a search of several versions itself

FAILING = ("6 / v", "+ 2147483645", "CAST", "SUM(A")

EVENTS = [("a", SECOND, 1, "x"), ("b", SECOND, 2, "x"), ("a", 2 * SECOND, 0, "y"), ("b", 3 * SECOND, 3, "y")]
NONE = np.zeros(0, np.int64)


def runs_of(clauses: list[str], kind: type[RuleRun] = RuleRun) -> list[RuleRun]:
    before = Before(columns=dict.fromkeys(POSITION, NONE), index=NONE, partition=NONE, place=NONE)
    shared = shared_rows(with_ids(events_table(EVENTS), row_schema(PLAN).empty_table()), PLAN)
    versions = [TakenVersion(name=f"r{i}", version=1, clause=clause) for i, clause in enumerate(clauses)]
    return [
        kind(version=version, shared=shared, before=before, after=BEGINNING, plan=PLAN) for version in acting(versions)
    ]


def shown(found) -> list[tuple]:
    return [
        (
            [row for _, batch in outcome.results for row in results_of(batch)],
            outcome.errors,
            pa.concat_tables(outcome.failures).to_pylist() if outcome.failures else [],
            outcome.positions.to_pylist() if outcome.positions is not None else [],
            outcome.partition.tolist(),
            outcome.place.tolist(),
        )
        for outcome in found
    ]


@pytest.mark.parametrize("template", [t for t in TEMPLATES if not any(fails in t for fails in FAILING)])
def test_a_search_of_all_versions_of_a_shape_has_the_outcome_of_each(template):
    clauses = [f"MATCH_RECOGNIZE ({template.format(*pair)})" for pair in ((0, 2), (1, 1), (2, 3), (9, 9))]
    assert len({COMPILED(clause).shape for clause in clauses}) == 1 or "- {0}" not in template
    together = joint_outcomes(runs_of(clauses), 9 * SECOND, COMPILED)
    assert shown(together) == shown(run.outcome(9 * SECOND, COMPILED) for run in runs_of(clauses))
    assert len(together) == 4


def test_the_plans_and_shapes_of_former_rules_are_dropped():
    compiled = CompiledRules(replace(PLAN, max_versions=2))
    shapes = weakref.WeakSet()
    for length in range(1, 10):
        shapes.add(compiled(f"MATCH_RECOGNIZE (PATTERN (A{{{length}}}) DEFINE A AS v = 8)").shape)
        assert len(compiled.plans) <= 4
    gc.collect()
    assert 1 <= len(shapes) <= 4


class FailsOnce(RuleRun):
    """A version whose first search fails, as none does that is known."""

    errors = iter([ZeroDivisionError("unforeseen")])

    def new_rows(self, watermark):
        for error in self.errors:
            raise error
        return super().new_rows(watermark)


def test_a_search_of_several_versions_that_fails_is_reported_and_loses_nothing():
    clauses = [f"MATCH_RECOGNIZE ({TEMPLATES[0].format(*pair)})" for pair in ((0, 2), (1, 1), (0, 3))]
    decided = [outcome for _, outcome in outcomes(runs_of(clauses, FailsOnce), 9 * SECOND, COMPILED)]
    alone = [run.outcome(9 * SECOND, COMPILED) for run in runs_of(clauses)]
    assert [row[0] for row in shown(decided)] == [row[0] for row in shown(alone)]
    reported = [error for outcome in decided for error in outcome.errors]
    assert reported == [("r0", 1, "SQLEXT_RULE_FAILED", "ZeroDivisionError: unforeseen")]
