"""What somebody may write into a table of rules past the statements: the stream goes on, and each bad row is reported.

A good rule runs beside the bad ones; its matches are those that it has alone. Only texts that compile have matches.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from sqlext.errors import SqlExtError
from sqlext.operators.rules.plan import CompiledRules
from sqlext.operators.rules.state import ARRIVING_VERSIONS
from tests.operators.driven import Driven

from .rule_histories import CLAUSES, OPERATOR, PLAN, events_table, random_history, results_of

HISTORIES, PARTS = 60, 6
GOOD = CLAUSES[1]
EXTREMES = (None, 0, -1, 1, 2**63 - 1, -(2**63), 253402300800000000)
NAMES = (None, "", " ", "good", "GOOD", "p", "'; DROP TABLE rules; --", "${x}", "a\nb", "\0", "😀", "x" * 10_000)
HOSTILE = [
    "", " ", ";", "\0", "'", '"', "`", "(", "MATCH_RECOGNIZE", "MATCH_RECOGNIZE (", "MATCH_RECOGNIZE ()", "SELECT 1",
    "DROP TABLE rules", f"{GOOD}; DROP TABLE rules", f"{GOOD} AS m", f"{GOOD} {GOOD}", f"-- {GOOD}", f"/* {GOOD}",
    f"x {GOOD}", f"SELECT * FROM t {GOOD}", "__import__('os').system('touch hacked')",
    "MATCH_RECOGNIZE (MEASURES java_method('java.lang.System', 'exit', 1) AS x PATTERN (A) DEFINE A AS true)",
    "MATCH_RECOGNIZE (MEASURES reflect('java.lang.System', 'exit', 1) AS x PATTERN (A) DEFINE A AS true)",
    "MATCH_RECOGNIZE (MEASURES (SELECT max(x) FROM secrets) AS x PATTERN (A) DEFINE A AS true)",
    "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS v IN (SELECT 1))",
    "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS __import__('os').system('touch hacked') = 0)",
    "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS s LIKE '%' || repeat('x', 2000000000))",
    "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS s RLIKE '(x+x+)+y')",
    "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS s RLIKE '(((')",
    "MATCH_RECOGNIZE (PARTITION BY k PATTERN (A) DEFINE A AS true)",
    "MATCH_RECOGNIZE (ORDER BY ts PATTERN (A) DEFINE A AS true)",
    "MATCH_RECOGNIZE (ALL ROWS PER MATCH PATTERN (A) DEFINE A AS true)",
    "MATCH_RECOGNIZE (PATTERN (A $) DEFINE A AS true)",
    "MATCH_RECOGNIZE (PATTERN (A) WITHIN 5 DEFINE A AS true)",
    "MATCH_RECOGNIZE (PATTERN (A) WITHIN INTERVAL '-5' SECONDS DEFINE A AS true)",
    "MATCH_RECOGNIZE (MEASURES 9223372036854775807 + v AS x PATTERN (A) DEFINE A AS true)",
    "MATCH_RECOGNIZE (MEASURES A.s + 1 AS x PATTERN (A) DEFINE A AS CAST(s AS INT) > 0 OR v > 0)",
    "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS v)",
    "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS no_such_column)",
    "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS :parameter > ?)",
    "MATCH_RECOGNIZE (PATTERN ((A+)+ B) DEFINE A AS v >= SUM(A.v) OR true, B AS SUM(A.v) = -1)",
    "MATCH_RECOGNIZE (PATTERN (A{1000000}) DEFINE A AS true)",
    f"MATCH_RECOGNIZE (PATTERN ({'(' * 500}A{')' * 500}) DEFINE A AS true)",
    f"MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS {'(' * 3000}true{')' * 3000})",
    f"MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS {'NOT ' * 3001}true)",
    f"MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS {' + '.join(['v'] * 5000)} > 0)",
    f"MATCH_RECOGNIZE (PATTERN ({' '.join(f'V{i}' for i in range(300))}) DEFINE V0 AS true)",
    f"MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS s = '{'x' * 200_000}')",
    f"{GOOD}{' ' * 200_000}",
]  # fmt: skip


def rules(rows: list[tuple]) -> pa.Table:
    columns = list(zip(*rows)) or [[]] * 6
    times = [pa.array(c, pa.int64()).cast(f.type) if i > 3 else pa.array(c, f.type)
             for i, (c, f) in enumerate(zip(columns, ARRIVING_VERSIONS))]  # fmt: skip
    return pa.table(times, schema=ARRIVING_VERSIONS)


def bad_row(chance: random.Random) -> tuple:
    """name, version, clause, enabled, effective_from, time"""
    text = chance.choice(HOSTILE) if chance.random() < 0.5 else mutated(chance, chance.choice(CLAUSES))
    return (
        chance.choice(NAMES), chance.choice((None, 0, -5, 1, 1, 2, 3, 2**63 - 1)),
        None if chance.random() < 0.1 else text, chance.choice((True, True, True, False, None)),
        chance.choice(EXTREMES), chance.choice(EXTREMES),
    )  # fmt: skip


def mutated(chance: random.Random, clause: str) -> str:
    """The clause with some pieces left out, repeated or exchanged."""
    for _ in range(chance.randint(1, 4)):
        a, b = sorted((chance.randrange(len(clause) + 1), chance.randrange(len(clause) + 1)))
        piece = chance.choice(
            ("", clause[a:b] * 2, clause[b : b + 5], chance.choice("()'`\"{}|!->?*,;\\\0é\n"), "NULL")
        )
        clause = clause[: min(a, len(clause))] + piece + clause[min(b, a + 6) :] or "x"
    return clause


def matches(batches: list[tuple[list[tuple], list[tuple], int]]) -> tuple[list[tuple], list[tuple]]:
    """The rows that a stream emits for (rules, events, watermark), and its reports of errors."""
    driven, reports = Driven(OPERATOR), []
    for rows, events, watermark in batches:
        reports += driven.step(watermark, rows=events_table(events), rules=rules(rows)).report.errors
    return [row for _, batch in driven.results for row in results_of(batch)], reports


GOOD_ROW = ("good", 7, GOOD, True, None, 0)


@pytest.mark.random
@pytest.mark.parametrize("part", range(PARTS))
def test_no_row_of_the_table_ends_the_stream_or_changes_another_rule(part):
    total = 0
    for seed in range(part, HISTORIES, PARTS):
        chance = random.Random(seed)
        history = random_history(chance)
        bad = [[bad_row(chance) for _ in range(chance.randint(0, 6))] for _ in history]
        bad = [[row for row in rows if (row[0] or "").lower() != "good"] for rows in bad]
        alone, _ = matches([([GOOD_ROW] * (i == 0), b.events, b.watermark) for i, b in enumerate(history)])
        beside, reports = matches(
            [([*rows, *[GOOD_ROW] * (i == 0)], b.events, b.watermark) for i, (rows, b) in enumerate(zip(bad, history))]
        )
        assert [row for row in beside if row[0] == "good"] == alone, f"history {seed}"
        compiled = CompiledRules(PLAN)
        texts = {(r[0], r[1]): r[2] for rows in reversed(bad) for r in rows}
        fit = {key for rows in bad for key in [(r[0], r[1]) for r in rows if r[2] is not None]}
        assert {row[:2] for row in beside} - {("good", 7)} <= fit, f"history {seed}"
        assert all(text is None or compiled(text) is not None for text in texts.values())
        assert {name for name, *_ in reports} <= {row[0] or "" for rows in bad for row in rows}
        total += len(alone)
    assert total


@pytest.mark.random
@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_a_text_that_is_no_rule_is_reported_once_and_runs_nothing(number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    events = [("a", second * 1_000_000, second % 4, "x") for second in range(1, 12)]
    batches = [([("bad", 1, HOSTILE[number], True, None, 0)], events[:6], 0), ([], events[6:], 20_000_000)]
    emitted, reports = matches(batches)
    compiled = CompiledRules(PLAN)(HOSTILE[number])
    if isinstance(compiled, SqlExtError):
        assert emitted == []
        assert Counter(report[:3] for report in reports) == {("bad", 1, compiled.error_class): 1}
        assert "Error: " not in compiled.message, compiled.message  # a Python exception
    assert list(Path(tmp_path).iterdir()) == []
