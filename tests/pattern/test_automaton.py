"""The automaton of a pattern, and its pictures."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from sqlext.errors import UnsupportedError
from sqlext.formatting.automaton_picture import mermaid, svg
from sqlext.pattern.why.automaton import Automaton, AutomatonNode, automaton
from sqlext.rewriter.statements.kinds import ClauseSite
from sqlext.rewriter.statements.parse_statement import parse_statement


def drawn(pattern: str, **counts: object) -> Automaton:
    text = f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY d PATTERN ({pattern}) WITHIN INTERVAL 1 HOUR DEFINE A AS x > 1)"
    clause = parse_statement(text).of(ClauseSite)[0].clause
    return automaton(clause.pattern, text, **counts)


def edges(found: Automaton) -> str:
    names = [node.written for node in found.nodes]
    return ", ".join(
        f"{names[edge.source]} →{f' {edge.label} ' if edge.label else ''}{names[edge.target]}" for edge in found.edges
    )


@pytest.mark.parametrize(
    "pattern, expected",
    [
        ("a b", "(start) →a, a →b, b →(match)"),
        ("a b+", "(start) →a, a →b+, b+ →b+, b+ →(match)"),
        ("A? b", "(start) →A?, (start) →b, A? →b, b →(match)"),
        ("A (b | c)", "(start) →A, A →b, A →c, b →(match), c →(match)"),
        ("(A b){2,3}", "(start) →A, A →b, b → {2,3} A, b →(match)"),
        ("A (-> b)*", "(start) →A, A → -> b, A →(match), b → * -> b, b →(match)"),
        ("A !-> b", "(start) →A, A →!-> b, !-> b →(match)"),
        ("^ A $", "(start) →^, ^ →A, A →$, $ →(match)"),
        ("PERMUTE(A, b)", "(start) →A, (start) →b, A →b, A →(match), b →A, b →(match)"),
        ("start A match A+?", "(start) →start, start →A₁, A₁ →match, match →A₂+?, A₂+? →A₂+?, A₂+? →(match)"),
        ("A*", "(start) →A*, (start) →(match), A* →A*, A* →(match)"),
    ],
)
def test_a_row_goes_from_an_element_to_those_that_may_follow(pattern, expected):
    assert edges(drawn(pattern)) == expected


def test_an_edge_has_a_count_where_it_alone_leads_to_its_element():
    found = drawn("A b? c", reached=(5, 2, 1), tried=9, matches=1)
    assert [(edge.source, edge.target, edge.count) for edge in found.edges] == [
        (0, 1, 5),
        (1, 2, 2),
        (1, 3, None),
        (2, 3, None),
        (3, 4, 1),
    ]
    assert [node.count for node in found.nodes] == [9, 5, 2, 1, 1]


def test_a_pattern_of_too_many_edges_is_refused():
    with pytest.raises(UnsupportedError, match="more than 400 edges"):
        drawn(f"({' | '.join(['A'] * 21)})+")


def test_a_picture_escapes_all_it_shows():
    hostile = "</text><script>alert(1)</script>\"'&"
    found = Automaton((AutomatonNode("start"), AutomatonNode(hostile, "A", 0), AutomatonNode("match")), (), (hostile,))
    texts = [element.text for element in ElementTree.fromstring(svg(found)).iter() if element.tag.endswith("text")]
    assert texts == ["start", hostile, "0 start rows", "match", hostile]
    assert not set("<>'&").intersection(mermaid(found).replace("<br>", ""))
