"""Rules and events that cost much harm no other rule and no other key, and what was cut is reported.

`costly.txt` has the rules and the texts. Rules run beside all rules of `clauses.txt`, events come in the same
micro-batches as events of other keys.
"""

from __future__ import annotations

import ast
import random
import re
from pathlib import Path

import pyarrow as pa
import pytest

from tests.operators.driven import Driven

from .rule_histories import CLAUSES, OPERATOR, SECOND, events_table, results_of, rules_table

LINES = [line.split(" | ", 2) for line in Path(__file__).with_name("costly.txt").read_text("utf-8").splitlines()]
RULES = {f"costly {i}": (line[2], line[1]) for i, line in enumerate(LINES) if line[0] == "rule"}
GOOD = {f"good {i}": clause for i, clause in enumerate(CLAUSES)}
END = 100 * SECOND


def text_of(expression: str) -> str:
    parts = (re.fullmatch(r"('.*')(?: \* ([\d_]+))?", part) for part in expression.split(" + "))
    return "".join(ast.literal_eval(part[1]) * int(part[2] or 1) for part in parts if part)


TEXTS = [text_of(line[1]) for line in LINES if line[0] == "text"]


def events(chance: random.Random) -> list[tuple]:
    texts = ("x", "y", None)
    return [(chance.choice("abc"), SECOND * at, chance.randint(0, 3), chance.choice(texts)) for at in range(1, 40)]


def costly_events() -> list[tuple]:
    return [(f"z{i}", SECOND * at, 3, text) for i, text in enumerate(TEXTS) for at in (5, 6)]


def run(rules: dict[str, str], rows: list[tuple]) -> tuple[set[tuple], list[tuple], pa.Table]:
    """The results, the reports of errors, and the failures of two micro-batches."""
    driven, reports = Driven(OPERATOR), []
    version_rows = [(name, 1, clause, True, None) for name, clause in rules.items()]
    for arriving, low, high in ((version_rows, 0, 0), ([], 0, 20), ([], 20, 100)):
        arrived = [row for row in rows if low < row[1] // SECOND <= high]
        step = driven.step(high * SECOND, rows=events_table(arrived), rules=rules_table(arriving))
        reports += step.report.errors
    return {repr(row) for _, batch in driven.results for row in results_of(batch)}, reports, driven.failures


def of(results: set[str], names: tuple[str, ...]) -> set[str]:
    return {row for row in results if ast.literal_eval(row)[0] in names}


@pytest.mark.slow
def test_costly_rules_and_events_change_nothing_for_others():
    rows = events(random.Random(1))
    clauses = {name: clause for name, (clause, _) in RULES.items()}
    alone, _, _ = run(GOOD, rows)
    quiet, _, _ = run(GOOD | clauses, rows)
    loud, reports, failures = run(GOOD | clauses, rows + costly_events())
    assert of(quiet, tuple(GOOD)) == alone
    others = {row for row in loud if not ast.literal_eval(row)[3][0].startswith("z")}
    assert others == quiet
    expected = {name: errors for name, (_, errors) in RULES.items() if errors != "-"}
    assert {name: error.removeprefix("SQLEXT_") for name, _, error, _ in reports if name in RULES} == expected
    counted = {text.partition(" 1: ")[0] for text in failures.column("error").to_pylist()}
    assert counted & set(RULES) == {name for name, error in expected.items() if error != "PATTERN_TOO_LARGE"}


@pytest.mark.slow
def test_the_share_of_a_row_is_its_own():
    """Rows that cost much use up what an expression may spend; cheap rows of other keys are still computed."""
    clause = "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS s || v LIKE '%x%' OR length(regexp_replace(s, 'a', 'bb')) > 0)"
    costly = [(f"z{i}", SECOND * 30, 3, "a" * 400_000) for i in range(12)]
    rows = events(random.Random(2))
    alone, _, _ = run({"r": clause}, rows)
    beside, _, _ = run({"r": clause}, rows + costly)
    assert {row for row in beside if not ast.literal_eval(row)[3][0].startswith("z")} == alone
