"""Which columns the result of a clause need not have."""

from __future__ import annotations

import pytest

from sqlext.rewriter.match.sites import scan
from sqlext.rewriter.tree.read_tree import read_tree
from sqlext.rewriter.tree.unread import unread

from .cases import blocks

CASES = dict(blocks("unread.txt"))
MR = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY b MEASURES c AS x ALL ROWS PER MATCH PATTERN (A) DEFINE A AS a > 1)"


@pytest.mark.parametrize("title", CASES)
def test_columns_that_nothing_reads(title: str) -> None:
    statement, _, expected = CASES[title].rpartition("\n")
    text = statement.replace("MR", MR)
    found = unread(read_tree(text), scan(text)[0].keyword, ["a", "B", "c", "k"])
    assert sorted(found) == (expected.split() if expected != "«none»" else [])
