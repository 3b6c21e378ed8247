"""Which clauses are found, what they read, and that nothing else of the text is touched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlext.errors import SqlExtError
from sqlext.rewriter.match.sites import scan
from sqlext.rewriter.statements.scan import is_extended, might_be_extended
from sqlext.rewriter.statements.script import read_script
from sqlext.rewriter.text.splice import Edit, Source
from sqlext.rewriter.text.tokens import tokenize
from sqlext.rewriter.tree.read_tree import read_tree
from sqlext.rewriter.tree.sources import visible_ctes

from .cases import blocks, compile_statement, expand

SITES = dict(blocks("sites.txt"))
CTES = dict(blocks("ctes.txt"))
CLAUSES = {t: "SELECT * FROM t MATCH_RECOGNIZE (" + b.partition("\npattern:")[0] for t, b in blocks("clauses.txt")}


def split(block: str) -> tuple[str, list[str]]:
    statement, _, expected = ("\n" + block).partition("\n«")
    return expand(statement.strip("\n")), ["".join(expand(e)) for e in ("«" + expected).splitlines()]


@pytest.mark.parametrize("title", SITES)
def test_clauses_are_found_with_their_relations(title: str) -> None:
    statement, expected = split(SITES[title])
    sites = scan(statement)
    assert [f"«{s.relation.text}»" for s in sites] == [e for e in expected if e != "«none»"]
    for site in sites:
        assert site.whole.text.startswith(site.relation.text)
        assert site.keyword.text.upper() == "MATCH_RECOGNIZE"
        assert site.whole.text.endswith(f"{site.body.text})")


@pytest.mark.parametrize("title", SITES)
def test_splicing_unchanged_pieces_gives_the_same_text(title: str) -> None:
    statement, _ = split(SITES[title])
    source = Source(statement)
    for site in scan(statement):  # innermost first, as the engine does it
        source = source.edited([Edit(site.whole.start, site.whole.stop, site.whole.text)])
    assert str(source.slice(0, len(statement))) == statement


def test_a_statement_of_a_script_stands_alone_whatever_its_comments_hold() -> None:
    text = "-- Straße, begin\nBEGIN SELECT 1; SET x = 2; END -- the end"
    assert read_script(text)[1].alone.split() == ["BEGIN", "SET", "x", "=", "2;", "END"]


@pytest.mark.parametrize("title", CTES)
def test_ctes_visible_at_a_clause(title: str) -> None:
    statement, _, expected = CTES[title].partition("\n")
    text = expand(statement)
    tree, found = read_tree(text), []
    try:
        for site in scan(text):
            ctes = visible_ctes(tree, site.whole)
            found.append(" ".join(c.name.text for c in ctes) or "-")
            for cte in ctes:
                assert cte.definition.text.endswith(f"({cte.query.text})")
                assert cte.definition.text.startswith(cte.name.fragment.text)
    except SqlExtError as e:
        found.append(e.error_class)
    assert found == expected.splitlines()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM a AS interval JOIN b",
        "SELECT * FROM interval JOIN b, asof JOIN c",
        "SELECT * FROM db.interval JOIN b",
        "SELECT * FROM t, interval JOIN b",
        "SELECT x > INTERVAL 5 DAYS FROM a JOIN b",
        "SELECT 'a INTERVAL JOIN b' -- a INTERVAL JOIN b",
        "SELECT * FROM session(1), hop(x => TABLE(SELECT 1))",
        "SELECT session(a, b), tumble(descriptor) FROM t",
        "SELECT * FROM t MATCH_RULES (a, b) JOIN u EMIT",
    ],
)
def test_what_only_looks_extended_is_left_to_spark(text: str) -> None:
    assert not is_extended(text)


@pytest.mark.parametrize(
    ("text", "may_be"),
    [
        ("SELECT 1 FROM a JOIN b ON a.t > b.t - INTERVAL 1 DAY", False),
        ("SELECT session, tumble FROM hop", False),
        ("EXPLAIN SELECT 1", False),
        ("select * from t Match_Recognize(pattern (a))", True),
        ("select * from a interval /* x */ -- y\n join b", True),
        ("explain\nmatch select 1", True),
        ("SELECT * FROM hop (TABLE t)", True),
    ],
)
def test_ordinary_statements_are_not_even_tokenized(text: str, may_be: bool) -> None:
    assert might_be_extended(text) is may_be


PIECES = [*SITES.values(), *CLAUSES.values(), *"'\"`{()\n🙂é", "/*", "--", "{-", "MATCH_RECOGNIZE"]


@given(st.lists(st.sampled_from(sorted(PIECES))))
def test_any_text_is_tokenized_exactly_or_refused_with_a_place(pieces: list[str]) -> None:
    text = expand(" ".join(pieces))
    try:
        tokens = tokenize(text)
        compile_statement(text)
    except SqlExtError as e:
        assert e.place is not None and 0 <= e.place.start <= e.place.stop <= len(text)
        assert str(e)
        return
    assert all(text[t.start : t.stop] == t.text for t in tokens)
    assert all(a.stop <= b.start for a, b in zip(tokens, tokens[1:]))  # noqa: RUF007
