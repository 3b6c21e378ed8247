"""The fingerprint of a stream: a running query's checkpoint is valid as long as it stays the same.

Where a literal below changes, checkpoints of running queries become unreadable: CHANGELOG.md then needs a line
**State:**.
"""

from __future__ import annotations

import pytest

from sqlext.engine.planning.fingerprint import match_fingerprint
from tests.rewriter.lowered import plan_of

HEAD = "PARTITION BY p ORDER BY ts MEASURES FIRST(v) AS f, COUNT(B.*) AS n"
DEFINE = "DEFINE A AS v > 1, B AS v > PREV(v) AND v < FIRST(A.v), C AS v = 0"
CONTIGUOUS = f"{HEAD} PATTERN (A B+ | C) WITHIN 10 {DEFINE}"
SKIPPING = f"{HEAD} PATTERN (A (-> B)+ !-> C) WITHIN 10 {DEFINE}"
CHANGES = {
    "pattern": ("B+", "B*"),
    "order of preference": ("A B+ | C", "C | A B+"),
    "bound": ("WITHIN 10", "WITHIN INCLUSIVE 10"),
    "length of the bound": ("WITHIN 10", "WITHIN 11"),
    "condition of one row": ("v > 1", "v > 2"),
    "run-dependent condition": ("v < FIRST(A.v)", "v < LAST(A.v)"),
    "key": ("PARTITION BY p", "PARTITION BY p, v"),
    "order": ("ORDER BY ts", "ORDER BY ts, v"),
    "measured row": ("FIRST(v) AS f", "LAST(v) AS f"),
    "rows per match": ("PATTERN", "ALL ROWS PER MATCH PATTERN"),
    "resume row": ("PATTERN", "AFTER MATCH SKIP TO NEXT ROW PATTERN"),
}


def digest(plan) -> str:
    return match_fingerprint(plan).digest


def test_the_fingerprint_of_a_contiguous_pattern_stays():
    assert digest(plan_of(CONTIGUOUS)) == "fc58b2fa19e5e60b"
    assert match_fingerprint(plan_of(CONTIGUOUS)).former[0] == "6f86c3282e97034d"  # of the first versions


def test_the_fingerprint_of_a_pattern_that_skips_rows_stays():
    assert digest(plan_of(SKIPPING)) == "869af1255b31b07e"
    assert match_fingerprint(plan_of(SKIPPING)).former[0] == "7adfb16a2769d7d7"


def test_the_spelling_of_the_clause_does_not_matter():
    spelled = CONTIGUOUS.replace("PATTERN (A B+ | C) WITHIN 10", "pattern(a  B+|C)\nwithin 10")
    assert spelled != CONTIGUOUS and digest(plan_of(spelled)) == digest(plan_of(CONTIGUOUS))


@pytest.mark.parametrize("change", CHANGES)
def test_what_the_state_depends_on_matters(change):
    assert digest(plan_of(CONTIGUOUS.replace(*CHANGES[change]))) != digest(plan_of(CONTIGUOUS))
