"""Expressions that need one value for each row, constants of WITHIN and navigations to constants, without Spark."""

from __future__ import annotations

import pytest

from sqlext.errors import SqlExtError
from sqlext.expressions.function import ExecutionSettings
from sqlext.rewriter.joins.asof_conditions import with_condition
from sqlext.rewriter.joins.join_clause import parse_joins
from sqlext.rewriter.joins.join_conditions import BOTH, LEFT, NEITHER, RIGHT
from sqlext.rewriter.lowering.input_query import InputRelation
from sqlext.rewriter.lowering.lower_clause import lower
from sqlext.rewriter.scalars.static_binder import StaticBinder
from sqlext.rewriter.statements.kinds import ClauseSite
from sqlext.rewriter.statements.parse_statement import parse_statement
from sqlext.rewriter.text.splice import Source
from sqlext.rewriter.tree.read_tree import read_tree

COLUMNS = {"k": "int", "x": "int", "ts": "timestamp", "xs": "array<int>", "d": "date"}
SETTINGS = ExecutionSettings(is_ansi=True, time_zone="UTC")
KEYS = "PARTITION BY {} ORDER BY x MEASURES count(*) AS n PATTERN (A) DEFINE A AS true"
WITHIN = "ORDER BY {} MEASURES count(*) AS n PATTERN (A) WITHIN {} DEFINE A AS true"
MEASURE = "ORDER BY x MEASURES {} AS n PATTERN (A) DEFINE A AS true"
DEFINE = "ORDER BY x MEASURES count(*) AS n PATTERN (A) DEFINE A AS {}"


def lowered(parts: str) -> None:
    text = f"SELECT * FROM t MATCH_RECOGNIZE ({parts})"
    (site,) = parse_statement(text).of(ClauseSite)
    binder = StaticBinder(columns=COLUMNS, settings=SETTINGS, text=text)
    relation = InputRelation(
        columns=tuple(COLUMNS.items()), resolver=binder, is_aggregate=lambda name: name == "own", settings=SETTINGS
    )
    lower(site.clause, Source(text), relation)


@pytest.mark.parametrize(
    ("parts", "error_class", "place"),
    [
        (KEYS.format("abs(max(x))"), "NOT_SCALAR", "max(x)"),
        (KEYS.format("own(x, 2, 3)"), "NOT_SCALAR", "own(x, 2, 3)"),
        (KEYS.format("`Sum`(x) FILTER (WHERE x > 1)"), "NOT_SCALAR", "`Sum`(x) FILTER (WHERE x > 1)"),
        (KEYS.format("system.builtin.max(x)"), "NOT_SCALAR", "max(x)"),
        (KEYS.format("explode(xs)"), "NOT_SCALAR", "explode(xs)"),
        (KEYS.format("rank() OVER (ORDER BY x)"), "NOT_SCALAR", "rank() OVER (ORDER BY x)"),
        (KEYS.format("window(ts, '1 hour')"), "NOT_SCALAR", "window(ts, '1 hour')"),
        (KEYS.format("transform(xs, y -> y + max(x))"), "NOT_SCALAR", "max(x)"),
        (MEASURE.format("explode(array_agg(x))"), "NOT_SCALAR", "explode(array_agg(x))"),
        (MEASURE.format("array_agg(inline(xs))"), "NOT_SCALAR", "inline(xs)"),
        (DEFINE.format("session_window(ts, '1 hour').start < ts"), "NOT_SCALAR", "session_window(ts, '1 hour')"),
        (WITHIN.format("ts", "NULL"), "WITHIN_TYPE", "NULL"),
        (WITHIN.format("ts", "INTERVAL 0 SECONDS"), "WITHIN_TYPE", "INTERVAL 0 SECONDS"),
        (WITHIN.format("ts", "INCLUSIVE INTERVAL '-5' MINUTES BETWEEN ROWS"), "WITHIN_TYPE", "INTERVAL '-5' MINUTES"),
        (WITHIN.format("d", "INTERVAL 0 MONTHS"), "WITHIN_TYPE", "INTERVAL 0 MONTHS"),
        (WITHIN.format("x", "0"), "WITHIN_TYPE", "0"),
        (WITHIN.format("x", "-1.5"), "WITHIN_TYPE", "-1.5"),
        (MEASURE.format("LAST(NULL)"), "WRONG_ARGUMENTS", "NULL"),
        (MEASURE.format("PREV(1)"), "WRONG_ARGUMENTS", "1"),
        (MEASURE.format("FIRST(DATE '2026-01-01', 1)"), "WRONG_ARGUMENTS", "DATE '2026-01-01'"),
        (DEFINE.format("PREV(1 + abs(2)) = 3"), "WRONG_ARGUMENTS", "1 + abs(2)"),
    ],
)
def test_what_has_no_value_for_a_row_is_refused_with_its_place(parts, error_class, place):
    with pytest.raises(SqlExtError) as e:
        lowered(parts)
    assert (e.value.error_class, e.value.place.written) == (f"SQLEXT_{error_class}", place)


@pytest.mark.parametrize(
    "parts",
    [
        KEYS.format("abs(k), greatest(k, x)"),
        WITHIN.format("ts", "INTERVAL 1 SECOND"),
        WITHIN.format("d", "INTERVAL 1 MONTH"),
        WITHIN.format("x", "0.5"),
        WITHIN.format("x", "k"),
        MEASURE.format("PREV(x + 1) + LAST(transform(xs, y -> 1)[0])"),
    ],
)
def test_what_has_a_value_for_each_row_is_taken(parts):
    lowered(parts)


def side_of(expression) -> str:
    """The relation of names that are qualified by l or r."""
    reads = tuple(name in expression.text for name in ("l.", "r."))
    return {(True, False): LEFT, (False, True): RIGHT, (True, True): NEITHER}.get(reads, BOTH)


@pytest.mark.parametrize(
    ("on", "taken"),
    [
        ("l.k = r.k AND l.ts >= r.ts", "l.ts >= r.ts"),
        ("l.ts >= r.ts AND l.price > 15", "l.ts >= r.ts"),
        ("15 < l.price AND r.x <= 3 AND r.ts <= l.ts", "r.ts <= l.ts"),
        ("l.ts >= r.ts AND l.x + r.x > 5", "l.ts >= r.ts"),
    ],
)
def test_comparisons_of_one_relation_do_not_count_in_on(on, taken):
    (clause,) = parse_joins(read_tree(f"SELECT * FROM l ASOF JOIN r ON {on}"))
    chosen = with_condition(clause, side_of)
    assert chosen.match_condition is not None and chosen.match_condition.whole.text == taken
    assert taken not in [conjunct.text for conjunct in chosen.conjuncts]


@pytest.mark.parametrize(
    ("on", "place"),
    [
        ("l.ts >= r.ts AND r.ts >= l.ts - 10", "r.ts >= l.ts - 10"),
        ("l.ts >= 3 AND r.ts < 9", "l.ts >= 3 AND r.ts < 9"),
        ("l.id", "l.id"),
        ("l.id AND l.k = r.k", "l.id AND l.k = r.k"),
    ],
)
def test_an_on_without_one_comparison_of_both_relations_is_told_with_its_place(on, place):
    with pytest.raises(SqlExtError) as e:
        (clause,) = parse_joins(read_tree(f"SELECT * FROM l ASOF JOIN r ON {on}"))
        with_condition(clause, side_of)
    assert (e.value.error_class, e.value.place.written) == ("SQLEXT_MATCH_CONDITION", place)
