"""Deep and long texts, which take minutes or all of Python's stack if a reader looks at its text again and again.

No time is measured: a quadratic reader makes this file take minutes instead of seconds.
"""

from __future__ import annotations

import pytest

from sqlext.errors import UnsupportedError
from sqlext.formatting.check_syntax import check_text
from sqlext.formatting.format_text import format_text
from sqlext.rewriter.statements.read_statement import is_ours
from sqlext.rewriter.text.nesting import MAX_BRACKETS, MAX_NESTING
from sqlext.rewriter.tree.sources import relations

from .lowered import plan_of

CLAUSE = "MATCH_RECOGNIZE (ORDER BY ts MEASURES {} PATTERN (A B) DEFINE B AS {})"
PLAIN = CLAUSE.format("A.v AS m", "v > 0")
OURS = f"SELECT * FROM t {PLAIN}"
DEEP = 5_000

# (text of n levels, is it ours?)
NESTED = {
    "parentheses": (lambda n: "SELECT " + "(" * n + "1" + ")" * n, False),
    "open parentheses": (lambda n: "SELECT " + "(" * n, False),
    "subqueries": (lambda n: "SELECT * FROM (" * n + "SELECT 1" + ")" * n, False),
    "CTEs": (lambda n: "WITH c AS (" * n + "SELECT 1" + ") SELECT 1" * n, False),
    "blocks": (lambda n: "BEGIN " * n + "SELECT 1;" + " END;" * n, False),
    "open blocks": (lambda n: "BEGIN " * n, False),
    "comments": (lambda n: "/*" * n + "*/" * n + " SELECT 1", False),
    "no window": (lambda n: "SELECT a AS (" * n + ")" * n + " -- PATTERN (", False),
    "parentheses after a clause": (lambda n: f"{OURS} WHERE " + "(" * n + "x" + ")" * n, True),
    "open parentheses after a clause": (lambda n: f"{OURS} WHERE " + "(" * n, True),
    "a clause in subqueries": (lambda n: "SELECT * FROM (" * n + OURS + ")" * n, True),
    "a clause in clauses": (lambda n: "SELECT * FROM (" * n + OURS + f") {PLAIN}" * n, True),
    "a clause in blocks": (lambda n: "BEGIN " * n + f"{OURS};" + " END;" * n, True),
    "a condition": (lambda n: "SELECT * FROM t " + CLAUSE.format("A.v AS m", "(" * n + "v > 0" + ")" * n), True),
    "CASE": (lambda n: "SELECT * FROM t " + CLAUSE.format("CASE WHEN x THEN " * n + "1" + " END" * n, "v > 0"), True),
}


@pytest.mark.random(every=5)
@pytest.mark.parametrize("name", NESTED)
def test_only_a_deep_text_of_ours_is_an_error(name: str) -> None:
    text, is_of_ours = NESTED[name]
    deep = text(500 if name == "a clause in clauses" else DEEP)
    relations(deep)
    errors = check_text(deep)
    assert [e.error_class for e in errors] == (["SQLEXT_TOO_DEEP"] if is_of_ours else [])
    assert all(e.place is not None and e.place.stop - e.place.start < 10 for e in errors)
    if is_of_ours:
        with pytest.raises(UnsupportedError, match="TOO_DEEP"):
            is_ours(deep)
    else:
        assert not is_ours(deep)
        assert format_text(deep) == deep


def test_what_is_just_not_too_deep_is_read() -> None:
    brackets = "(" * (MAX_BRACKETS - 1)
    text = CLAUSE.format("A.v AS m", brackets + "v > 0" + ")" * len(brackets))
    assert check_text(f"SELECT * FROM t {text}") == []
    assert check_text("BEGIN " * MAX_NESTING + f"{OURS};" + " END;" * MAX_NESTING) == []


def test_explain_match_stands_once() -> None:
    assert [e.error_class for e in check_text("EXPLAIN MATCH " * 5000 + OURS)] == ["SQLEXT_UNEXPECTED_WORD"]


# (text of n parts, n)
FLAT = {
    "OR": (lambda n: f"{OURS} WHERE " + " OR ".join(f"a = {i}" for i in range(n)), 5_000),
    "OR in DEFINE": (lambda n: "SELECT * FROM t " + CLAUSE.format("A.v AS m", "v = 1 OR " * n + "v = 2"), 5_000),
    "IN": (lambda n: f"{OURS} WHERE a IN (" + ", ".join(map(str, range(n))) + ")", 3_000),
    "measures": (lambda n: "SELECT * FROM t " + CLAUSE.format("A.v AS m, " * n + "A.v AS m", "v > 0"), 3_000),
    "UNION ALL": (lambda n: f"{OURS} UNION ALL " + "SELECT * FROM t UNION ALL " * n + "SELECT 1", 3_000),
    "clauses": (lambda n: f"{OURS} UNION ALL " * n + OURS, 200),
    "statements": (lambda n: f"{OURS};\n" * n, 200),
    "a script": (lambda n: "BEGIN " + f"{OURS}; " * n + "END", 200),
    "a plain script": (lambda n: "BEGIN " + "SELECT 1; " * n + "END", 4_000),
    "WITH": (lambda n: "WITH " + ", ".join(f"c{i} AS (SELECT 1)" for i in range(n)) + f" {OURS}", 3_000),
    "joins": (lambda n: OURS + " m JOIN b ON m.x = b.x" * n, 3_000),
    "ASOF JOIN": (lambda n: "SELECT * FROM a" + " ASOF JOIN b MATCH_CONDITION (a.t >= b.t) ON a.x = b.x" * n, 200),
}


@pytest.mark.random
@pytest.mark.parametrize("name", FLAT)
def test_long_texts_are_read_in_linear_time(name: str) -> None:
    text, number = FLAT[name]
    assert {e.error_class for e in check_text(text(number))} <= {"SQLEXT_DUPLICATE_NAME"}


# Conditions over several rows, of n operands
CONDITIONS = {
    "OR": lambda n: " OR ".join(f"PREV(v) = v + {i}" for i in range(n)),
    "AND": lambda n: " AND ".join(f"PREV(v) <> v + {i}" for i in range(n)),
    "IN": lambda n: f"PREV(v) - v IN ({', '.join(map(str, range(n)))})",
    "OR of one row": lambda n: " OR ".join(f"v = {i}" for i in range(n)),
}


@pytest.mark.random(every=2)
@pytest.mark.parametrize("name", CONDITIONS)
def test_a_condition_may_have_many_operands(name: str) -> None:
    plan_of(f"ORDER BY ts MEASURES B.v AS m PATTERN (A B) DEFINE B AS {CONDITIONS[name](350)}")


@pytest.mark.random(every=3)
@pytest.mark.parametrize("operator", ["NOT ", "- ", "abs(", "(", "CASE WHEN PREV(v) > v THEN "])
def test_a_condition_over_several_rows_that_nests_too_deep_is_an_error(operator: str) -> None:
    closing = {"abs(": ")", "(": ")", "CASE WHEN PREV(v) > v THEN ": " END"}.get(operator, "")
    condition = operator * 240 + "(v - PREV(v))" + closing * 240
    with pytest.raises(Exception) as error:
        plan_of(f"ORDER BY ts MEASURES B.v AS m PATTERN (A B) DEFINE B AS {condition} > 0")
    assert not isinstance(error.value, RecursionError)
