"""The parsed parts of clauses and the trees of patterns."""

from __future__ import annotations

import pytest

from sqlext.errors import UnsupportedError
from sqlext.pattern.program import ast
from sqlext.rewriter.match.check import check, warnings
from sqlext.rewriter.match.match_clause import MatchClause, OrderKey, PartitionKey
from sqlext.rewriter.match.parse_match import parse_match
from sqlext.rewriter.match.parse_pattern import parse_pattern
from sqlext.rewriter.match.sites import scan
from sqlext.rewriter.text.tokens import tokenize

from .cases import blocks, lines, show

CLAUSES = dict(blocks("clauses.txt"))
FIELDS = ("partition_by", "order_by", "measures", "rows", "after", "pattern", "within", "subsets", "definitions")


def parse(body: str) -> MatchClause:
    text = f"SELECT * FROM t MATCH_RECOGNIZE ({body}) m"
    (site,) = [s for s in scan(text) if s.depth == 0]
    return parse_match(text, tokenize(text), site)


def fields(clause: MatchClause) -> dict[str, str]:
    """The fields of a clause as clauses.txt shows them."""
    rows, after, within = clause.rows_per_match, clause.after_match, clause.within
    texts = {
        "partition_by": " | ".join(map(partition, clause.partition_by)),
        "order_by": " | ".join(map(order, clause.order_by)),
        "measures": " | ".join(f"{m.expression.text} AS {m.name.text}" for m in clause.measures),
        "pattern": clause.pattern_text.text.replace("\n", "¶"),
        "subsets": " | ".join(f"{s.name.key} = {', '.join(m.key for m in s.members)}" for s in clause.subsets),
        "definitions": " | ".join(f"{d.variable.key} AS {d.condition.text}" for d in clause.definitions),
    }
    if rows.fragment:
        texts["rows"] = f"{'ALL' if rows.is_all_rows else 'ONE'} {rows.empty}" + " TIMEOUTS" * rows.shows_timeouts
    if after:
        target = f" {after.target.key}" if after.target else ""
        texts["after"] = after.mode.name + target + " ELSE NEXT ROW" * after.else_next_row
    if within:
        texts["within"] = within.bound.text + " INCLUSIVE" * within.is_inclusive + " BETWEEN ROWS" * within.between_rows
    return texts


def partition(key: PartitionKey) -> str:
    return key.expression.text + (f" AS {key.name.text}" if key.name else "")


def order(key: OrderKey) -> str:
    nulls = {True: " FIRST", False: " LAST", None: ""}[key.nulls_first]
    return f"{key.expression.text} {'DESC' if key.is_descending else 'ASC'}{nulls}"


@pytest.mark.parametrize("title", CLAUSES)
def test_clause(title: str) -> None:
    rows = CLAUSES[title].splitlines()
    expected = {f: v for f, _, v in (row.partition(": ") for row in rows) if f in FIELDS}
    body = "\n".join(row for row in rows if row.partition(": ")[0] not in FIELDS)
    assert {f: v for f, v in fields(parse(body)).items() if v} == expected


@pytest.mark.parametrize("line", lines("patterns.txt"))
def test_pattern(line: str) -> None:
    pattern, _, expected = line.partition(" => ")
    tree, names = parse_pattern(f"PATTERN ({pattern})", 9, 9 + len(pattern))
    assert show(tree) == expected
    variables = dict.fromkeys(n.name for n in ast.walk(tree) if isinstance(n, ast.Variable))
    assert [n.key for n in names] == list(variables)


@pytest.mark.parametrize("line", lines("patterns.txt"))
def test_places_of_a_pattern_are_inside_one_another(line: str) -> None:
    pattern = line.partition(" => ")[0]
    tree, _ = parse_pattern(pattern, 0, len(pattern))
    for node in ast.walk(tree):
        assert 0 <= node.place[0] < node.place[1] <= len(pattern)
        for child in ast.children(node):
            assert node.place[0] <= child.place[0] and child.place[1] <= node.place[1]


def test_ten_thousand_variables_are_parsed_in_linear_time() -> None:
    """A quadratic reader would take minutes."""
    clause = parse(f"ORDER BY x PATTERN ({' '.join(f'V{i % 200}' for i in range(10_000))}) DEFINE V1 AS true")
    check(clause)
    assert len(clause.pattern_variables) == 200 and len(clause.pattern.items) == 10_000  # type: ignore[union-attr]


@pytest.mark.parametrize(("variables", "is_refused"), [(256, False), (257, True)])
def test_number_of_variables(variables: int, is_refused: bool) -> None:
    body = f"PATTERN ({' '.join(f'V{i}' for i in range(variables))}) DEFINE V1 AS true"
    if is_refused:
        with pytest.raises(UnsupportedError, match="TOO_MANY_VARIABLES"):
            parse(body)
    else:
        check(parse(body))


@pytest.mark.random
@pytest.mark.parametrize("brackets", ["(…)", "{- … -}", "(A|B …)", "PERMUTE(…)"])
@pytest.mark.parametrize(("depth", "is_refused"), [(60, False), (1000, True), (20_000, True)])
def test_nesting_ends_in_an_error_not_in_a_recursion(brackets: str, depth: int, is_refused: bool) -> None:
    opening, closing = brackets.split("…")
    pattern = f"{opening * depth}A{closing * depth}"
    if is_refused:
        with pytest.raises(UnsupportedError, match="PATTERN_TOO_DEEP"):
            parse_pattern(pattern, 0, len(pattern))
    else:
        parse_pattern(pattern, 0, len(pattern))


@pytest.mark.parametrize(
    ("pattern", "is_refused"),
    [
        ("PERMUTE(A,B,C,D,E,F,G)", False),
        ("PERMUTE(A,B,C,D,E,F,G,H)", True),
        ("A{20000}", False),
        ("A{50001}", True),
        ("((A{100}){100}){100}", True),
        ("A{0,999999999}", True),
    ],
)
def test_size_of_a_pattern(pattern: str, is_refused: bool) -> None:
    clause = parse(f"PATTERN ({pattern}) DEFINE A AS true")
    if is_refused:
        with pytest.raises(UnsupportedError, match="PATTERN_TOO_LARGE"):
            check(clause)
    else:
        check(clause)


def test_no_order_is_warned_of() -> None:
    assert warnings(parse("PATTERN (A) DEFINE A AS true")) != []
    assert warnings(parse("ORDER BY x PATTERN (A) DEFINE A AS true")) == []
