"""Which variables of PATTERN are said to hold never, and what is said of them."""

from __future__ import annotations

import pytest

from sqlext.rewriter.match.never_holds import never_holds
from sqlext.rewriter.statements.parse_statement import parse_statement

from .cases import blocks

CASES = dict(blocks("never_holds.txt"))


@pytest.mark.parametrize("title", CASES)
def test_a_variable_that_never_holds_is_told(title: str) -> None:
    written, *expected = CASES[title].strip("\n").split("\n")
    text = f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES 1 AS x {written})"
    (clause,) = parse_statement(text).all_clauses
    assert never_holds(clause) == ([] if expected == ["«none»"] else expected)
