"""Which conditions of WHERE are applied before the match."""

from __future__ import annotations

import re
from datetime import date

import pytest

from sqlext.rewriter.lowering.pushdown import filters
from sqlext.rewriter.match.parse_match import parse_match
from sqlext.rewriter.match.sites import scan
from sqlext.rewriter.statements import parameters
from sqlext.rewriter.text.splice import Source
from sqlext.rewriter.tree.read_tree import read_tree

from .cases import blocks

CASES = dict(blocks("pushdown.txt"))
KEYS = {"i": "int", "s": "string", "u": "string", "d": "date", "ts": "timestamp", "n": "decimal(10,2)", "b": "boolean",
        "f": "double"}  # fmt: skip
MR = """MATCH_RECOGNIZE (PARTITION BY i, s, upper(s) AS u, d, ts, n, b, f MEASURES COUNT(*) AS x
  PATTERN (A) DEFINE A AS true)"""
ARGUMENTS = {"i": 3, "s": "it", "d": date(2024, 2, 29)}


@pytest.mark.parametrize("title", CASES)
def test_conditions_on_keys_are_found(title: str) -> None:
    statement, _, expected = CASES[title].rpartition("\n")
    text = statement.replace("MR", MR)
    tree, site = read_tree(text), scan(text)[0]
    source = Source(text, tuple(parameters.bind(text, ARGUMENTS if ":i" in text else None)))
    found = filters(parse_match(text, tree.tokens, site), tree, source, [*KEYS, "x"])
    suited = [f"«{f.text}»" for f in found if f.suits(list(KEYS.values())[f.key])]
    assert suited == (re.findall("«.*?»", expected) if expected != "«none»" else [])
