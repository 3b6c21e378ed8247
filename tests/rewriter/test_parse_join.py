"""Which joins on time are found, and what their relations and conditions are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlext.errors import ParseError, SqlExtError
from sqlext.rewriter.joins.join_clause import JoinClause, parse_joins
from sqlext.rewriter.joins.join_conditions import time_ranges
from sqlext.rewriter.statements.scan import is_extended
from sqlext.rewriter.tree.read_tree import read_tree

from .cases import blocks

JOINS = dict(blocks("joins.txt"))
WORDS = """SELECT FROM WHERE INTERVAL ASOF JOIN LEFT OUTER SEMI NATURAL LATERAL ON USING MATCH_CONDITION BETWEEN AND
    OR NOT WITHIN NEAREST AGGREGATE INCLUDING PREVAILING CASE END IS DISTINCT UNION |> ( ) , . = >= < a b
    t.x 'x' 5 AS PIVOT WITH VALUES * EXCEPT"""


def shown(join: JoinClause) -> str:
    parts = [join.join_type, join.kind, f"«{join.left.text}»", f"«{join.right.text}»"]
    if join.match_condition is not None:
        condition = join.match_condition
        parts += [condition.left.text, condition.operator, condition.right.text]
        parts += ["WITHIN", condition.within.text] if condition.within else []
    if join.using:
        parts += ["USING", *(name.text for name in join.using)]
    parts += [f"[{member.text}]" for member in join.conjuncts]
    if join.aggregate is not None:
        parts += [f"{{{aggregate.call.text} AS {aggregate.name.text}}}" for aggregate in join.aggregate.aggregates]
        parts += ["PREVAILING"] if join.aggregate.is_prevailing else []
    return " ".join(parts)


@pytest.mark.parametrize("title", JOINS)
def test_joins_are_found_with_their_relations_and_conditions(title: str) -> None:
    text, *expected = JOINS[title].split("\n")
    joins = parse_joins(read_tree(text))
    assert [shown(join) for join in joins] == [line for line in expected if line != "none"]


@given(st.lists(st.sampled_from(WORDS.split()), max_size=30))
def test_any_words_are_read_or_refused_with_a_place(words: list[str]) -> None:
    text = " ".join(["SELECT * FROM a INTERVAL JOIN b ON", *words])
    try:
        joins = parse_joins(read_tree(text))
    except SqlExtError as error:
        assert error.place is not None and str(error)
        return
    for join in joins:
        assert join.whole.text.startswith(join.left.text) and join.right.text in join.whole.text
        for range_ in time_ranges(join.conjuncts):
            assert all(part.text for part in (range_.time, range_.lower, range_.upper))


@pytest.mark.parametrize("words", ["INNER", "LEFT", "full outer", "LEFT ANTI"])
def test_a_type_behind_interval_is_no_alias(words: str) -> None:
    text = f"SELECT * FROM t INTERVAL {words} JOIN p ON t.k = p.k"
    assert is_extended(text)
    with pytest.raises(ParseError, match="JOIN_TYPE") as error:
        parse_joins(read_tree(text))
    assert error.value.hint.startswith(f"write {words.upper()} INTERVAL JOIN;")
    assert not is_extended(text.replace("INTERVAL", "AS interval"))
