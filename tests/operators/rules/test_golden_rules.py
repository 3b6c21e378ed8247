"""The stored state of rules of the current version is read, and the stream resumes from it.

`python -m tests.operators.rules.test_golden_rules` writes the files of the current version, which must not exist yet.
"""

from __future__ import annotations

from pathlib import Path

from sqlext.operators.stateful import state_log
from sqlext.operators.stateful.state_log import Stored
from tests.operators.driven import Driven, read_golden, write_golden

from .rule_histories import OPERATOR, SECOND, events_table, results_of, rules_table

CLAUSE = "MATCH_RECOGNIZE (MEASURES A.v AS a PATTERN (A B) WITHIN INTERVAL '9' SECONDS DEFINE A AS v > 1, B AS v < 2)"
RULES = [("r", 1, CLAUSE, True, None), ("s", 1, CLAUSE, True, 3 * SECOND)]
BEFORE = [("a", 1, 2, "x"), ("a", 2, 1, "x"), ("b", 2, 2, None), ("a", 5, 3, "y")], 4
AFTER = [("b", 6, 0, "x"), ("a", 7, 1, "x"), ("b", 8, 2, "x")], 9
FIRST, LAST = [("r", 1, 1, "a")], [("r", 1, 1, "b"), ("r", 1, 2, "a"), ("s", 1, 1, "a")]


def step(stored: Stored | None, portion: tuple[list[tuple], int], rules: list[tuple]) -> tuple[Stored, list[tuple]]:
    rows, watermark = portion
    events = events_table([(k, SECOND * t, v, s) for k, t, v, s in rows])
    driven = Driven(OPERATOR, stored)
    driven.step(SECOND * watermark, rows=events, rules=rules_table(rules))
    return driven.stored, sorted(row[:4] for _, batch in driven.results for row in results_of(batch))


def before() -> tuple[Stored, list[tuple]]:
    """The rules are taken up before any event."""
    return step(step(None, ([], 0), RULES)[0], BEFORE, [])


def folder() -> Path:
    return Path(__file__).parent / "golden" / f"rules_v{state_log.VERSION}"


def test_rules_resume_from_stored_state():
    stored = read_golden(folder())
    assert stored.header.plan == "golden"
    assert step(stored, AFTER, [])[1] == LAST


def test_results_do_not_depend_on_storing_the_state_of_rules():
    stored, emitted = before()
    assert emitted == FIRST
    assert step(stored, AFTER, [])[1] == LAST


if __name__ == "__main__":
    write_golden(folder(), before()[0])
